// SPDX-License-Identifier: Apache-2.0
#include "native_take.hpp"

namespace baton::rmw {

Result<TakenBytes> take_into_native(const TypePlan& plan, transport::TakenSample sample, void* native) {
  rosidl::ArrayCopier arrays;
  if (Result<void> read = plan.native->read({sample.message(), sample.size_bytes()}, native, arrays); !read) {
    return read.error();
  }
  return TakenBytes{arrays.copied_bytes()};
}

}  // namespace baton::rmw
