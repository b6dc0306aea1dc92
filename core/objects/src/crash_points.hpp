// SPDX-License-Identifier: Apache-2.0
// The crash points of this room, by the test that passes them: process_test.cpp for the objects, heap_process_test.cpp
// for the rest.
#pragma once

namespace baton::objects {

constexpr const char* kObjectCrashPoints[] = {
    "shared.mutex.unlock",
    "shared.mutex.marked",
    "shared.mutex.taken_over",
    "shared.event_count.prepared",
    "shared.event_count.woken",
    "shared.event_count.sleepers_seen",
    "shared.event_count.event_counted",
    "shared.semaphore.released",
    "shared.queue.locked",
    "shared.queue.push.written",
    "shared.queue.push.done",
    "shared.queue.push.unlocked",
    "shared.lock.waiting",
    "shared.lock.taken_over",
    "shared.lock.unlocked",
    "shared.queue.pop.copied",
    "shared.queue.pop.done",
    "shared.queue.pop.unlocked",
    "shared.latest.written",
    "shared.latest.done",
    "shared.shared_mutex.reading",
    "shared.shared_mutex.writing",
    "shared.shared_mutex.unlocking",
    "shared.shared_mutex.slot_taken",
};

constexpr const char* kHeapCrashPoints[] = {
    "shared.heap.joined",           "shared.heap.claimed",
    "shared.heap.run_begun",        "shared.heap.run_taken",
    "shared.heap.run_freeing",      "shared.heap.run_half_freed",
    "shared.heap.recovering",       "shared.heap.recovered",
    "shared.object.allocated",      "shared.object.constructing",
    "shared.object.constructed",    "shared.object.alive",
    "shared.object.over",           "shared.object.ending",
    "shared.object.destroyed",      "shared.object.dead",
    "shared.pointer.hold_marked",   "shared.pointer.store_begun",
    "shared.pointer.store_counted", "shared.pointer.stored",
    "shared.pointer.undone",        "shared.pointer.clear_begun",
    "shared.pointer.clear_counted", "shared.pointer.cleared",
    "shared.pointer.hold_dropped",  "shared.pointer.taking_out",
    "shared.pointer.putting_in",    "shared.queue.pop.taken",
    "shared.queue.pop.emptied",     "shared.name.adding",
    "shared.name.removing",         "shared.heap.pinning",
    "shared.heap.pinned",           "shared.object.due",
    "shared.heap.unpinned",         "shared.guarded.allocated",
    "shared.guarded.counted",       "shared.guarded.owned",
    "shared.guarded.released",      "shared.guarded.ended",
    "shared.guarded.locked",        "shared.guarded.whole",
    "shared.guarded.made",
};

/// Passed by the process that comes after a dead one.
constexpr const char* kGuardCrashPoints[] = {"shared.guarded.started_over", "shared.guarded.freeing"};

/// Passed in a full heap.
constexpr const char* kFullHeapCrashPoints[] = {"shared.heap.span_closing"};

constexpr const char* kRendezvousCrashPoints[] = {
    "shared.rendezvous.locked",
    "shared.rendezvous.opened",
    "shared.rendezvous.listening",
    "shared.rendezvous.leaving",
};

}  // namespace baton::objects
