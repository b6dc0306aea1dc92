// SPDX-License-Identifier: Apache-2.0
// Which of roscpp's message types a type of Baton is. The generator writes the specialisations (`ROS1` of
// baton_generate_messages): docs/guides/ros1.md.
#pragma once

#include <ros/duration.h>
#include <ros/message_traits.h>
#include <ros/time.h>

#include <array>
#include <boost/array.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "baton/message/same_stamp.hpp"
#include "baton/node/call_forms.hpp"
#include "baton/sfm/bool.hpp"
#include "baton/sfm/string.hpp"
#include "baton/sfm/vector.hpp"

namespace baton::msg::builtin_interfaces {
struct Time;
struct Duration;
}  // namespace baton::msg::builtin_interfaces

// ros::Time and ros::Duration: a message's stamp may be assigned from them and used in their place, `header.stamp =
// ros::Time::now()`, `ros::Time::now() - header.stamp`. After 2038 the seconds of a stamp are negative, and ros::Time
// has the same bits.
template <>
struct baton::message::SameStamp<baton::msg::builtin_interfaces::Time, ros::Time> : std::true_type {};
template <>
struct baton::message::SameStamp<baton::msg::builtin_interfaces::Duration, ros::Duration> : std::true_type {};

// The other order of operands: members of ros::Time have the operators that begin with one.
namespace baton::msg::builtin_interfaces {

template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
ros::Duration operator-(const Stamp& a, const ros::Time& b) {
  return static_cast<ros::Time>(a) - b;
}
template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
ros::Time operator-(const Stamp& a, const ros::Duration& b) {
  return static_cast<ros::Time>(a) - b;
}
template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
ros::Time operator+(const Stamp& a, const ros::Duration& b) {
  return static_cast<ros::Time>(a) + b;
}
template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
bool operator==(const Stamp& a, const ros::Time& b) {
  return static_cast<ros::Time>(a) == b;
}
template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
bool operator!=(const Stamp& a, const ros::Time& b) {
  return !(a == b);
}
template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
bool operator<(const Stamp& a, const ros::Time& b) {
  return static_cast<ros::Time>(a) < b;
}
template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
bool operator>(const Stamp& a, const ros::Time& b) {
  return b < static_cast<ros::Time>(a);
}
template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
bool operator<=(const Stamp& a, const ros::Time& b) {
  return !(a > b);
}
template <class Stamp, class = std::enable_if_t<message::SameStamp<Stamp, ros::Time>::value>>
bool operator>=(const Stamp& a, const ros::Time& b) {
  return !(a < b);
}

}  // namespace baton::msg::builtin_interfaces

namespace baton::ros1::detail {

/// What roscpp's own advertise() and subscribe() find for a type of Baton: a sentence of the compiler.
struct NotForRoscpp {
  template <class Refused = void>
  static const char* value() {
    static_assert(baton::detail::kNever<Refused>,
                  "a type of Baton: write baton::ros1::advertise<T>(node, topic, queue_size) or "
                  "baton::ros1::subscribe<T>(node, topic, queue_size, callback)");
    return "";
  }
};

}  // namespace baton::ros1::detail

namespace baton::ros1 {

/// `type` is the type that roscpp's generator made for the same message, e.g. sensor_msgs::Image for
/// baton::msg::sensor_msgs::Image.
template <class T>
struct StockOf;

template <>
struct StockOf<msg::builtin_interfaces::Time> {
  using type = ros::Time;
};
template <>
struct StockOf<msg::builtin_interfaces::Duration> {
  using type = ros::Duration;
};

namespace detail {

/// Whether a member of a type of Baton and one of a stock type mean the same bytes of ROS 1's wire format.
template <class Own, class Stock, class = void>
struct SameField
    : std::bool_constant<std::is_arithmetic_v<Own> && std::is_arithmetic_v<Stock> && sizeof(Own) == sizeof(Stock) &&
                         std::is_floating_point_v<Own> == std::is_floating_point_v<Stock>> {};
template <class Own, class Stock>
struct SameField<Own, Stock, std::void_t<typename StockOf<Own>::type>>
    : std::is_same<typename StockOf<Own>::type, Stock> {};
template <>
struct SameField<sfm::Bool, std::uint8_t> : std::true_type {};
template <std::uint32_t bound>
struct SameField<sfm::BasicString<bound>, std::string> : std::true_type {};
template <class Own, class Stock, class Allocator, std::uint32_t bound>
struct SameField<sfm::BasicVector<Own, bound>, std::vector<Stock, Allocator>> : SameField<Own, Stock> {};
template <class Own, class Stock, std::size_t n>
struct SameField<std::array<Own, n>, boost::array<Stock, n>> : SameField<Own, Stock> {};

}  // namespace detail
}  // namespace baton::ros1
