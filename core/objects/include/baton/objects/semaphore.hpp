// SPDX-License-Identifier: Apache-2.0
// counting_semaphore and binary_semaphore in a shared heap. Every process that can write the memory is trusted.
// A semaphore has no owners, so it cannot know the counts of a dead process: **counts that a process acquired and did
// not release before it died stay taken**, as with POSIX semaphores. To protect data, use a mutex. A process that dies
// while it waits takes no count; a process that dies in release() has released all of its counts or none.
//
// Semantics of std::counting_semaphore ([thread.sema.cnt]). No system call while no thread waits. Thread rules: as
// mutex.
// Orderings: release() adds with release, try_acquire() takes with acquire: a thread that acquired sees everything
// before the release. Waiting: event_count.hpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "baton/objects/deadline.hpp"
#include "baton/objects/event_count.hpp"

namespace baton::objects {

template <std::ptrdiff_t LeastMax = INT32_MAX>
class counting_semaphore {
  static_assert(LeastMax >= 0 && LeastMax <= INT32_MAX, "the count is one 32-bit word");

 public:
  explicit counting_semaphore(std::ptrdiff_t desired) noexcept : count_(static_cast<std::uint32_t>(desired)) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;

  static constexpr std::ptrdiff_t max() noexcept { return LeastMax; }

  /// Count + update must not exceed max().
  void release(std::ptrdiff_t update = 1) noexcept {
    if (update <= 0) return;
    // release: pairs with the acquire in try_acquire (each add continues the release sequence of those before).
    count_.fetch_add(static_cast<std::uint32_t>(update), std::memory_order_release);
    BATON_CRASH_POINT("shared.semaphore.released");
    event_count_.notify(static_cast<int>(update));
  }
  bool try_acquire() noexcept {
    std::uint32_t count = count_.load(std::memory_order_relaxed);  // a hint; the exchange decides
    while (count > 0) {
      // acquire: pairs with release(). relaxed on failure: only tried again.
      if (count_.compare_exchange_weak(count, count - 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  void acquire() noexcept { acquire_ns(detail::kForever); }
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return acquire_ns(detail::deadline_after(duration));
  }
  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& point) noexcept {
    do {
      if (acquire_ns(detail::deadline_at(point))) return true;
    } while (!detail::has_passed(point));
    return false;
  }

 private:
  bool acquire_ns(std::int64_t deadline_ns) noexcept {
    return event_count_.wait([this] { return try_acquire(); }, deadline_ns);
  }

  std::atomic<std::uint32_t> count_;
  EventCount event_count_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace baton::objects
