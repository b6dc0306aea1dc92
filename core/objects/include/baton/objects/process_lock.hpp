// SPDX-License-Identifier: Apache-2.0
// The lock from which everything in a shared heap is made: one word that names the owning process. Uncontended it costs
// one compare-and-swap and one exchange. Waiters find a dead owner: they ask the kernel whether the owner's process
// holds its byte lock (heap.hpp, "Which processes live"); no other process pays for this. It works between PID
// namespaces, since it names slots of the heap, not threads.
//
// Thread rules: one thread constructs it inside an open heap before others know its address; then every call is
// thread-safe. Not recursive. Only the process that locked may unlock, from any of its threads. If a thread ends while
// it owns a lock in a living process, the lock stays locked, as with std::mutex. Never destroyed.
//
// The word, bit by bit:  0..5 slot, 6..28 epoch of the slot (never 0)   the owner; both 0: free
//                        29   reserved
//                        30   kDied     an owner died, and make_consistent() was not called since; stays through unlock()
//                        31   kWaiters  a process sleeps on the word, or did
// Orderings: [L] every change of the word that takes the lock is an acquire, unlock() a release (exchange): the owner
// sees the changes of all former owners. It also sees those of a dead owner, because the kernel ends the process (a
// full barrier) before it drops its byte lock.
// Waiting: a waiter sets kWaiters by CAS and sleeps on that value for at most kLookAgainNs. A woken waiter takes the
// lock with kWaiters set, since others may sleep. A waiter that is killed after it was woken delays the others by at
// most one such slice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baton/objects/heap_private.hpp"

namespace baton::objects::detail {

inline constexpr std::uint32_t kDied = 1U << 30;
inline constexpr std::uint32_t kWaiters = 1U << 31;

enum class Locked : std::uint8_t {
  kYes,
  kOwnerDied,  ///< yes, and an owner died since the last make_consistent()
  kNo,         ///< busy, or the time is over
};

/// The lock's protocol on a word, for callers that know their ProcessWord.
struct LockWord {
  std::atomic<std::uint32_t> word{0};

  Locked try_lock(std::byte* base, ProcessWord me) noexcept {
    std::uint32_t seen = 0;
    // [L] acquire: pairs with the release in unlock(). relaxed on failure: the value is only looked at.
    if (word.compare_exchange_strong(seen, me, std::memory_order_acquire, std::memory_order_relaxed))
      return Locked::kYes;
    return try_lock_slow(base, me, seen);
  }
  Locked lock_until(std::byte* base, ProcessWord me, std::int64_t deadline_ns) noexcept {
    std::uint32_t seen = 0;
    if (word.compare_exchange_strong(seen, me, std::memory_order_acquire, std::memory_order_relaxed))
      return Locked::kYes;  // [L]
    return lock_slow(base, me, deadline_ns);
  }
  void make_consistent() noexcept { word.fetch_and(~kDied, std::memory_order_relaxed); }  // by the owner only
  // unlock() does not load the word first: the load would wait until the exchange that took the lock has reached the
  // cache.
  void unlock(ProcessWord me) noexcept {
    std::uint32_t seen = me;
    // [L] release: pairs with the acquire of the next owner. relaxed on failure: kDied is changed by owners only.
    if (!word.compare_exchange_strong(seen, 0, std::memory_order_release, std::memory_order_relaxed))
      unlock_marked(seen & kDied);
  }
  /// For an owner for which kDied is not set: none died, or make_consistent() was called.
  void unlock_consistent() noexcept { unlock_marked(0); }

 private:
  Locked try_lock_slow(std::byte* base, ProcessWord me, std::uint32_t seen) noexcept;
  Locked lock_slow(std::byte* base, ProcessWord me, std::int64_t deadline_ns) noexcept;
  void unlock_marked(std::uint32_t left) noexcept {
    if ((word.exchange(left, std::memory_order_release) & kWaiters) != 0) wake_one();  // [L] release
  }
  void wake_one() noexcept;
};

class alignas(8) ProcessLock {
 public:
  /// Throws baton::Exception (invalid_argument) outside open heaps.
  ProcessLock() : ProcessLock(nullptr) {}
  /// `heap_base`: the heap in which the lock lies, if known.
  explicit ProcessLock(const std::byte* heap_base);
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;

  Locked try_lock() noexcept { return word_.try_lock(base(), me()); }
  Locked lock() noexcept { return word_.lock_until(base(), me(), INT64_MAX); }
  /// Waits until the absolute CLOCK_MONOTONIC time at most.
  Locked lock_until(std::int64_t deadline_ns) noexcept { return word_.lock_until(base(), me(), deadline_ns); }
  /// A hint: no process owns it. A dead owner counts as an owner.
  bool looks_free() const noexcept { return (word_.word.load(std::memory_order_relaxed) & kProcessMask) == 0; }
  /// For the owner: the protected state is whole again.
  void make_consistent() noexcept { word_.make_consistent(); }
  /// For the owner: a former owner died, and make_consistent() was not called since.
  bool owner_died() const noexcept { return (word_.word.load(std::memory_order_relaxed) & kDied) != 0; }
  void unlock() noexcept { word_.unlock(me()); }
  /// This process's word in the heap in which the lock lies.
  ProcessWord me() const noexcept {
    return private_of(base()).me.load(std::memory_order_relaxed);
  }  // written before the heap is known

 private:
  friend struct LayoutOf;
  std::byte* base() const noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(this) - std::uintptr_t{distance_} * 8);
  }

  LockWord word_;
  std::uint32_t distance_;  // from the heap's first byte, in units of 8 bytes
};
static_assert(sizeof(ProcessLock) == 8);

}  // namespace baton::objects::detail
