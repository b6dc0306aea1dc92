// SPDX-License-Identifier: Apache-2.0
// Durations at the ends of their ranges. std::chrono converts hours::max() to nanoseconds by overflow, so every function
// that takes a duration from a program takes it as os::Nanoseconds.
// Thread rules: values and pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace baton::os {

/// Any duration of std::chrono in nanoseconds:
///
///   longer than 292 years, infinite    nanoseconds::max(), which is for ever; nanoseconds::min() if it is negative
///   shorter than a nanosecond          1 ns; -1 ns if it is negative: what is not zero does not become zero
///   not a number                       zero
///   other fractions of a nanosecond    the nearest nanosecond of a floating-point duration, else cut off
template <class Rep, class Period>
constexpr std::chrono::nanoseconds saturated(const std::chrono::duration<Rep, Period>& duration) noexcept {
  using std::chrono::nanoseconds;
  using Factor = std::ratio_divide<Period, std::nano>;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const Rep count = duration.count();
  if constexpr (std::is_integral_v<Rep> && (Factor::num == 1 || Factor::den == 1)) {
    // Wide enough for both: unsigned only for the 64 bits that a signed number cannot hold.
    using Wide = std::conditional_t<std::is_unsigned_v<Rep>, std::uint64_t, std::int64_t>;
    const Wide units = static_cast<Wide>(count) / static_cast<Wide>(Factor::den);
    if (units > static_cast<Wide>(kMost / Factor::num)) return nanoseconds(kMost);
    if constexpr (std::is_signed_v<Rep>) {
      if (units < kLeast / Factor::num) return nanoseconds(kLeast);
    }
    if (units == 0 && count != 0) return nanoseconds(count > 0 ? 1 : -1);
    return nanoseconds(static_cast<std::int64_t>(units) * Factor::num);
  } else {
    const auto ns = static_cast<long double>(count) * Factor::num / Factor::den;
    if (ns != ns) return nanoseconds(0);
    if (ns >= static_cast<long double>(kMost)) return nanoseconds(kMost);
    if (ns <= static_cast<long double>(kLeast)) return nanoseconds(kLeast);
    const auto nearest = static_cast<std::int64_t>(ns + (ns < 0 ? -0.5L : 0.5L));
    if (nearest != 0 || ns == 0) return nanoseconds(nearest);
    return nanoseconds(ns > 0 ? 1 : -1);
  }
}

/// A sum and a difference that stay at the ends of the range instead of leaving it.
constexpr std::chrono::nanoseconds saturated_sum(std::chrono::nanoseconds a, std::chrono::nanoseconds b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) return std::chrono::nanoseconds(sum);
  return b.count() < 0 ? std::chrono::nanoseconds::min() : std::chrono::nanoseconds::max();
}

constexpr std::chrono::nanoseconds saturated_difference(std::chrono::nanoseconds a,
                                                        std::chrono::nanoseconds b) noexcept {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a.count(), b.count(), &difference)) return std::chrono::nanoseconds(difference);
  return b.count() < 0 ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds::min();
}

/// A std::chrono::nanoseconds that every duration of std::chrono converts to, by saturated().
class Nanoseconds : public std::chrono::nanoseconds {
 public:
  constexpr Nanoseconds() noexcept : std::chrono::nanoseconds(0) {}
  template <class Rep, class Period>
  constexpr Nanoseconds(const std::chrono::duration<Rep, Period>& value) noexcept
      : std::chrono::nanoseconds(saturated(value)) {}
};

}  // namespace baton::os
