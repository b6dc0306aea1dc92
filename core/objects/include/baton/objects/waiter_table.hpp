// SPDX-License-Identifier: Apache-2.0
// How a sleeper of event_count.hpp needs no time limit. A notification may be lost when its sender dies, and another
// process must replace it. In a named heap each process has a background thread that watches deaths
// (core/objects/src/membership.hpp). After a death that thread notifies every event count on which a thread of its own
// process sleeps. Each sleeper registers the address of its event count in a table in private memory.
//
//   sleeper S (S1 to S6: event_count.hpp)                  background thread D of its process
//   A1 place = address of the event count   (CAS)          D1 the kernel reports that a process died
//      S1, S2, S3 fence (seq_cst), S4 look                 D2 watches = 0            (relaxed)
//   A2 read watches (relaxed): 0 -> S5 with a time limit   D3 fence                  (seq_cst)
//      S5, S6                                              D4 of each place that is not 0: mark it (CAS), N2 to N6, unmark it
//   A3 place = 0 (CAS); a marked place stays until         D5 recover the dead process; then
//      D has unmarked it                                   D6 watches = 1            (relaxed), and wait for the next death
//   - If D3 precedes S3 in the order of fences, S4 sees what the dead process had done before it died. Otherwise S3
//     precedes D3, so D4 sees A1 and notifies as any notifier does: S4 sees the change, the kernel refuses in S5, or S
//     is woken.
// - D4 touches an event count only while its place is marked, and S does not leave a marked place, so the event count
//   still exists. - D5 may take long (destructors of the user), and D does not watch meanwhile. A thread that goes to
//   sleep then finds 0 in A2, or D3
//     comes later and D4 notifies that thread.
// D does not notice the death of a process without a connection to D's process (attach(), or a connection that failed).
// Such a process sets WaiterWords::unwatched in the heap. Its packet wakes D, which does D2 to D4 once and never D6.
//
// Thread rules: enter() and leave() by any thread; notify_all() by one thread at a time, with the lock that leave()
// takes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baton/memory/platform.hpp"

namespace baton::objects::detail {

struct LayoutOf;  // of the test that compares docs/format/shared-heap.md

template <class Platform, std::size_t Places>
struct WaiterTableWords {
  static constexpr std::uint64_t kMark = 1;  // addresses of words are even
  static constexpr std::size_t kNowhere = Places;
  static constexpr std::size_t kTries = Places < 8 ? Places : 8;

  typename Platform::template atomic<std::uint32_t> watches;
  alignas(memory::kCacheLineBytes) typename Platform::template atomic<std::uint64_t> places[Places];

  /// A1. kNowhere: no place is free near `from`; sleep with a time limit.
  std::size_t enter(std::uint64_t event_count, std::size_t from) noexcept {
    for (std::size_t i = 0; i < kTries; ++i) {
      const std::size_t place = (from + i) % Places;
      std::uint64_t seen = 0;
      // release: the event count was made before; pairs with the mark in notify_all(). Ordered before S4 by the fence
      // S3.
      if (places[place].compare_exchange_strong(seen, event_count, std::memory_order_release,
                                                std::memory_order_relaxed))
        return place;
    }
    return kNowhere;
  }
  /// A2: true if D replaces the notifications of dead processes. Ordered by the fence S3; pairs with D2.
  bool is_watched() const noexcept { return watches.load(std::memory_order_relaxed) != 0; }
  /// A3. `with_lock(f)` calls f() with the lock of notify_all().
  template <class WithLock>
  void leave(std::size_t place, std::uint64_t event_count, WithLock&& with_lock) noexcept {
    const auto gone = [&] {
      std::uint64_t seen = event_count;
      // acquire: pairs with the unmarking; D's use of the event count is over.
      return places[place].compare_exchange_strong(seen, 0, std::memory_order_acquire, std::memory_order_relaxed);
    };
    if (!gone()) with_lock(gone);
  }
  /// D2 to D4. `notify(event_count)` is N2 to N6, for all threads that sleep there.
  template <class Notify>
  void notify_all(Notify&& notify) noexcept {
    watches.store(0, std::memory_order_relaxed);
    Platform::fence_seq_cst();  // pairs with the fence in EventCountWords::prepare()
    for (auto& place : places) {
      std::uint64_t event_count = place.load(std::memory_order_relaxed);  // a hint; the mark decides
      // acquire: pairs with enter(). A sleeper that has left meanwhile needs no notification.
      while (event_count != 0 && !place.compare_exchange_strong(event_count, event_count | kMark,
                                                                std::memory_order_acquire, std::memory_order_relaxed)) {
      }
      if (event_count == 0) continue;
      notify(event_count);
      std::uint64_t marked = event_count | kMark;
      // release: pairs with leave(). No other thread changes a marked word.
      place.compare_exchange_strong(marked, event_count, std::memory_order_release, std::memory_order_relaxed);
    }
  }
  /// D6. relaxed: D waits for deaths from here on; the store orders nothing.
  void begin_watch() noexcept { watches.store(1, std::memory_order_relaxed); }
};

/// The waiter table of one process in one heap. Threads that find no place sleep with a time limit.
using WaiterTable = WaiterTableWords<memory::StdPlatform, 256>;

/// Where a thread has registered its sleep.
struct Place {
  WaiterTable* table = nullptr;  // null: nowhere
  std::size_t index = 0;
};
/// A1. Returns no place if the event count (EventCountWords) lies in no heap whose deaths are watched, or if the caller
/// is a background thread.
Place take_place(const void* event_count) noexcept;
/// A3 of a place that take_place() found.
void leave_place(const Place& place, const void* event_count) noexcept;

/// The calling thread's number among the threads of this process that called this function.
inline std::uint32_t thread_number() noexcept {
  static std::atomic<std::uint32_t> last{0};
  thread_local const std::uint32_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace baton::objects::detail
