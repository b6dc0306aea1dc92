// SPDX-License-Identifier: Apache-2.0
// Points in time that messages carry: a value that converts to and from every struct with the members sec and nanosec
// (builtin_interfaces/Time, ROS 1's time), and from std::chrono. Thread rules: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton {
namespace detail {

constexpr bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// builtin_interfaces/Duration has the members of a stamp, and is none.
template <class T, class = void>
struct IsDuration : std::false_type {};
template <class T>
struct IsDuration<T, std::void_t<decltype(message::TypeOf<T>::kType)>>
    : std::bool_constant<ends_with(message::TypeOf<T>::kType.name, "/Duration")> {};

template <class T, class = void>
struct IsStamp : std::false_type {};
template <class T>
struct IsStamp<T, std::void_t<decltype(std::declval<T&>().sec), decltype(std::declval<T&>().nanosec)>>
    : std::bool_constant<!IsDuration<T>::value> {};

[[noreturn]] void throw_time_out_of_range(std::int64_t nanoseconds);

}  // namespace detail

/// Nanoseconds since 1970-01-01 (CLOCK_REALTIME), or since the beginning of a simulation. A difference of two is a
/// std::chrono::nanoseconds.
class Time {
 public:
  constexpr Time() = default;
  constexpr explicit Time(std::chrono::nanoseconds since_epoch) : since_epoch_(since_epoch) {}
  template <class Duration>
  constexpr Time(const std::chrono::time_point<std::chrono::system_clock, Duration>& point)
      : since_epoch_(std::chrono::duration_cast<std::chrono::nanoseconds>(point.time_since_epoch())) {}
  /// From a stamp in a message.
  template <class Stamp, class = std::enable_if_t<detail::IsStamp<Stamp>::value>>
  constexpr Time(const Stamp& stamp)
      : since_epoch_(std::chrono::seconds(stamp.sec) + std::chrono::nanoseconds(stamp.nanosec)) {}

  /// To a stamp in a message. Throws invalid_argument if the seconds do not fit (ROS 2: 32 bits, until 2038).
  template <class Stamp, class = std::enable_if_t<detail::IsStamp<Stamp>::value>>
  operator Stamp() const {
    using Seconds = std::remove_reference_t<decltype(std::declval<Stamp&>().sec)>;
    const auto whole = std::chrono::floor<std::chrono::seconds>(since_epoch_);
    if (whole.count() < static_cast<std::int64_t>(std::numeric_limits<Seconds>::min()) ||
        whole.count() > static_cast<std::int64_t>(std::numeric_limits<Seconds>::max()))
      detail::throw_time_out_of_range(since_epoch_.count());
    Stamp stamp{};
    stamp.sec = static_cast<Seconds>(whole.count());
    stamp.nanosec = static_cast<std::uint32_t>((since_epoch_ - whole).count());
    return stamp;
  }

  constexpr std::chrono::nanoseconds since_epoch() const noexcept { return since_epoch_; }
  constexpr double seconds() const noexcept { return std::chrono::duration<double>(since_epoch_).count(); }

  constexpr Time& operator+=(std::chrono::nanoseconds d) noexcept {
    since_epoch_ += d;
    return *this;
  }
  constexpr Time& operator-=(std::chrono::nanoseconds d) noexcept {
    since_epoch_ -= d;
    return *this;
  }
  friend constexpr Time operator+(Time t, std::chrono::nanoseconds d) noexcept { return t += d; }
  friend constexpr Time operator-(Time t, std::chrono::nanoseconds d) noexcept { return t -= d; }
  friend constexpr std::chrono::nanoseconds operator-(const Time& a, const Time& b) noexcept {
    return a.since_epoch_ - b.since_epoch_;
  }
  friend constexpr bool operator==(const Time& a, const Time& b) noexcept { return a.since_epoch_ == b.since_epoch_; }
  friend constexpr bool operator!=(const Time& a, const Time& b) noexcept { return !(a == b); }
  friend constexpr bool operator<(const Time& a, const Time& b) noexcept { return a.since_epoch_ < b.since_epoch_; }
  friend constexpr bool operator>(const Time& a, const Time& b) noexcept { return b < a; }
  friend constexpr bool operator<=(const Time& a, const Time& b) noexcept { return !(b < a); }
  friend constexpr bool operator>=(const Time& a, const Time& b) noexcept { return !(a < b); }

 private:
  std::chrono::nanoseconds since_epoch_{0};
};

// Stamps of two messages, `a.header.stamp - b.header.stamp`, without naming Time.
namespace msg::builtin_interfaces {

template <class Stamp, class = std::enable_if_t<baton::detail::IsStamp<Stamp>::value>>
constexpr std::chrono::nanoseconds operator-(const Stamp& a, const Stamp& b) {
  return baton::Time(a) - baton::Time(b);
}
template <class Stamp, class = std::enable_if_t<baton::detail::IsStamp<Stamp>::value>>
constexpr bool operator<(const Stamp& a, const Stamp& b) {
  return baton::Time(a) < baton::Time(b);
}
template <class Stamp, class = std::enable_if_t<baton::detail::IsStamp<Stamp>::value>>
constexpr bool operator>(const Stamp& a, const Stamp& b) {
  return b < a;
}
template <class Stamp, class = std::enable_if_t<baton::detail::IsStamp<Stamp>::value>>
constexpr bool operator<=(const Stamp& a, const Stamp& b) {
  return !(b < a);
}
template <class Stamp, class = std::enable_if_t<baton::detail::IsStamp<Stamp>::value>>
constexpr bool operator>=(const Stamp& a, const Stamp& b) {
  return !(a < b);
}

}  // namespace msg::builtin_interfaces

/// The present time, CLOCK_REALTIME: `image->header.stamp = baton::now();`
inline Time now() { return std::chrono::system_clock::now(); }

}  // namespace baton
