// SPDX-License-Identifier: Apache-2.0
// A mutual exclusion in one word (U. Drepper, "Futexes Are Tricky", mutex2). A lock that nobody else holds is one instruction in
// the caller's own cache lines. pthread_mutex_lock(3p) touches two pages of libc's code and one of its data besides, which a process
// that wakes up cold has to fetch (`baton perf touch`).
//
// The functions are templates over the word, which offers compare_exchange_strong of std::atomic<std::uint32_t>: tests/model runs them on
// simulated memory. They make no system call: the caller passes these.
// Invariants: (1) only the holder leaves kHeld or kContended; (2) a sleeper has seen kContended, and the unlock that ends
// kContended wakes one sleeper; (3) a thread that has slept takes the lock as kContended, since others may sleep still.
#pragma once

#include <atomic>
#include <cstdint>

namespace baton::os {

namespace futex_lock {

inline constexpr std::uint32_t kFree = 0;
inline constexpr std::uint32_t kHeld = 1;       ///< nobody sleeps
inline constexpr std::uint32_t kContended = 2;  ///< somebody may sleep

/// True if it was free and is the caller's now.
template <class Word>
bool try_lock(Word& word) noexcept {
  std::uint32_t seen = kFree;
  // acquire: pairs with the release in unlock(): the holder sees all that earlier holders did. A failure orders nothing.
  return word.compare_exchange_strong(seen, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
}

/// After try_lock() has failed. `sleep(kContended)`: futex(2) FUTEX_WAIT on the word, may return at any time.
template <class Word, class Sleep>
void lock_contended(Word& word, Sleep&& sleep) noexcept {
  for (;;) {
    std::uint32_t seen = kFree;
    // acquire: as in try_lock().
    if (word.compare_exchange_strong(seen, kContended, std::memory_order_acquire, std::memory_order_relaxed)) return;
    // relaxed: it announces a sleeper and reads nothing that is guarded. The kernel compares the word under its own lock.
    if (seen == kHeld &&
        !word.compare_exchange_strong(seen, kContended, std::memory_order_relaxed, std::memory_order_relaxed) &&
        seen == kFree)
      continue;
    sleep(kContended);
  }
}

/// True if nobody can sleep, and it is free now. Else call unlock_contended().
template <class Word>
bool try_unlock(Word& word) noexcept {
  std::uint32_t seen = kHeld;
  // release: pairs with the acquire of the next holder.
  return word.compare_exchange_strong(seen, kFree, std::memory_order_release, std::memory_order_relaxed);
}

/// `wake()`: futex(2) FUTEX_WAKE of one sleeper.
template <class Word, class Wake>
void unlock_contended(Word& word, Wake&& wake) noexcept {
  std::uint32_t seen = kContended;  // and stays so: invariant (1)
  // release: as in try_unlock().
  (void)word.compare_exchange_strong(seen, kFree, std::memory_order_release, std::memory_order_relaxed);
  wake();
}

}  // namespace futex_lock

}  // namespace baton::os
