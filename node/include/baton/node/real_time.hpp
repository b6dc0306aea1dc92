// SPDX-License-Identifier: Apache-2.0
// The real-time profile (TZC-RT, TZC V): what a program does once so that publishing and taking neither allocate, nor fault, nor
// call the system but to wake or to wait. docs/guides/real-time.md says in which order, and what is proved how.
#pragma once

#include <cstddef>

#include "baton/node/node.hpp"

namespace baton::real_time {

/// Keeps all memory of this process in RAM from now on: its own, the pools of its publishers, and of other processes' segments
/// what they backed. Once, before the first node: throws already_exists afterwards, or system (no right to lock memory).
void lock_memory();

/// Schedules the calling thread by SCHED_FIFO at `priority` (1 to 99) and touches `stack_bytes` of its stack. Baton's background
/// thread stays at ordinary priority; the locks that it shares with publishers and subscriptions pass priority on. Throws
/// invalid_argument, system (no right to).
void run_fifo(int priority, std::size_t stack_bytes = 256 * 1024);

/// Options of a publisher whose memory is taken, mapped and locked when it is made: for `messages` messages alive at the same time
/// (being filled, unread, and held; of all subscriptions together), each of at most `max_message_bytes`.
PublisherOptions pool(std::size_t max_message_bytes, std::uint32_t messages);

}  // namespace baton::real_time
