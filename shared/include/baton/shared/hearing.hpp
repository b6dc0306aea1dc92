// SPDX-License-Identifier: Apache-2.0
// How a sleeper of bell.hpp does without a time limit. A wake-up may die with its sender, and somebody must make it good: in a named heap each
// process has a thread that hears of deaths (hand_over.hpp). It rings for the dead at every bell on which a thread of its own process
// sleeps. Each sleeper says in a word of private memory which that is.
//
//   sleeper S (S1 to S6: bell.hpp)                         thread D of its process
//   A1 place = address of the bell          (CAS)          D1 the kernel says that a process died
//      S1, S2, S3 fence (seq_cst), S4 look                 D2 hears = 0              (relaxed)
//   A2 read hears (relaxed): 0 -> S5 with a time limit     D3 fence                  (seq_cst)
//      S5, S6                                              D4 of each place that is not 0: mark it (CAS), R2 to R6, unmark it
//   A3 place = 0 (CAS); where it is marked, when D         D5 give back what the dead held; then
//      is through                                          D6 hears = 1              (relaxed), and wait for the next death
//   - If D3 precedes S3 in the order of fences, S4 sees what the dead process had done before it died. Otherwise S3 precedes D3, so D4
//     sees A1 and rings as any ringer does: S4 sees the change, the kernel refuses in S5, or S is woken.
//   - D4 touches a bell only while its place is marked, and S does not leave a marked place, so the bell is there.
//   - D may be long in D5 (destructors of the user), and deaf: who goes to sleep then finds 0 in A2 (or D3 came later, and he is rung).
// A process that D does not hear of (attach(), or a connection failed) says so in the heap: HeapHeader::unheard. D is told by a packet, does D2 to D4
// once and never D6.
//
// Thread rules: take() and leave() by any thread; ring_all() by one at a time, with the lock that leave() asks for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baton/memory/platform.hpp"

namespace baton::shared::detail {

template <class Platform, std::size_t Places>
struct HearingWords {
  static constexpr std::uint64_t kMark = 1;  // addresses of words are even
  static constexpr std::size_t kNowhere = Places;
  static constexpr std::size_t kTries = Places < 8 ? Places : 8;

  typename Platform::template atomic<std::uint32_t> hears;
  alignas(memory::kCacheLineBytes) typename Platform::template atomic<std::uint64_t> places[Places];

  /// A1. kNowhere: no place is free near `from`; sleep with a time limit.
  std::size_t take(std::uint64_t bell, std::size_t from) noexcept {
    for (std::size_t i = 0; i < kTries; ++i) {
      const std::size_t place = (from + i) % Places;
      std::uint64_t seen = 0;
      // release: the bell was made before; pairs with the mark in ring_all(). Ordered before S4 by the fence S3.
      if (places[place].compare_exchange_strong(seen, bell, std::memory_order_release, std::memory_order_relaxed))
        return place;
    }
    return kNowhere;
  }
  /// A2: true if D rings.
  bool heard() const noexcept {
    return hears.load(std::memory_order_relaxed) != 0;
  }  // ordered by the fence S3; pairs with D2
  /// A3. `with_lock(f)` calls f() with the lock of ring_all().
  template <class WithLock>
  void leave(std::size_t place, std::uint64_t bell, WithLock&& with_lock) noexcept {
    const auto gone = [&] {
      std::uint64_t seen = bell;
      // acquire: pairs with the unmarking; D's use of the bell is over.
      return places[place].compare_exchange_strong(seen, 0, std::memory_order_acquire, std::memory_order_relaxed);
    };
    if (!gone()) with_lock(gone);
  }
  /// D2 to D4. `ring(bell)` is R2 to R6, for all who sleep there.
  template <class Ring>
  void ring_all(Ring&& ring) noexcept {
    hears.store(0, std::memory_order_relaxed);
    Platform::fence_seq_cst();  // pairs with the fence in BellWords::announce()
    for (auto& place : places) {
      std::uint64_t bell = place.load(std::memory_order_relaxed);  // a hint; the mark decides
      // acquire: pairs with take(). Who has left meanwhile needs no ring.
      while (bell != 0 &&
             !place.compare_exchange_strong(bell, bell | kMark, std::memory_order_acquire, std::memory_order_relaxed)) {
      }
      if (bell == 0) continue;
      ring(bell);
      std::uint64_t marked = bell | kMark;
      // release: pairs with leave(). Nobody else changes a marked word.
      place.compare_exchange_strong(marked, bell, std::memory_order_release, std::memory_order_relaxed);
    }
  }
  /// D6.
  void hear() noexcept {
    hears.store(1, std::memory_order_relaxed);
  }  // D waits for deaths from here on; orders nothing
};

/// Of a process, in one heap. Threads that find no place sleep with a time limit.
using Hearing = HearingWords<memory::StdPlatform, 256>;

/// Where a thread said on what it sleeps.
struct Place {
  Hearing* hearing = nullptr;  // null: nowhere
  std::size_t index = 0;
};
/// A1; nowhere if the bell (BellWords) lies in no heap with a thread that hears, or if the caller is such a thread.
Place take_place(const void* bell) noexcept;
/// A3 of what is somewhere.
void leave_place(const Place& place, const void* bell) noexcept;

/// The calling thread's number among those of this process that asked.
inline std::uint32_t thread_number() noexcept {
  static std::atomic<std::uint32_t> last{0};
  thread_local const std::uint32_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace baton::shared::detail
