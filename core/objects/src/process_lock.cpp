// SPDX-License-Identifier: Apache-2.0
#include "baton/objects/process_lock.hpp"

#include <algorithm>

#include "baton/objects/event_count.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/futex.hpp"

namespace baton::objects::detail {
namespace {

constexpr int kSpins = 40;  // most locked sections are shorter than a system call

}  // namespace

ProcessLock::ProcessLock(const std::byte* heap_base) {
  if (heap_base == nullptr) heap_base = heap_base_or_throw(this);
  distance_ = static_cast<std::uint32_t>(
      (reinterpret_cast<std::uintptr_t>(this) - reinterpret_cast<std::uintptr_t>(heap_base)) / 8);
}

Locked LockWord::try_lock_slow(std::byte* base, ProcessWord me, std::uint32_t seen) noexcept {
  for (;;) {
    const ProcessWord owner = seen & kProcessMask;
    std::uint32_t marks = seen & (kDied | kWaiters);
    if (owner != 0) {
      if (process_lives(base, owner)) return Locked::kNo;
      marks |= kDied;
    }
    // [L] acquire. Only one process can match the exact word of a dead owner, as the next owner's word differs.
    if (word.compare_exchange_weak(seen, me | marks, std::memory_order_acquire, std::memory_order_relaxed)) {
      BATON_CRASH_POINT("shared.lock.taken_over");
      return (marks & kDied) != 0 ? Locked::kOwnerDied : Locked::kYes;
    }
  }
}

Locked LockWord::lock_slow(std::byte* base, ProcessWord me, std::int64_t deadline_ns) noexcept {
  std::uint32_t seen = word.load(std::memory_order_relaxed);
  std::uint32_t waited = 0;
  std::int64_t next_look_ns = 0;  // when to check again whether the present owner lives
  for (int spins = 0;;) {
    if ((seen & kProcessMask) == 0) {
      // [L] acquire.
      if (word.compare_exchange_weak(seen, me | (seen & kDied) | (seen & kWaiters) | waited, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
        return (seen & kDied) != 0 ? Locked::kOwnerDied : Locked::kYes;
      }
      continue;
    }
    if (spins < kSpins) {
      ++spins;
      pause();
      seen = word.load(std::memory_order_relaxed);
      continue;
    }
    const std::int64_t now = os::monotonic_ns();
    if (now >= deadline_ns) return try_lock_slow(base, me, seen);  // finds a dead owner without waiting, too
    if ((seen & kWaiters) == 0 &&
        !word.compare_exchange_weak(seen, seen | kWaiters, std::memory_order_relaxed, std::memory_order_relaxed)) {
      continue;
    }
    seen |= kWaiters;
    if (waited == 0) {  // no sleep if the owner is dead already
      waited = kWaiters;
      next_look_ns = now + kLookAgainNs;
      if (const Locked locked = try_lock_slow(base, me, seen); locked != Locked::kNo) return locked;
    }
    BATON_CRASH_POINT("shared.lock.waiting");
    os::futex_wait_counted({&word, seen}, std::min(deadline_ns, next_look_ns));
    const std::uint32_t after = word.load(std::memory_order_relaxed);
    const std::int64_t woken_ns = os::monotonic_ns();
    if (after == seen || woken_ns >= next_look_ns) {  // a wake for another waiter, or time to check whether the owner
                                                      // lives
      if (const Locked locked = try_lock_slow(base, me, after); locked != Locked::kNo) return locked;
      next_look_ns = woken_ns + kLookAgainNs;
      seen = word.load(std::memory_order_relaxed);
    } else {
      seen = after;
    }
  }
}

void LockWord::wake_one() noexcept {
  BATON_CRASH_POINT("shared.lock.unlocked");
  os::futex_wake(&word, 1);
}

}  // namespace baton::objects::detail
