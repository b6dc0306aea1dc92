// SPDX-License-Identifier: Apache-2.0
// A bounded first-in first-out queue in a shared heap, for any number of producers and consumers. Operations block,
// time out, or try. Elements are plain data, or any other shareable type that may be assigned and is declared
// recoverable (shareable.hpp), such as smart pointers. Every process that can write the heap is trusted. A process
// killed at any instruction blocks no other process, and every element is in the queue entirely or not at all:
//   * a push has happened when tail_ is stored; the half-written slot of a dead producer is overwritten;
//   * plain data: a pop has happened when head_ is stored; an element that a dead consumer had copied but not popped is
//     still in the queue;
//   * other types: a pop has happened when the slot's `full` is cleared. The next consumer clears the rest of such a
//     slot;
//   * the lock of a dead producer or consumer is taken over by the waiters.
// If a process dies before it sends a wake-up, the wake-up is replaced (event_count.hpp).
//
// Thread rules: one thread constructs it in an open heap before others know its address; then every call is
// thread-safe. One thread destroys it, when no other thread uses it. No system call while no thread waits and no lock
// is contended.
//
// There are two locks, since producers and consumers share only the two positions: push_lock_ serialises producers,
// pop_lock_ consumers. Positions count from 0 and never wrap; position p lies in slot p % Capacity. head_ <= tail_ <=
// head_ + Capacity.
// Orderings:
//   [T] tail_: release store (push), acquire load (pop): the element is seen whole.
//   [H] head_: release store (pop), acquire load (push): the copy out of a slot comes before its reuse.
// Each is stored under its side's lock, so its own side may read it relaxed. known_head_ and known_tail_ are the last
// seen values of the other side's position. They are kept under the lock so that the other side's cache line is not
// read every time; old values are safe because positions only grow. `full` belongs to the side that may touch the slot:
// it is ordered by [T] and [H].
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "baton/memory/platform.hpp"
#include "baton/objects/deadline.hpp"
#include "baton/objects/event_count.hpp"
#include "baton/objects/process_lock.hpp"
#include "baton/objects/shareable.hpp"

namespace baton::objects {

namespace detail {

template <class T>
constexpr bool check_element() {
  using Stored = typename stored_form<T>::type;
  static_assert(check_shareable<Stored>());
  static_assert(
      std::is_trivially_copyable_v<T> ||
          (is_recoverable<Stored>::value && std::is_assignable_v<Stored&, T&&> && std::is_assignable_v<T&, Stored&&>),
      "elements are copied as bytes, or are assigned and declared recoverable (shareable.hpp), so that a "
      "process killed in the "
      "middle leaves each entirely in or out");
  static_assert(std::is_default_constructible_v<T>, "an element is taken into an object of the reader");
  return true;
}

}  // namespace detail

template <class T, std::size_t Capacity>
class queue {
  static_assert(detail::check_element<T>());
  static_assert(Capacity > 0);
  static constexpr bool kPlain = std::is_trivially_copyable_v<T>;

 public:
  queue() = default;
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;

  static constexpr std::size_t capacity() noexcept { return Capacity; }
  /// Exact only while no thread pushes or pops.
  std::size_t size() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire);  // [H], before tail_, so that head <= tail
    const std::uint64_t count = tail_.load(std::memory_order_acquire) - head;
    return static_cast<std::size_t>(count < Capacity ? count : Capacity);
  }
  bool empty() const noexcept { return size() == 0; }
  bool full() const noexcept { return size() == Capacity; }

  // Pushing and popping throws baton::Exception only for smart pointers to another heap.

  /// False: the queue is full.
  bool try_push(const T& element) { return try_push_from(element); }
  /// A refused element is unchanged.
  bool try_push(T&& element) { return try_push_from(std::move(element)); }
  void push(const T& element) { push_ns(element, detail::kForever); }
  void push(T&& element) { push_ns(std::move(element), detail::kForever); }
  template <class Rep, class Period>
  bool push_for(const T& element, const std::chrono::duration<Rep, Period>& duration) {
    return push_ns(element, detail::deadline_after(duration));
  }
  template <class Rep, class Period>
  bool push_for(T&& element, const std::chrono::duration<Rep, Period>& duration) {
    return push_ns(std::move(element), detail::deadline_after(duration));
  }
  template <class Clock, class Duration>
  bool push_until(const T& element, const std::chrono::time_point<Clock, Duration>& point) {
    do {
      if (push_ns(element, detail::deadline_at(point))) return true;
    } while (!detail::has_passed(point));
    return false;
  }

  /// False: the queue is empty, and *element is unchanged.
  bool try_pop(T* element) {
    {
      Hold hold(pop_lock_);
      std::uint64_t head = head_.load(std::memory_order_relaxed);  // stored under this lock
      for (;; ++head) {
        if (head == known_tail_) {
          known_tail_ = tail_.load(std::memory_order_acquire);  // [T]
          if (head == known_tail_) return false;
        }
        Slot& slot = slots_[head % Capacity];
        if constexpr (kPlain) {
          std::memcpy(static_cast<void*>(element), slot.bytes, sizeof(T));
          BATON_CRASH_POINT("shared.queue.pop.copied");
          break;
        } else {
          if (slot.full.load(std::memory_order_relaxed) != 0) {
            slot.full.store(0, std::memory_order_release);  // the pop
            BATON_CRASH_POINT("shared.queue.pop.taken");
            *element = std::move(slot.element());
            BATON_CRASH_POINT("shared.queue.pop.emptied");
            break;
          }
          slot.element() = T();                              // a dead consumer had popped it
          head_.store(head + 1, std::memory_order_release);  // [H]
        }
      }
      head_.store(head + 1, std::memory_order_release);  // [H] the pop of plain data
      BATON_CRASH_POINT("shared.queue.pop.done");
    }
    BATON_CRASH_POINT("shared.queue.pop.unlocked");
    not_full_.notify(1);
    return true;
  }
  std::optional<T> try_pop() { return popped(0); }
  T pop() { return *popped(detail::kForever); }
  template <class Rep, class Period>
  std::optional<T> pop_for(const std::chrono::duration<Rep, Period>& duration) {
    return popped(detail::deadline_after(duration));
  }
  template <class Clock, class Duration>
  std::optional<T> pop_until(const std::chrono::time_point<Clock, Duration>& point) {
    std::optional<T> element;
    do {
      element = popped(detail::deadline_at(point));
    } while (!element && !detail::has_passed(point));
    return element;
  }

  /// Waits until there is an element to pop (which another consumer may take) or the time is over.
  template <class Rep, class Period>
  bool wait_not_empty_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return not_empty_.wait_and_pass_on([this] { return !empty(); }, detail::deadline_after(duration));
  }

 private:
  /// Holds a side's lock. A dead owner's half-done push or pop needs no repair.
  class Hold {
   public:
    explicit Hold(detail::ProcessLock& lock) noexcept : lock_(lock) {
      if (lock.lock() == detail::Locked::kOwnerDied) lock.make_consistent();
      BATON_CRASH_POINT("shared.queue.locked");
    }
    ~Hold() { lock_.unlock(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    detail::ProcessLock& lock_;
  };

  template <class E>
  bool try_push_from(E&& element) {
    {
      Hold hold(push_lock_);
      const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // stored under this lock
      if (tail - known_head_ == Capacity) {
        known_head_ = head_.load(std::memory_order_acquire);  // [H]
        if (tail - known_head_ == Capacity) return false;
      }
      Slot& slot = slots_[tail % Capacity];
      if constexpr (kPlain) {
        std::memcpy(slot.bytes, &element, sizeof(T));
      } else {
        slot.element() = std::forward<E>(element);
        slot.full.store(1, std::memory_order_relaxed);  // seen with tail_
      }
      BATON_CRASH_POINT("shared.queue.push.written");
      tail_.store(tail + 1, std::memory_order_release);  // [T] the push
      BATON_CRASH_POINT("shared.queue.push.done");
    }
    BATON_CRASH_POINT("shared.queue.push.unlocked");
    not_empty_.notify(1);
    return true;
  }
  template <class E>
  bool push_ns(E&& element, std::int64_t deadline_ns) {
    // Forwarded more than once: a refused element is unchanged.
    return try_push_from(std::forward<E>(element)) ||
           not_full_.wait([&] { return !full() && try_push_from(std::forward<E>(element)); }, deadline_ns);
  }
  bool pop_ns(T* element, std::int64_t deadline_ns) {
    return try_pop(element) || not_empty_.wait([&] { return !empty() && try_pop(element); }, deadline_ns);
  }
  std::optional<T> popped(std::int64_t deadline_ns) {
    std::optional<T> element(std::in_place);
    if (deadline_ns == 0 ? !try_pop(&*element) : !pop_ns(&*element, deadline_ns)) element.reset();
    return element;
  }

  struct PlainSlot {
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  struct AssignedSlot {
    std::atomic<std::uint32_t> full{0};
    using Stored = typename stored_form<T>::type;
    Stored value{};
    Stored& element() noexcept { return value; }
  };
  using Slot = std::conditional_t<kPlain, PlainSlot, AssignedSlot>;
  // Cache lines: producers', consumers', common.
  alignas(memory::kCacheLineBytes) detail::ProcessLock push_lock_;
  std::uint64_t known_head_ = 0;
  alignas(memory::kCacheLineBytes) detail::ProcessLock pop_lock_;
  std::uint64_t known_tail_ = 0;
  alignas(memory::kCacheLineBytes) std::atomic<std::uint64_t> tail_{0};
  alignas(memory::kCacheLineBytes) std::atomic<std::uint64_t> head_{0};
  alignas(memory::kCacheLineBytes) EventCount not_empty_;
  alignas(memory::kCacheLineBytes) EventCount not_full_;
  alignas(memory::kCacheLineBytes) Slot slots_[Capacity];
};

template <class T, std::size_t Capacity>
struct declared_shareable<queue<T, Capacity>> : recoverable {};

}  // namespace baton::objects
