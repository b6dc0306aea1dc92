// SPDX-License-Identifier: Apache-2.0
// Stamps and durations of messages as programs of roscpp write them. Prints "ok"; what fails is an error of the compiler, or a line.
#include <ros/ros.h>

#include <baton/ros1/ros1.hpp>
#include <baton/ros1/std_msgs/duration.hpp>
#include <baton/ros1/std_msgs/header.hpp>
#include <cmath>
#include <iostream>
#include <type_traits>

using baton::msg::std_msgs::Header;

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::cout << what << std::endl;
}

}  // namespace

#define CHECK(condition) check(condition, #condition)

static_assert(!std::is_convertible_v<decltype(Header::stamp), ros::WallTime>, "another clock");
static_assert(!std::is_convertible_v<decltype(Header::stamp), ros::Duration>, "no duration");
static_assert(std::is_trivially_copyable_v<decltype(Header::stamp)>);

int main() {
  ros::Time::init();
  const ros::Time before = ros::Time::now();
  Header header, later;
  CHECK(header.stamp.isZero());
  header.stamp = ros::Time::now();
  CHECK(!header.stamp.isZero());
  CHECK(header.stamp >= before);
  CHECK(before <= header.stamp);
  CHECK((ros::Time::now() - header.stamp).toSec() >= 0);
  CHECK((header.stamp - before).toSec() >= 0);

  header.stamp = ros::Time(12, 345);
  CHECK(header.stamp.sec == 12 && header.stamp.nanosec == 345 && header.stamp.nsec == 345);
  CHECK(header.stamp.toNSec() == 12'000'000'345);
  CHECK(std::abs(header.stamp.toSec() - 12.000000345) < 1e-9);
  const ros::Time copied = header.stamp;
  const ros::Time made(header.stamp);
  CHECK(copied == ros::Time(12, 345) && made == copied);
  CHECK(header.stamp == copied && copied == header.stamp);
  CHECK(!(header.stamp != copied) && !(header.stamp < copied) && !(header.stamp > copied) && header.stamp <= copied);
  later.stamp = header.stamp + ros::Duration(1.5);
  CHECK(header.stamp < later.stamp);
  CHECK(later.stamp - ros::Duration(1.5) == copied);
  CHECK(ros::Duration(later.stamp - ros::Time(header.stamp)).toSec() == 1.5);
  CHECK((later.stamp - header.stamp).toSec() == 1.5);

  baton::msg::std_msgs::Duration duration;
  duration.data = ros::Duration(-0.5);
  CHECK(duration.data.sec == -1 && duration.data.nanosec == 500'000'000);
  CHECK(duration.data.toSec() == -0.5);
  const ros::Duration back = duration.data;
  CHECK(back == ros::Duration(-0.5));
  CHECK(ros::Time(1) + duration.data == ros::Time(0.5));

  header.stamp = ros::Time(4'000'000'000U, 1);  // after 2038
  CHECK(ros::Time(header.stamp) == ros::Time(4'000'000'000U, 1));
  if (failures == 0) std::cout << "ok" << std::endl;
  return failures;
}
