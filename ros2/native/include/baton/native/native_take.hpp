// SPDX-License-Identifier: Apache-2.0
// From a received sample to a native message: arrays of scalars are aliased if that is possible and cheaper, else
// copied.
// Thread rules: any number of threads, each with a native message of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/containers/array_aliaser.hpp"
#include "baton/containers/received.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "baton/transport/transport.hpp"

namespace baton::containers {

struct NativeTaken {
  std::uint64_t aliased_bytes = 0, copied_bytes = 0;  ///< of arrays of scalars
};

/// Fills `native`, an initialised message of the plan's type, whatever its former content. The sample is released when
/// the last array that points into it is freed, else at once. Arrays of at least `worthwhile_bytes` are aliased, at any
/// place in the message, while the quota lasts; without active() none is aliased. Errors: those of NativePlan::read.
Result<NativeTaken> take_into_native(const rosidl::NativePlan& plan, transport::TakenSample sample, void* native,
                                     const Quota& quota, std::size_t worthwhile_bytes = ArrayAliaser::kWorthwhile);

}  // namespace baton::containers
