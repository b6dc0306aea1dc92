// SPDX-License-Identifier: Apache-2.0
// Asking before taking: fallocate(2) on shared memory beyond a cgroup's or the machine's end does not fail, it calls the OOM
// killer. Thread-safe.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::os {

/// An error (out_of_memory) if the machine, or a cgroup that this process is in, has no `bytes` left. A few file reads per
/// some 64 MiB asked for, more often where little is left. Others may take the memory between this answer and its use.
Result<void> check_memory_left(std::size_t bytes);

}  // namespace baton::os
