// SPDX-License-Identifier: Apache-2.0
// Durations and time points of the std interface as absolute CLOCK_MONOTONIC nanoseconds. Thread rules: pure functions.
#pragma once

#include <chrono>
#include <cstdint>

#include "baton/os/clock.hpp"

namespace baton::shared::detail {

inline constexpr std::int64_t kForever = INT64_MAX;

/// The end of a wait that begins now; durations too long to count are forever.
template <class Rep, class Period>
std::int64_t deadline_after(const std::chrono::duration<Rep, Period>& duration) noexcept {
  using Seconds = std::chrono::duration<double>;
  if (duration <= duration.zero()) return 0;
  if (std::chrono::duration_cast<Seconds>(duration) > Seconds(1e9)) return kForever;
  return os::monotonic_ns() + std::chrono::ceil<std::chrono::nanoseconds>(duration).count();
}

/// A point of another clock counts as far off as it is now; the caller asks again after the wait (has_passed).
template <class Clock, class Duration>
std::int64_t deadline_at(const std::chrono::time_point<Clock, Duration>& point) noexcept {
  const auto now = Clock::now();
  return point <= now ? 0 : deadline_after(point - now);
}

}  // namespace baton::shared::detail
