// SPDX-License-Identifier: Apache-2.0
// shared_mutex in a shared heap. Every process that can write the heap is trusted. A reader or writer that dies blocks
// no other. After a writer's death every lock() and lock_shared() returns previous_owner_died until consistent().
//
// Semantics of std::shared_mutex ([thread.sharedmutex.class]), with room for Slots readers at a time; further readers
// wait, as in the standard beyond its limit. Works with std::unique_lock and std::shared_lock. Writers do not starve: a
// new reader lets a waiting writer go first (once, so that many writers do not starve readers). try_lock_shared() does
// not check for waiting writers.
// Thread rules: as mutex. A thread owns it once, either shared or exclusive.
//
// A table of robust locks: a reader owns one slot, a writer owns writer_ and all slots. So waiters find the locks of
// dead processes, a reader's lock touches no word of other readers, and a writer pays for all slots. A reader takes any
// free slot; a reader that found none waits for any slot to be freed (event_count.hpp).
// Invariants: (1) writing_ and died_ are written by an owner of every slot, and read by an owner of any; (2) writing_
// is true exactly while a writer may change the protected state: if an entering thread finds it true, a writer died;
// (3) holder of a slot is the tag of the thread that reads there; a tag is used by one thread ever.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "baton/memory/platform.hpp"
#include "baton/objects/event_count.hpp"
#include "baton/objects/mutex.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::objects {

template <std::size_t Slots>
class basic_shared_mutex {
  static_assert(Slots > 0);
  using Locked = detail::Locked;

 public:
  basic_shared_mutex() = default;
  basic_shared_mutex(const basic_shared_mutex&) = delete;
  basic_shared_mutex& operator=(const basic_shared_mutex&) = delete;

  ownership lock() {
    own(writer_.lock(), writer_);
    for (Slot& slot : slots_) {
      own(slot.lock.lock(), slot.lock);  // waits for the reader in the slot; no new reader can enter behind us
      BATON_CRASH_POINT("shared.shared_mutex.slot_taken");
    }
    return enter();
  }
  bool try_lock() noexcept {
    if (!try_own(writer_)) return false;
    for (std::size_t i = 0; i < Slots; ++i) {
      if (try_own(slots_[i].lock)) continue;
      const bool had_some = i > 0;
      while (i > 0) slots_[--i].lock.unlock();
      writer_.unlock();
      if (had_some) freed_.notify(INT_MAX);
      return false;
    }
    enter();
    return true;
  }
  void unlock() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the owner's changes before the mark, for the compiler
    writing_.store(false, std::memory_order_relaxed);     // carried to the next by the locks
    BATON_CRASH_POINT("shared.shared_mutex.unlocking");
    for (Slot& slot : slots_) slot.lock.unlock();
    writer_.unlock();
    freed_.notify(INT_MAX);
  }

  ownership lock_shared() {
    // A writer that waits for slots goes first, once; a dead writer delays readers for one kLookAgainNs at most.
    if (!writer_.looks_free())
      (void)freed_.wait_and_pass_on([this] { return writer_.looks_free(); }, os::monotonic_ns() + kLookAgainNs);
    // try_lock_shared() finds a dead owner's slot, because it asks the kernel; the test in between does not.
    while (!try_lock_shared() && !freed_.wait([this] { return try_slots(true); }, os::monotonic_ns() + kLookAgainNs)) {
    }
    return owner_died() ? ownership::previous_owner_died : ownership::acquired;
  }
  bool try_lock_shared() noexcept { return try_slots(false); }
  void unlock_shared() noexcept {
    const std::uint64_t mine = tag();
    const std::size_t first = home();
    for (std::size_t i = 0; i < Slots; ++i) {
      Slot& slot = slots_[(first + i) % Slots];
      if (slot.holder.load(std::memory_order_relaxed) != mine) continue;  // only this thread stores its tag
      slot.holder.store(0, std::memory_order_relaxed);
      slot.lock.unlock();
      freed_.notify(1);
      return;
    }
  }

  /// For any owner: a writer died, and consistent() was not called since.
  bool owner_died() const noexcept {
    return died_.load(std::memory_order_relaxed) || (writing_.load(std::memory_order_relaxed) && !mine());
  }
  /// For the exclusive owner: the protected state is whole again.
  void consistent() noexcept { died_.store(false, std::memory_order_relaxed); }

 private:
  struct alignas(memory::kCacheLineBytes) Slot {
    detail::ProcessLock lock;
    std::atomic<std::uint64_t> holder{0};
  };

  /// A number unique among all threads that ever had the heap open.
  std::uint64_t tag() const noexcept { return std::uint64_t{writer_.me()} << 32 | detail::thread_number(); }
  std::size_t home() const noexcept {
    return static_cast<std::size_t>((writer_.me() * 7U + detail::thread_number()) % Slots);
  }
  bool try_slots(bool free_ones) noexcept {
    const std::size_t first = home();
    for (std::size_t i = 0; i < Slots; ++i) {
      Slot& slot = slots_[(first + i) % Slots];
      if ((free_ones && !slot.lock.looks_free()) || !try_own(slot.lock)) continue;
      slot.holder.store(tag(), std::memory_order_relaxed);  // only its own thread looks for it
      BATON_CRASH_POINT("shared.shared_mutex.reading");
      return true;
    }
    return false;
  }
  static void own(Locked locked, detail::ProcessLock& lock) {
    if (locked == Locked::kNo) throw std::system_error(std::make_error_code(std::errc::invalid_argument));
    if (locked == Locked::kOwnerDied) lock.make_consistent();  // writing_ shows whether the death matters
  }
  static bool try_own(detail::ProcessLock& lock) noexcept {
    const Locked locked = lock.try_lock();
    if (locked == Locked::kOwnerDied) lock.make_consistent();
    return locked != Locked::kNo;
  }
  /// With everything owned.
  ownership enter() noexcept {
    const bool left = writing_.load(std::memory_order_relaxed);
    if (left) died_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // died_ before the dead one's tag goes, the tag before the mark
    writer_tag_.store(tag(), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    writing_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // the mark before the owner's changes, for the compiler; a kill
                                     // is precise, and the next owner is ordered by the locks
    BATON_CRASH_POINT("shared.shared_mutex.writing");
    return died_.load(std::memory_order_relaxed) ? ownership::previous_owner_died : ownership::acquired;
  }
  bool mine() const noexcept { return writer_tag_.load(std::memory_order_relaxed) == tag(); }

  detail::ProcessLock writer_;
  std::atomic<bool> writing_{false};
  std::atomic<bool> died_{false};
  std::atomic<std::uint64_t> writer_tag_{0};  // the thread whose writing_ is set, so that the writer may call
                                              // owner_died()
  EventCount freed_;  // freed slots: readers that found none sleep here; a writer sleeps on the slot that it needs next
  Slot slots_[Slots];
};

/// 16 readers at a time, about 1 KiB.
using shared_mutex = basic_shared_mutex<16>;

}  // namespace baton::objects
