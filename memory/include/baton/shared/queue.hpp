// SPDX-License-Identifier: Apache-2.0
// A bounded first-in first-out queue for memory that several processes write: any number of producers and consumers, blocking,
// with timeout, or try. Whoever can write the memory is trusted. A process killed at any instruction blocks nobody, and every
// element is in the queue entirely or not at all:
//   * a push has happened when tail_ is stored, a pop when head_ is stored: one instruction each;
//   * an element that a dead consumer had copied but not popped is still there, for the next consumer;
//   * the lock of a dead producer or consumer is freed by the kernel; there is nothing to repair.
// A wake-up that died with its sender comes at most kLookAgainNs late (bell.hpp).
//
// Thread rules: placed in shared memory and constructed by one thread before others know its address; then every call is
// thread-safe. No destructor runs. No system call while nobody waits and no lock is contended.
//
// Two locks, since producers and consumers meet only in the two positions: push_lock_ serialises producers, pop_lock_
// consumers. Positions count from 0 and never wrap; position p lies in slot p % Capacity. head_ <= tail_ <= head_ + Capacity.
// Orderings:
//   [T] tail_: release store (push), acquire load (pop): the element is seen whole.
//   [H] head_: release store (pop), acquire load (push): the copy out of a slot comes before its reuse.
// Each is stored under its side's lock, so its own side may read it relaxed. known_head_ and known_tail_ are last seen values
// of the other side's position, kept under the lock so that its cache line is not asked for every time; old values are safe
// because positions only grow.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "baton/memory/platform.hpp"
#include "baton/os/robust_mutex.hpp"
#include "baton/shared/bell.hpp"
#include "baton/shared/deadline.hpp"
#include "baton/shared/shareable.hpp"

namespace baton::shared {

namespace detail {
/// One step of a short spin.
inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
}  // namespace detail

template <class T, std::size_t Capacity>
class queue {
  static_assert(detail::check_shareable<T>() && detail::check_copied_as_bytes<T>());
  static_assert(Capacity > 0);

 public:
  queue() noexcept = default;
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;

  static constexpr std::size_t capacity() noexcept { return Capacity; }
  /// Exact only while nobody pushes or pops.
  std::size_t size() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire);  // [H], before tail_, so that head <= tail
    const std::uint64_t count = tail_.load(std::memory_order_acquire) - head;
    return static_cast<std::size_t>(count < Capacity ? count : Capacity);
  }
  bool empty() const noexcept { return size() == 0; }
  bool full() const noexcept { return size() == Capacity; }

  /// False: full.
  bool try_push(const T& element) noexcept {
    {
      Hold hold(push_lock_);
      const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // stored under this lock
      if (tail - known_head_ == Capacity) {
        known_head_ = head_.load(std::memory_order_acquire);  // [H]
        if (tail - known_head_ == Capacity) return false;
      }
      std::memcpy(&slots_[tail % Capacity], &element, sizeof(T));
      BATON_CRASH_POINT("shared.queue.push.written");
      tail_.store(tail + 1, std::memory_order_release);  // [T] the push
      BATON_CRASH_POINT("shared.queue.push.done");
    }
    BATON_CRASH_POINT("shared.queue.push.unlocked");
    not_empty_.ring(1);
    return true;
  }
  void push(const T& element) noexcept { push_ns(element, detail::kForever); }
  template <class Rep, class Period>
  bool push_for(const T& element, const std::chrono::duration<Rep, Period>& duration) noexcept {
    return push_ns(element, detail::deadline_after(duration));
  }
  template <class Clock, class Duration>
  bool push_until(const T& element, const std::chrono::time_point<Clock, Duration>& point) noexcept {
    do {
      if (push_ns(element, detail::deadline_at(point))) return true;
    } while (Clock::now() < point);
    return false;
  }

  /// False: empty, and *element is as it was.
  bool try_pop(T* element) noexcept {
    {
      Hold hold(pop_lock_);
      const std::uint64_t head = head_.load(std::memory_order_relaxed);  // stored under this lock
      if (head == known_tail_) {
        known_tail_ = tail_.load(std::memory_order_acquire);  // [T]
        if (head == known_tail_) return false;
      }
      std::memcpy(static_cast<void*>(element), &slots_[head % Capacity], sizeof(T));
      BATON_CRASH_POINT("shared.queue.pop.copied");
      head_.store(head + 1, std::memory_order_release);  // [H] the pop
      BATON_CRASH_POINT("shared.queue.pop.done");
    }
    BATON_CRASH_POINT("shared.queue.pop.unlocked");
    not_full_.ring(1);
    return true;
  }
  std::optional<T> try_pop() noexcept { return popped(0); }
  T pop() noexcept { return *popped(detail::kForever); }
  template <class Rep, class Period>
  std::optional<T> pop_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return popped(detail::deadline_after(duration));
  }
  template <class Clock, class Duration>
  std::optional<T> pop_until(const std::chrono::time_point<Clock, Duration>& point) noexcept {
    std::optional<T> element;
    do {
      element = popped(detail::deadline_at(point));
    } while (!element && Clock::now() < point);
    return element;
  }

  /// Until there is something to pop (which another consumer may take) or the time is over.
  template <class Rep, class Period>
  bool wait_not_empty_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return not_empty_.wait([this] { return !empty(); }, detail::deadline_after(duration));
  }

 private:
  /// A side's lock. What a dead owner left needs no repair.
  class Hold {
   public:
    explicit Hold(os::RobustMutex& lock) noexcept : lock_(lock) {
      os::RobustMutex::Locked locked = lock.try_lock();
      for (int i = 0; locked == os::RobustMutex::Locked::kNo && i < kSpins; ++i) {
        detail::pause();  // the critical section is one copy: shorter than a system call
        locked = lock.try_lock();
      }
      if (locked == os::RobustMutex::Locked::kNo) locked = lock.lock();
      if (locked == os::RobustMutex::Locked::kOwnerDied) lock.make_consistent();
      BATON_CRASH_POINT("shared.queue.locked");
    }
    ~Hold() { lock_.unlock(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    static constexpr int kSpins = 30;
    os::RobustMutex& lock_;
  };

  bool push_ns(const T& element, std::int64_t deadline_ns) noexcept {
    return try_push(element) || not_full_.wait([&] { return !full() && try_push(element); }, deadline_ns);
  }
  bool pop_ns(T* element, std::int64_t deadline_ns) noexcept {
    return try_pop(element) || not_empty_.wait([&] { return !empty() && try_pop(element); }, deadline_ns);
  }
  std::optional<T> popped(std::int64_t deadline_ns) noexcept {
    T element;
    if (deadline_ns == 0 ? !try_pop(&element) : !pop_ns(&element, deadline_ns)) return std::nullopt;
    return element;
  }

  struct Slot {
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  // Producers' line, consumers' line, what both touch.
  alignas(memory::kCacheLineBytes) os::RobustMutex push_lock_;
  std::uint64_t known_head_ = 0;
  alignas(memory::kCacheLineBytes) os::RobustMutex pop_lock_;
  std::uint64_t known_tail_ = 0;
  alignas(memory::kCacheLineBytes) std::atomic<std::uint64_t> tail_{0};
  alignas(memory::kCacheLineBytes) std::atomic<std::uint64_t> head_{0};
  alignas(memory::kCacheLineBytes) Bell not_empty_;
  alignas(memory::kCacheLineBytes) Bell not_full_;
  alignas(memory::kCacheLineBytes) Slot slots_[Capacity];
};

}  // namespace baton::shared
