// SPDX-License-Identifier: Apache-2.0
// Which of roscpp's message types a type of Baton is. The generator writes the specialisations (`ROS1` of
// baton_generate_messages): docs/guides/ros1.md.
#pragma once

#include <ros/duration.h>
#include <ros/message_traits.h>
#include <ros/time.h>

#include <array>
#include <boost/array.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "baton/sfm/bool.hpp"
#include "baton/sfm/string.hpp"
#include "baton/sfm/vector.hpp"

namespace baton::msg::builtin_interfaces {
struct Time;
struct Duration;
}  // namespace baton::msg::builtin_interfaces

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
