// SPDX-License-Identifier: Apache-2.0
#include "array_memory.hpp"

#include <string>

#include "baton/containers/heap.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "peer_faults.hpp"
#include "rcutils/allocator.h"
#include "rcutils/logging_macros.h"

namespace baton::rmw {

BATON_HOT bool may_alias() {
  // C messages give their arrays back through this allocator.
  static const bool yes = [] {
    const rcutils_allocator_t allocator = rcutils_get_default_allocator();
    return containers::active() && containers::reaches(allocator.deallocate, allocator.state);
  }();
  return yes;
}

void choose_array_memory() {
  const char* wanted = os::environment("BATON_RMW_MALLOC");
  const std::string memory = wanted != nullptr && *wanted != '\0' ? wanted : "huge";
  if (memory != "huge" && memory != "system")
    RCUTILS_LOG_WARN_NAMED(kLogger, "BATON_RMW_MALLOC=%s is none of huge, system: taken as huge", memory.c_str());
  rosidl::ArrayCopier::use_huge_pages(memory != "system");
}

}  // namespace baton::rmw
