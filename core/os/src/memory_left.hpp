// SPDX-License-Identifier: Apache-2.0
// Checks for memory before taking it: fallocate(2) on shared memory beyond the limit of a cgroup or of the machine does
// not fail, but calls the OOM killer. Thread-safe.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::os {

/// An error (out_of_memory) if the machine, or a cgroup of this process, has no `bytes` left. Costs a few file reads
/// per some 64 MiB asked for, more where little is left. Another process may take the memory between this answer and
/// its use.
Result<void> check_memory_left(std::size_t bytes);

}  // namespace baton::os
