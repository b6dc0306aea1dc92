// SPDX-License-Identifier: Apache-2.0
// The real-time profile (TZC-RT, TZC V): the calls that a program makes once. Afterwards publishing and taking neither
// allocate nor fault, and call the system only to wake or to wait. docs/guides/real-time.md has the order of the calls,
// and what is proved and how.
#pragma once

#include <cstddef>

#include "baton/node/node.hpp"

namespace baton::real_time {

/// Keeps all memory of this process in RAM from now on: its own memory, the pools of its publishers, and the backed
/// pages of other processes' segments. Call it once, before the first node: later it throws already_exists. Also throws
/// system (no right to lock memory).
void lock_memory();

/// Schedules the calling thread by SCHED_FIFO at `priority` (1 to 99) and touches `stack_bytes` of its stack. Baton's
/// background thread stays at ordinary priority; the locks that it shares with publishers and subscriptions pass
/// priority on. Throws invalid_argument, system (no right to).
void run_fifo(int priority, std::size_t stack_bytes = 256 * 1024);

/// Options of a publisher whose memory is taken, mapped and locked when the publisher is made. The memory is for
/// `messages` messages alive at the same time, each of at most `max_message_bytes`. Alive are messages being filled,
/// unread, and held, of all subscriptions together.
PublisherOptions pool(std::size_t max_message_bytes, std::uint32_t messages);

}  // namespace baton::real_time
