// SPDX-License-Identifier: Apache-2.0
// How much memory the machine and the cgroups of this process have left, asked before memory is taken: fallocate(2) on
// shared memory beyond a limit does not fail, but calls the OOM killer. Thread-safe.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::os {

/// An error (out_of_memory) if the machine, or a cgroup of this process, has no `bytes` left. Costs a few file reads
/// per some 64 MiB asked for, more where little is left. Another process may take the memory between this answer and
/// its use.
Result<void> check_memory_left(std::size_t bytes);

/// Bytes that back_sparse() can still get of the machine and of the cgroups of this process, as they are now. Costs a few
/// file reads.
std::size_t memory_left();
/// The shared memory of the whole machine, as /proc/meminfo counts it: memfds and tmpfs in RAM, and all that is swapped out. The kernel
/// counts late, by some MiB. SIZE_MAX if it does not say. Costs a few file reads.
std::size_t shared_memory_of_machine();

}  // namespace baton::os
