// SPDX-License-Identifier: Apache-2.0
// From a sample in Baton's memory to the application's native struct: the one place that decides whether an array of scalars is
// copied out or the native vector is pointed at the chunk.
//
// With libbaton_heap.so (docs/concepts/heap.md) it is pointed at, and the sample stays alive for as long as the application keeps it.
// Thread rules: any number of threads, each with a native struct of its own.
#pragma once

#include "baton/heap/native_take.hpp"
#include "baton/transport/transport.hpp"
#include "type_plan.hpp"

namespace baton::rmw {

struct TakenBytes {
  std::uint64_t copied = 0;  ///< of arrays of scalars: the data part
};

/// Fills `native`, an initialised struct of the type. Errors: malformed_message, out_of_memory.
Result<TakenBytes> take_into_native(const TypePlan& plan, transport::TakenSample sample, void* native, const heap::Quota& quota);

}  // namespace baton::rmw
