// SPDX-License-Identifier: Apache-2.0
// System services for a real-time process. Thread rules: as stated.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::os {

/// Keeps all memory of this process, now and later, in RAM (mlockall(2), MCL_CURRENT | MCL_FUTURE). The heap then gives
/// no memory back (mallopt(3)), so freeing and allocating again does not fault. Errors: system (no CAP_IPC_LOCK and
/// RLIMIT_MEMLOCK too small).
Result<void> lock_memory();
/// True after lock_memory(): backed pages of segments are then locked, too. A program that calls mlockall() directly
/// gets its own memory locked, but its segments are populated as in any other process.
bool memory_is_locked() noexcept;

/// Schedules the calling thread by SCHED_FIFO at `priority`, 1 to 99 (sched(7)). Errors: system (no CAP_SYS_NICE and
/// RLIMIT_RTPRIO too small), invalid_argument.
Result<void> run_fifo(int priority);

/// Touches the next `bytes` of the calling thread's stack, so that they do not fault later; at most half of the
/// remaining stack.
void touch_stack(std::size_t bytes) noexcept;

}  // namespace baton::os
