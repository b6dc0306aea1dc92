// SPDX-License-Identifier: Apache-2.0
// Clocks that timers run on. Thread rules: all functions are thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "baton/os/duration.hpp"
#include "baton/os/lock.hpp"

namespace baton {

/// A source of time for timers: steady (CLOCK_MONOTONIC) or simulated (set by the program, e.g. from the topic /clock).
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::nanoseconds now() const = 0;
  /// Real time until `deadline` of this clock, at least 0; max() if only a jump of simulated time can reach the
  /// deadline.
  virtual std::chrono::nanoseconds real_time_until(std::chrono::nanoseconds deadline) const = 0;
  /// Calls `wake` after every jump of time, so that waiters check again. The registration ends when the token is
  /// destroyed.
  virtual std::shared_ptr<void> on_jump(std::function<void()> wake) = 0;
};

/// CLOCK_MONOTONIC.
std::shared_ptr<Clock> steady_clock();

/// Time that stands still until set() moves it. Going backwards is allowed; timers then start a new period.
class SimulatedClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const override;
  std::chrono::nanoseconds real_time_until(std::chrono::nanoseconds deadline) const override;
  std::shared_ptr<void> on_jump(std::function<void()> wake) override;
  /// Moves time and wakes every executor with a timer on this clock.
  void set(os::Nanoseconds now);

 private:
  std::atomic<std::int64_t> now_ns_{0};
  os::Mutex mutex_;
  std::vector<std::weak_ptr<std::function<void()>>> wakes_ BATON_GUARDED_BY(mutex_);
};

/// Sleeps so that a loop runs at a steady rate, as ros::Rate and rclcpp::Rate. One thread at a time.
class Rate {
 public:
  /// Throws invalid_argument if `hertz` is not positive.
  explicit Rate(double hertz);
  explicit Rate(os::Nanoseconds period);
  /// Sleeps to the end of the period. False if it had passed already; then the next period begins now. Returns early
  /// when the process is asked to end (ok()).
  bool sleep();
  /// A new period begins now.
  void reset();
  std::chrono::nanoseconds period() const noexcept { return period_; }

 private:
  std::chrono::nanoseconds period_;
  std::chrono::steady_clock::time_point next_;
};

namespace detail {

/// The present CLOCK_MONOTONIC plus `timeout`, or the present if `timeout` is negative. A sum beyond the clock's range becomes
/// its last moment, so waits may be endless (kInfinite).
std::chrono::steady_clock::time_point deadline_after(os::Nanoseconds timeout) noexcept;

}  // namespace detail
}  // namespace baton
