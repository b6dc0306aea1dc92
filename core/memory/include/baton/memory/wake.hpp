// SPDX-License-Identifier: Apache-2.0
// Wake-ups between processes: none is lost, and none costs a system call while all processes are awake.
//
// Words (u32 each; those of other processes in a cache line of their own, always reached through a shared mapping):
//   * event: one per publisher, in its own memory; incremented once per publish. Waiters sleep on it (futex). Wraps
//     freely.
//   * local: one per wait set, same rules, notified by threads of its own process (hang-up, attach, guard conditions): so it may lie in
//     ordinary memory, and so may its sleeping word.
//   * sleeping: one per connection (and one per local word); only the waiter writes it; values: Sleeping below. Any
//     other value is the waiter's own mistake and counts as awake.
//
// Protocol (W waiter, P publisher or notifier); the two fences prove it (Dekker's scheme):
//   W1 seen = event            (relaxed)      P1 push to every queue
//   W2 sleeping = 1 or 2       (relaxed)      P2 event += 1            (release)
//   W3 fence                   (seq_cst)      P3 fence                 (seq_cst)
//   W4 look at the queues                     P4 read every sleeping   (relaxed)
//   W5 futex_waitv(event == seen, ...)        P5 any 1: FUTEX_WAKE(all) on event; any 2: notify that reader's socket
//   W6 sleeping = 0            (relaxed)
//   - If P3 precedes W3 in the total order of fences, W4 sees the push. If W3 precedes P3, P4 sees sleeping and wakes.
//   - The wake cannot fall between W4 and W5: P2 came before it. If W1 read P2's value, then W4 sees the push (P2
//     releases it, and the fence W3 acquires what W1 read); if W1 did not, the kernel compares in W5 and refuses to
//     sleep, or the waiter sleeps already and P5 wakes it.
//   - A descriptor (a wake socket) is sticky, so for it W5 is simply poll(); it is drained before W1. Here W3 carries
//     the proof alone (for a futex, the barrier and the comparison inside the system call would do as well).
// Only the waiter clears its flag. A publisher that cleared ("claimed") it and died before P5 would leave the waiter
// asleep. A publisher that dies between P1 and P5 wakes nobody: its socket hangs up, and the waiter's background thread
// notifies the local word. A waiter that dies leaves its flag set: publishers make useless wakes until the connection
// ends.
//
// No function in this header makes a system call: the caller does. Thread rules: signal() by any number of threads at
// once on different events, serialised per publisher; one thread at a time waits on a wait set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/memory/platform.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::memory {

/// Values of a sleeping word.
enum class Sleeping : std::uint32_t {
  kAwake = 0,       ///< do not wake: the waiter checks its queues before it sleeps
  kFutex = 1,       ///< sleeps on the event word: FUTEX_WAKE
  kDescriptor = 2,  ///< sleeps in poll(): send a byte to its wake socket
};

template <class Platform>
using WakeWord = typename Platform::template atomic<std::uint32_t>;

// --- publisher, or notifier of a local word ---

/// P2 and P3: call once after the pushes (P1), before asking who_sleeps.
template <class Platform>
void announce_event(WakeWord<Platform>& event) noexcept {
  BATON_CRASH_POINT("wake.signal.pushed");
  // release: pairs with capture_event's load followed by the fence in announced_sleep: a waiter that saw this sees the
  // pushes.
  event.fetch_add(1, std::memory_order_release);
  Platform::fence_seq_cst();  // pairs with the fence in announced_sleep
}

/// P4 for one connection. An unknown value counts as kAwake.
template <class Platform>
Sleeping who_sleeps(const WakeWord<Platform>& sleeping) noexcept {
  const std::uint32_t value = sleeping.load(std::memory_order_relaxed);  // ordered by the two fences
  return value == 1 ? Sleeping::kFutex : value == 2 ? Sleeping::kDescriptor : Sleeping::kAwake;
}

/// P2 to P4. `connections` is a range; sleeping_of(connection) gives its `WakeWord&`; ring_descriptor(connection) is
///    called for readers that wait in poll(). Returns true if the caller must now make one FUTEX_WAKE(all) on `event`.
template <class Platform, class Range, class SleepingOf, class RingDescriptor>
[[nodiscard]] bool signal(WakeWord<Platform>& event, Range&& connections, SleepingOf&& sleeping_of,
                          RingDescriptor&& ring_descriptor) {
  announce_event<Platform>(event);
  bool wake = false;
  for (auto&& connection : connections) {
    switch (who_sleeps<Platform>(sleeping_of(connection))) {
      case Sleeping::kAwake:
        break;
      case Sleeping::kFutex:
        wake = true;
        break;
      case Sleeping::kDescriptor:
        ring_descriptor(connection);
        break;
    }
  }
  BATON_CRASH_POINT("wake.signal.decided");
  return wake;
}

// --- waiter ---

/// W1 for one event or local word.
template <class Platform>
std::uint32_t capture_event(const WakeWord<Platform>& event) noexcept {
  return event.load(std::memory_order_relaxed);  // becomes an acquire through the fence in announced_sleep
}

/// W2 for one connection; after the last one call announced_sleep().
template <class Platform>
void announce_sleep(WakeWord<Platform>& sleeping, Sleeping how) noexcept {
  sleeping.store(static_cast<std::uint32_t>(how), std::memory_order_relaxed);  // ordered by the fence that follows
}

/// W3: after all announce_sleep(), before the last look at the queues.
template <class Platform>
void announced_sleep() noexcept {
  Platform::fence_seq_cst();  // pairs with the fence in announce_event
}

/// W6 for one connection. A publisher that still sees the old value makes one useless wake.
template <class Platform>
void announce_awake(WakeWord<Platform>& sleeping) noexcept {
  sleeping.store(static_cast<std::uint32_t>(Sleeping::kAwake), std::memory_order_relaxed);
}

/// One whole round W1 to W6. `Sources` describes what one wait set waits for:
///   void for_each_event(f)       f(WakeWord& event, std::uint32_t& seen) for every event and local word; `seen` is its storage
///   void for_each_sleeping(f)    f(WakeWord& sleeping, Sleeping how) for every connection and the local word
///   bool ready()                 W4: some queue, guard or flag wants attention (QueueConsumer::ready counts errors as ready)
///   void sleep()                 W5: futex_waitv on the captured values, or poll(); returns on wake, mismatch, timeout, signal
/// Returns true if ready() returned true (then nothing slept), false after sleep() returned: check the queues again.
template <class Platform, class Sources>
bool wait_round(Sources& sources) {
  sources.for_each_event(
      [](const WakeWord<Platform>& event, std::uint32_t& seen) { seen = capture_event<Platform>(event); });
  sources.for_each_sleeping(
      [](WakeWord<Platform>& sleeping, Sleeping how) { announce_sleep<Platform>(sleeping, how); });
  announced_sleep<Platform>();
  BATON_CRASH_POINT("wake.wait.announced");
  const bool ready = sources.ready();
  if (!ready) sources.sleep();
  BATON_CRASH_POINT("wake.wait.woken");
  sources.for_each_sleeping([](WakeWord<Platform>& sleeping, Sleeping) { announce_awake<Platform>(sleeping); });
  return ready;
}

}  // namespace baton::memory
