// SPDX-License-Identifier: Apache-2.0
// Points in time and durations that messages carry: values that convert to and from every struct with the members sec
// and nanosec (builtin_interfaces/Time and /Duration), and from std::chrono. Thread rules: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "baton/message/type.hpp"
#include "baton/os/duration.hpp"
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
[[noreturn]] void throw_duration_out_of_range(double seconds);

/// A struct with the members sec and nanosec. Throws invalid_argument if the seconds do not fit.
template <class Stamp>
Stamp make_stamp(std::chrono::nanoseconds value) {
  using Seconds = std::remove_reference_t<decltype(std::declval<Stamp&>().sec)>;
  const auto whole = std::chrono::floor<std::chrono::seconds>(value);
  if (whole.count() < static_cast<std::int64_t>(std::numeric_limits<Seconds>::min()) ||
      whole.count() > static_cast<std::int64_t>(std::numeric_limits<Seconds>::max()))
    throw_time_out_of_range(value.count());
  Stamp stamp{};
  stamp.sec = static_cast<Seconds>(whole.count());
  stamp.nanosec = static_cast<std::uint32_t>((value - whole).count());
  return stamp;
}

/// Seconds as nanoseconds. Throws invalid_argument if they do not fit (292 years), or are no number.
inline std::chrono::nanoseconds from_seconds(double seconds) {
  if (!(seconds >= -9.2e9 && seconds <= 9.2e9)) throw_duration_out_of_range(seconds);
  return std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace detail

/// A std::chrono::nanoseconds with the words of rclcpp::Duration, and a duration in messages. Every duration of std::chrono
/// converts to it, and saturates at the ends of the range (os::saturated()).
class Duration : public os::Nanoseconds {
 public:
  constexpr Duration() = default;
  template <class Rep, class Period>
  constexpr Duration(const std::chrono::duration<Rep, Period>& value) : os::Nanoseconds(value) {}
  constexpr Duration(std::int32_t seconds, std::uint32_t nanoseconds)
      : os::Nanoseconds(std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds)) {}
  /// From a duration in a message.
  template <class Message, class = std::enable_if_t<detail::IsDuration<Message>::value>, class = void>
  constexpr Duration(const Message& message) : Duration(message.sec, message.nanosec) {}
  /// Throws invalid_argument beyond 292 years.
  static Duration from_seconds(double seconds) { return detail::from_seconds(seconds); }
  static constexpr Duration from_nanoseconds(std::int64_t value) { return std::chrono::nanoseconds(value); }

  /// To a duration in a message. Throws invalid_argument if the seconds do not fit 32 bits.
  template <class Message, class = std::enable_if_t<detail::IsDuration<Message>::value>>
  operator Message() const {
    return detail::make_stamp<Message>(*this);
  }
  constexpr double seconds() const noexcept { return std::chrono::duration<double>(*this).count(); }
  constexpr std::int64_t nanoseconds() const noexcept { return count(); }
  /// In another unit, cut towards zero as by std::chrono::duration_cast.
  template <class Unit>
  constexpr Unit to_chrono() const {
    return std::chrono::duration_cast<Unit>(*this);
  }
  // As in roscpp.
  constexpr double toSec() const noexcept { return seconds(); }
  constexpr std::int64_t toNSec() const noexcept { return count(); }
  constexpr bool isZero() const noexcept { return count() == 0; }
  /// False if the process is asked to end meanwhile (ok()).
  bool sleep() const;
  template <class Number, class = std::enable_if_t<std::is_floating_point_v<Number>>>
  friend Duration operator*(const Duration& d, Number factor) {
    return from_seconds(d.seconds() * factor);
  }
  /// Seconds with nine decimals, as roscpp prints them: "-0.500000000".
  friend std::ostream& operator<<(std::ostream& out, const Duration& d);
};

/// Nanoseconds since 1970-01-01 (CLOCK_REALTIME), or since the beginning of a simulation. A difference of two is a
/// Duration, which is a std::chrono::nanoseconds.
class Time {
 public:
  constexpr Time() = default;
  /// baton::now(), in roscpp's words.
  static Time now() { return std::chrono::system_clock::now(); }
  constexpr Time(std::int32_t seconds, std::uint32_t nanoseconds)
      : since_epoch_(std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds)) {}
  constexpr explicit Time(os::Nanoseconds since_epoch) : since_epoch_(since_epoch) {}
  /// Throws invalid_argument beyond 292 years.
  static Time from_seconds(double seconds) { return Time(detail::from_seconds(seconds)); }
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
    return detail::make_stamp<Stamp>(since_epoch_);
  }

  constexpr std::chrono::nanoseconds since_epoch() const noexcept { return since_epoch_; }
  constexpr double seconds() const noexcept { return std::chrono::duration<double>(since_epoch_).count(); }
  constexpr std::int64_t nanoseconds() const noexcept { return since_epoch_.count(); }
  // As in roscpp.
  constexpr double toSec() const noexcept { return seconds(); }
  constexpr std::int64_t toNSec() const noexcept { return nanoseconds(); }
  constexpr bool isZero() const noexcept { return since_epoch_.count() == 0; }

  // Sums and differences stay at the ends of the range.
  constexpr Time& operator+=(os::Nanoseconds d) noexcept {
    since_epoch_ = os::saturated_sum(since_epoch_, d);
    return *this;
  }
  constexpr Time& operator-=(os::Nanoseconds d) noexcept {
    since_epoch_ = os::saturated_difference(since_epoch_, d);
    return *this;
  }
  friend constexpr Time operator+(Time t, os::Nanoseconds d) noexcept { return t += d; }
  friend constexpr Time operator-(Time t, os::Nanoseconds d) noexcept { return t -= d; }
  friend constexpr Duration operator-(const Time& a, const Time& b) noexcept {
    return os::saturated_difference(a.since_epoch_, b.since_epoch_);
  }
  friend constexpr bool operator==(const Time& a, const Time& b) noexcept { return a.since_epoch_ == b.since_epoch_; }
  friend constexpr bool operator!=(const Time& a, const Time& b) noexcept { return !(a == b); }
  friend constexpr bool operator<(const Time& a, const Time& b) noexcept { return a.since_epoch_ < b.since_epoch_; }
  friend constexpr bool operator>(const Time& a, const Time& b) noexcept { return b < a; }
  friend constexpr bool operator<=(const Time& a, const Time& b) noexcept { return !(b < a); }
  friend constexpr bool operator>=(const Time& a, const Time& b) noexcept { return !(a < b); }
  /// Seconds with nine decimals, as roscpp prints them: "1700000000.500000000".
  friend std::ostream& operator<<(std::ostream& out, const Time& time);

 private:
  std::chrono::nanoseconds since_epoch_{0};
};

// Stamps of two messages, `a.header.stamp - b.header.stamp`, without naming Time.
namespace msg::builtin_interfaces {

template <class Stamp, class = std::enable_if_t<baton::detail::IsStamp<Stamp>::value>>
constexpr baton::Duration operator-(const Stamp& a, const Stamp& b) {
  return baton::Time(a) - baton::Time(b);
}
// A stamp and a duration: `header.stamp + 10ms`, `header.stamp - duration_message`.
template <class Stamp, class = std::enable_if_t<baton::detail::IsStamp<Stamp>::value>>
constexpr baton::Time operator+(const Stamp& a, const baton::Duration& b) {
  return baton::Time(a) + b;
}
template <class Stamp, class = std::enable_if_t<baton::detail::IsStamp<Stamp>::value>>
constexpr baton::Time operator-(const Stamp& a, const baton::Duration& b) {
  return baton::Time(a) - b;
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
inline Time now() { return Time::now(); }

}  // namespace baton
