// SPDX-License-Identifier: Apache-2.0
// What a real-time process asks of the system. Thread rules: as stated.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::os {

/// All memory of this process, now and later, stays in RAM (mlockall(2), MCL_CURRENT | MCL_FUTURE), and the heap gives none back
/// (mallopt(3)), so that freeing and allocating again does not fault. Errors: system (no CAP_IPC_LOCK and RLIMIT_MEMLOCK too
/// small).
Result<void> lock_memory();
/// lock_memory() was called: segments are locked as far as they are backed. (Who calls mlockall himself gets his own memory locked,
/// and segments that are populated as anywhere else.)
bool memory_is_locked() noexcept;

/// The calling thread is scheduled by SCHED_FIFO at `priority`, 1 to 99 (sched(7)). Errors: system (no CAP_SYS_NICE and
/// RLIMIT_RTPRIO too small), invalid_argument.
Result<void> run_fifo(int priority);

/// Touches the next `bytes` of the calling thread's stack, so that they do not fault later. At most half of what is left of it.
void touch_stack(std::size_t bytes) noexcept;

}  // namespace baton::os
