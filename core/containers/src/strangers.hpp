// SPDX-License-Identifier: Apache-2.0
// Finds loaded libraries whose frees do not reach libbaton_heap.so. Thread rules: any thread; the loader's lock is held
// meanwhile.
#pragma once

#include <string>
#include <vector>

namespace baton::containers {

/// Names of the files of loaded objects in which a reference to one of `names` (null-terminated) is bound to a function
/// outside the object at `home` (dlpi_addr). A reference that is bound at its first use counts only after that use.
std::vector<std::string> objects_bound_elsewhere(const char* const* names, const void* home);

}  // namespace baton::containers
