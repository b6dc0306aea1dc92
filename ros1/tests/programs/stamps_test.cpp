// SPDX-License-Identifier: Apache-2.0
// Stamps and durations of messages as programs of roscpp write them; some of what fails is an error of the compiler.
#include <gtest/gtest.h>
#include <ros/ros.h>

#include <baton/ros1/ros1.hpp>
#include <baton/ros1/std_msgs/duration.hpp>
#include <baton/ros1/std_msgs/header.hpp>
#include <cmath>
#include <type_traits>

using baton::msg::std_msgs::Header;

static_assert(!std::is_convertible_v<decltype(Header::stamp), ros::WallTime>, "another clock");
static_assert(!std::is_convertible_v<decltype(Header::stamp), ros::Duration>, "no duration");
static_assert(std::is_trivially_copyable_v<decltype(Header::stamp)>);

TEST(Stamps, AreWrittenAsRosTimeAndRosDuration) {
  ros::Time::init();
  const ros::Time before = ros::Time::now();
  Header header, later;
  EXPECT_TRUE(header.stamp.isZero());
  header.stamp = ros::Time::now();
  EXPECT_TRUE(!header.stamp.isZero());
  EXPECT_TRUE(header.stamp >= before);
  EXPECT_TRUE(before <= header.stamp);
  EXPECT_TRUE((ros::Time::now() - header.stamp).toSec() >= 0);
  EXPECT_TRUE((header.stamp - before).toSec() >= 0);

  header.stamp = ros::Time(12, 345);
  EXPECT_TRUE(header.stamp.sec == 12 && header.stamp.nanosec == 345 && header.stamp.nsec == 345);
  EXPECT_TRUE(header.stamp.toNSec() == 12'000'000'345);
  EXPECT_TRUE(std::abs(header.stamp.toSec() - 12.000000345) < 1e-9);
  const ros::Time copied = header.stamp;
  const ros::Time made(header.stamp);
  EXPECT_TRUE(copied == ros::Time(12, 345) && made == copied);
  EXPECT_TRUE(header.stamp == copied && copied == header.stamp);
  EXPECT_TRUE(!(header.stamp != copied) && !(header.stamp < copied) && !(header.stamp > copied) &&
              header.stamp <= copied);
  later.stamp = header.stamp + ros::Duration(1.5);
  EXPECT_TRUE(header.stamp < later.stamp);
  EXPECT_TRUE(later.stamp - ros::Duration(1.5) == copied);
  EXPECT_TRUE(ros::Duration(later.stamp - ros::Time(header.stamp)).toSec() == 1.5);
  EXPECT_TRUE((later.stamp - header.stamp).toSec() == 1.5);

  baton::msg::std_msgs::Duration duration;
  duration.data = ros::Duration(-0.5);
  EXPECT_TRUE(duration.data.sec == -1 && duration.data.nanosec == 500'000'000);
  EXPECT_TRUE(duration.data.toSec() == -0.5);
  const ros::Duration back = duration.data;
  EXPECT_TRUE(back == ros::Duration(-0.5));
  EXPECT_TRUE(ros::Time(1) + duration.data == ros::Time(0.5));

  header.stamp = ros::Time(4'000'000'000U, 1);  // after 2038
  EXPECT_TRUE(ros::Time(header.stamp) == ros::Time(4'000'000'000U, 1));
}
