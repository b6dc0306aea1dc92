// SPDX-License-Identifier: Apache-2.0
// Durations and time points of the std interface as absolute CLOCK_MONOTONIC nanoseconds. Thread rules: pure functions.
#pragma once

#include <chrono>
#include <cstdint>

#include "baton/os/clock.hpp"
#include "baton/os/duration.hpp"

namespace baton::objects::detail {

inline constexpr std::int64_t kForever = INT64_MAX;

/// The end of a wait that begins now; a duration that is too long to count lasts for ever.
inline std::int64_t deadline_after(os::Nanoseconds duration) noexcept {
  if (duration <= duration.zero()) return 0;
  return os::saturated_sum(std::chrono::nanoseconds(os::monotonic_ns()), duration).count();
}

/// Seconds until then, negative if it is over. In floating point, because a time_point of hours or seconds may exceed
/// the range of nanoseconds.
template <class Clock, class Duration>
double seconds_until(const std::chrono::time_point<Clock, Duration>& point,
                     const typename Clock::time_point& now) noexcept {
  using Seconds = std::chrono::duration<double>;
  return Seconds(point.time_since_epoch()).count() - Seconds(now.time_since_epoch()).count();
}

/// Converts a point of another clock by its present distance; the caller checks again after the wait (has_passed).
template <class Clock, class Duration>
std::int64_t deadline_at(const std::chrono::time_point<Clock, Duration>& point) noexcept {
  const auto now = Clock::now();
  const double left = seconds_until(point, now);
  if (left > 1e9) return kForever;
  return left < -1 || point <= now ? 0 : deadline_after(point - now);
}

template <class Clock, class Duration>
bool has_passed(const std::chrono::time_point<Clock, Duration>& point) noexcept {
  const auto now = Clock::now();
  const double left = seconds_until(point, now);
  return left < -1 || (left < 1 && point <= now);
}

}  // namespace baton::objects::detail
