// SPDX-License-Identifier: Apache-2.0
// Images, point clouds, scans and maps, as C++ and as C code holds them, from a loan to a subscription without a copy of an array.
#include "baton/native/native_loan.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "baton/containers/containers.hpp"
#include "baton/containers/heap.hpp"
#include "baton/memory/window.hpp"
#include "baton/native/native_take.hpp"
#include "nav_msgs/msg/detail/occupancy_grid__functions.h"
#include "nav_msgs/msg/detail/occupancy_grid__struct.h"
#include "nav_msgs/msg/occupancy_grid.hpp"
#include "rcutils/allocator.h"
#include "rosidl_typesupport_introspection_c/message_introspection.h"
#include "rosidl_typesupport_introspection_cpp/message_type_support_decl.hpp"
#include "sensor_msgs/msg/detail/image__functions.h"
#include "sensor_msgs/msg/detail/image__struct.h"
#include "sensor_msgs/msg/image.hpp"
#include "sensor_msgs/msg/laser_scan.hpp"
#include "sensor_msgs/msg/multi_dof_joint_state.hpp"
#include "sensor_msgs/msg/multi_echo_laser_scan.hpp"
#include "sensor_msgs/msg/point_cloud2.hpp"
#include "test_msgs/message_fixtures.hpp"
#include "testing/native_topic.hpp"

#define C_HANDLE(package, name) \
  rosidl_typesupport_introspection_c__get_message_type_support_handle__##package##__msg__##name
extern "C" const rosidl_message_type_support_t* C_HANDLE(sensor_msgs, Image)();
extern "C" const rosidl_message_type_support_t* C_HANDLE(nav_msgs, OccupancyGrid)();

namespace baton::containers {
namespace {

using namespace test;

/// First without a capacity (one copy), then with what was learned (none).
template <class Message, class Fill>
void expect_zero_and_zero(std::size_t arrays, std::uint64_t array_bytes, Fill fill) {
  Topic topic(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<Message>());
  ASSERT_EQ(topic.loans->arrays().size(), arrays);
  Message expected;
  fill(expected);
  for (int round = 0; round < 5; ++round) {
    Message sent, received;
    const NativeLoan::Filled published = topic.publish(&sent, [&] { fill(sent); });
    EXPECT_EQ(published.copied_bytes, round == 0 ? array_bytes : 0);
    EXPECT_EQ(published.in_place, round == 0 ? 0 : arrays);
    EXPECT_EQ(topic.take(&received), array_bytes);
    EXPECT_EQ(topic.copied_bytes, 0U);
    EXPECT_EQ(received, expected);
    const Message copy = received;
    EXPECT_EQ(copy, expected);
  }
  EXPECT_EQ(topic.alive(), 0U);
  EXPECT_EQ(counters().live_buffers, 0U);
}

TEST(NativeLoan, an_image_takes_no_copies) {
  expect_zero_and_zero<sensor_msgs::msg::Image>(1, 6220800, [](auto& image) {
    image.header.frame_id = "a camera with a name that is not short";
    image.header.stamp.sec = 3;
    image.encoding = "rgb8";
    image.data.resize(6220800);
    for (std::size_t i = 0; i < image.data.size(); i += 1000) image.data[i] = static_cast<std::uint8_t>(i / 1000);
  });
}

TEST(NativeLoan, a_point_cloud_takes_no_copies) {
  expect_zero_and_zero<sensor_msgs::msg::PointCloud2>(1, 4000000, [](auto& cloud) {
    cloud.header.frame_id = "lidar";
    cloud.fields.resize(3);
    cloud.fields[2].name = "a field of a name that is not short";
    cloud.data.assign(4000000, 17);
  });
}

TEST(NativeLoan, a_scan_takes_no_copies) {
  expect_zero_and_zero<sensor_msgs::msg::LaserScan>(2, 80000, [](auto& scan) {
    scan.header.frame_id = "laser";
    for (int i = 0; i < 10000; ++i) scan.ranges.push_back(static_cast<float>(i));
    scan.intensities.assign(10000, 0.5F);
  });
}

TEST(NativeLoan, a_map_takes_no_copies) {
  expect_zero_and_zero<nav_msgs::msg::OccupancyGrid>(1, 1000000, [](auto& map) {
    map.header.frame_id = "map";
    map.info.width = 1000;
    map.data.insert(map.data.end(), 1000000, -1);
  });
}

TEST(NativeLoan, C_structs_take_no_copies) {
  Topic topic(C_HANDLE(sensor_msgs, Image)());
  constexpr std::size_t kBytes = 3000000;
  topic.capacities->need(0, kBytes);  // given, not learned
  for (int round = 0; round < 3; ++round) {
    sensor_msgs__msg__Image sent, received;
    ASSERT_TRUE(sensor_msgs__msg__Image__init(&sent) && sensor_msgs__msg__Image__init(&received));
    const NativeLoan::Filled published = topic.publish(&sent, [&] {
      ASSERT_GE(sent.data.capacity, kBytes);
      EXPECT_TRUE(memory::in_window(sent.data.data));
      sent.height = 5;
      sent.data.size = kBytes;
      std::memset(sent.data.data, 6, kBytes);
    });
    EXPECT_EQ(published.in_place, 1U);
    EXPECT_EQ(published.copied_bytes, 0U);
    EXPECT_EQ(topic.take(&received), kBytes);
    EXPECT_EQ(received.height, 5U);
    ASSERT_EQ(received.data.size, kBytes);
    EXPECT_TRUE(memory::in_window(received.data.data));
    EXPECT_EQ(received.data.data[kBytes - 1], 6);
    sensor_msgs__msg__Image__fini(&sent);
    sensor_msgs__msg__Image__fini(&received);
  }
  EXPECT_EQ(topic.alive(), 0U);
  EXPECT_EQ(counters().live_buffers, 0U);
}

TEST(NativeLoan, a_message_is_detached_before_somebody_gets_it_whose_free_is_not_seen) {
  Topic topic(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<sensor_msgs::msg::LaserScan>());
  sensor_msgs::msg::LaserScan sent, received;
  topic.publish(&sent, [&] { sent.ranges.assign(10000, 1); });
  topic.take(&received);
  ASSERT_TRUE(memory::in_window(received.ranges.data()));
  EXPECT_EQ(topic.loans->detach(&received).value(), 40000U);
  EXPECT_FALSE(memory::in_window(received.ranges.data()));
  EXPECT_EQ(received.ranges, std::vector<float>(10000, 1));
  EXPECT_EQ(topic.loans->detach(&received).value(), 0U);
  EXPECT_EQ(topic.alive(), 0U);
}

TEST(NativeLoan, a_native_message_is_made_and_destroyed_by_its_introspection) {
  Topic topic(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<sensor_msgs::msg::Image>());
  topic.capacities->need(0, 5000);
  auto* image = static_cast<sensor_msgs::msg::Image*>(topic.loans->make());
  EXPECT_EQ(*image, sensor_msgs::msg::Image());
  const NativeLoan::Filled filled = topic.publish(image, [&] { image->data.assign(5000, 1); });
  EXPECT_EQ(filled.in_place, 1U);
  EXPECT_TRUE(image->data.empty());
  image->header.frame_id = "a text that is long enough to be freed";
  topic.loans->destroy(image);
  Topic c(C_HANDLE(nav_msgs, OccupancyGrid)());
  c.loans->destroy(c.loans->make());
}

TEST(NativeLoan, arrays_deep_inside_a_message_are_detached_too) {
  Topic topic(
      rosidl_typesupport_introspection_cpp::get_message_type_support_handle<sensor_msgs::msg::MultiDOFJointState>());
  EXPECT_EQ(topic.loans->arrays().size(), 0U) << "nothing to lend in it, and nothing to detach";
  sensor_msgs::msg::MultiDOFJointState none;
  EXPECT_EQ(topic.loans->detach(&none).value(), 0U);

  Topic echoes(
      rosidl_typesupport_introspection_cpp::get_message_type_support_handle<sensor_msgs::msg::MultiEchoLaserScan>());
  Topic bytes(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<sensor_msgs::msg::Image>());
  sensor_msgs::msg::Image sent, received;
  bytes.publish(&sent, [&] { sent.data.assign(40000, 0); });
  bytes.take(&received);
  sensor_msgs::msg::MultiEchoLaserScan scan;
  scan.ranges.resize(2);
  void* const buffer = forget(received.data);
  adopt(scan.ranges[1].echoes, buffer, 10000, 10000);
  EXPECT_EQ(echoes.loans->detach(&scan).value(), 40000U);
  EXPECT_FALSE(memory::in_window(scan.ranges[1].echoes.data()));
  EXPECT_EQ(scan.ranges[1].echoes, std::vector<float>(10000, 0));
  EXPECT_EQ(bytes.alive(), 0U);
}

TEST(NativeTake, arrays_deep_inside_a_message_are_not_copied_either) {
  using Message = sensor_msgs::msg::MultiEchoLaserScan;
  Topic topic(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<Message>());
  Message sent, received;
  sent.ranges.resize(10);
  for (std::size_t i = 0; i < 10; ++i) sent.ranges[i].echoes.assign(5000, static_cast<float>(i));
  sent.intensities.resize(3);  // nothing in them
  topic.publish(&sent, [] {});
  EXPECT_EQ(topic.take(&received), 200000U);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(counters().live_buffers, 10U);
  received.ranges.erase(received.ranges.begin() + 2, received.ranges.begin() + 5);  // moves and destroys vectors
  received.ranges.emplace_back();
  EXPECT_EQ(counters().live_buffers, 7U);
  EXPECT_EQ(received.ranges[6].echoes, std::vector<float>(5000, 9));
  received = Message();
  EXPECT_EQ(topic.alive(), 0U);
}

TEST(NativeTake, every_kind_of_sequence_is_the_same_aliased_and_copied) {
  using Message = test_msgs::msg::UnboundedSequences;
  Topic topic(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<Message>());
  Message sent = *get_messages_unbounded_sequences().front();
  const auto enlarge = [](auto& values) {
    values.resize(4000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::decay_t<decltype(values[i])>>(i % 100);
  };
  enlarge(sent.byte_values), enlarge(sent.char_values), enlarge(sent.float32_values), enlarge(sent.float64_values);
  enlarge(sent.int8_values), enlarge(sent.uint8_values), enlarge(sent.int16_values), enlarge(sent.uint16_values);
  enlarge(sent.int32_values), enlarge(sent.uint32_values), enlarge(sent.int64_values), enlarge(sent.uint64_values);
  sent.bool_values.assign(4000, true);
  topic.publish(&sent, [] {});
  Message received;
  const NativeTaken taken =
      take_into_native(topic.loans->plan(), take_sample(*topic.reader), &received, topic.quota, 1).or_throw();
  EXPECT_GE(taken.aliased_bytes, 4000U * (4 * 1 + 2 * 2 + 3 * 4 + 3 * 8));
  EXPECT_EQ(taken.copied_bytes, 0U);
  EXPECT_EQ(received, sent);
  Message changed = received;
  changed.int32_values[17] = received.int32_values[17] = -5;
  EXPECT_EQ(received, changed);
  EXPECT_EQ(topic.loans->detach(&received).value(), taken.aliased_bytes);
  EXPECT_EQ(received, changed);
  EXPECT_EQ(topic.alive(), 0U);
}

TEST(NativeTake, a_program_that_keeps_more_messages_than_may_be_held_gets_copies) {
  Topic topic(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<sensor_msgs::msg::Image>());
  sensor_msgs::msg::Image sent;
  std::vector<sensor_msgs::msg::Image> kept(30);
  for (std::uint8_t i = 0; i < 30; ++i) {
    topic.publish(&sent, [&] { sent.data.assign(50000, i); });
    EXPECT_EQ(topic.take(&kept[i]), i < 4 ? 50000U : 0U);
    EXPECT_EQ(topic.copied_bytes, i < 4 ? 0U : 50000U);
  }
  for (std::uint8_t i = 0; i < 30; ++i) EXPECT_EQ(kept[i].data, std::vector<std::uint8_t>(50000, i));
  EXPECT_EQ(topic.quota.now(), 4U);
  kept.erase(kept.begin());
  EXPECT_EQ(topic.quota.now(), 3U);
  topic.publish(&sent, [&] { sent.data.assign(50000, 77); });
  EXPECT_EQ(topic.take(&kept.back()), 50000U);
  kept.clear();
  EXPECT_EQ(topic.quota.now(), 0U);
  EXPECT_EQ(topic.alive(), 0U);
}

TEST(NativeTake, a_message_that_is_taken_into_again_lets_go_of_what_it_held) {
  Topic topic(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<sensor_msgs::msg::Image>());
  sensor_msgs::msg::Image sent, received;
  for (std::uint8_t i = 1; i <= 20; ++i) {
    topic.publish(&sent, [&] { sent.data.assign(i % 3 == 0 ? 100 : 100000, i); });
    topic.take(&received);
    EXPECT_EQ(received.data, std::vector<std::uint8_t>(i % 3 == 0 ? 100 : 100000, i));
    EXPECT_EQ(counters().live_buffers, i % 3 == 0 ? 0U : 1U);
  }
  received = sensor_msgs::msg::Image();
  EXPECT_EQ(topic.alive(), 0U);
}

TEST(NativeLoan, what_the_allocator_of_ROS_frees_is_seen) {
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  EXPECT_TRUE(reaches(allocator.deallocate, allocator.state));
}

TEST(NativeLoan, a_loan_that_is_never_published_or_outgrown_or_robbed_leaves_nothing_behind) {
  Topic topic(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<sensor_msgs::msg::LaserScan>());
  topic.capacities->need(0, 40000);
  topic.capacities->need(1, 40000);
  {
    sensor_msgs::msg::LaserScan unpublished;
    NativeLoan loan = NativeLoan::begin(topic.writer, *topic.loans, *topic.capacities, &unpublished).or_throw();
    unpublished.ranges.assign(10, 1);
  }
  EXPECT_EQ(topic.alive(), 0U);
  {
    sensor_msgs::msg::LaserScan unpublished;
    NativeLoan loan = NativeLoan::begin(topic.writer, *topic.loans, *topic.capacities, &unpublished).or_throw();
    unpublished.ranges.assign(10, 1);
    EXPECT_EQ(loan.fill().value().in_place, 2U);
    EXPECT_EQ(unpublished.ranges, std::vector<float>(10, 1)) << "another path may need it, too";
  }
  EXPECT_EQ(topic.alive(), 0U);

  sensor_msgs::msg::LaserScan sent, received;
  NativeLoan::Filled published = topic.publish(&sent, [&] {
    sent.ranges.assign(20000, 1);  // beyond its capacity
    sent.intensities.assign(10000, 2);
  });
  EXPECT_EQ(published.in_place, 1U);
  EXPECT_EQ(published.copied_bytes, 80000U);
  topic.take(&received);
  EXPECT_EQ(received.ranges, std::vector<float>(20000, 1));
  EXPECT_EQ(received.intensities, std::vector<float>(10000, 2));

  std::vector<float> robbed;
  published = topic.publish(&sent, [&] {
    sent.ranges.assign(100, 3);
    sent.intensities.assign(10000, 4);
    robbed.swap(sent.ranges);
  });
  EXPECT_EQ(published.in_place, 0U) << "the chunk has a buffer in the program's hands";
  robbed.assign(10000, 9);
  topic.take(&received);
  EXPECT_TRUE(received.ranges.empty());
  EXPECT_EQ(received.intensities, std::vector<float>(10000, 4));

  published = topic.publish(&sent, [&] {
    sent.ranges.assign(100, 5);
    sent.intensities.assign(20000, 6);
    sent.ranges.swap(sent.intensities);
  });
  topic.take(&received);
  EXPECT_EQ(received.ranges, std::vector<float>(20000, 6));
  EXPECT_EQ(received.intensities, std::vector<float>(100, 5));

  // What was received is published: its buffer is no loan's.
  published = topic.publish(&sent, [&] { sent.ranges = std::move(received.ranges); });
  EXPECT_EQ(published.copied_bytes, 80000U);
  topic.take(&received);
  EXPECT_EQ(received.ranges, std::vector<float>(20000, 6));
  std::vector<float>().swap(robbed);
  received = sensor_msgs::msg::LaserScan();
  EXPECT_EQ(topic.alive(), 0U);
  EXPECT_EQ(counters().live_messages, 0U);
}

}  // namespace
}  // namespace baton::containers
