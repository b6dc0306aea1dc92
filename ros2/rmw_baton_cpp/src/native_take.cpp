// SPDX-License-Identifier: Apache-2.0
#include "native_take.hpp"

namespace baton::rmw {

[[gnu::hot]] Result<TakenBytes> take_into_native(const TypePlan& plan, transport::TakenSample sample, void* native, const heap::Quota& quota) {
  Result<heap::NativeTaken> taken = heap::take_into_native(*plan.native, std::move(sample), native, quota);
  if (!taken) return taken.error();
  return TakenBytes{taken->copied_bytes};
}

}  // namespace baton::rmw
