// SPDX-License-Identifier: Apache-2.0
// The copies of the data part, counted for every type of test_msgs and for those that are large on robots: one in and one out by
// copying, one in and none out with libbaton_heap.so, none with loans. What is excepted is computed here from the introspection
// alone: bool arrays and strings are no data part; messages of at most half a page are copied out; arrays inside arrays of messages
// are copied in.
#include <gtest/gtest.h>

#include <cstring>

#include "baton/memory/chunk_header.hpp"
#include "nav_msgs/msg/occupancy_grid.hpp"
#include "rosidl_typesupport_introspection_cpp/field_types.hpp"
#include "rosidl_typesupport_introspection_cpp/message_introspection.hpp"
#include "rosidl_typesupport_introspection_cpp/message_type_support_decl.hpp"
#include "sensor_msgs/msg/image.hpp"
#include "sensor_msgs/msg/laser_scan.hpp"
#include "sensor_msgs/msg/multi_echo_laser_scan.hpp"
#include "sensor_msgs/msg/point_cloud2.hpp"
#include "test_msgs/message_fixtures.hpp"
#include "testing/native_topic.hpp"

namespace baton::containers {
namespace {

using namespace test;
namespace introspection = rosidl_typesupport_introspection_cpp;
using introspection::MessageMember;
using introspection::MessageMembers;

constexpr std::size_t kElements = 3000, kMessages = 3, kHalfPage = 2048;

/// Of an array of the data part; 0: not one.
std::size_t element_bytes(const MessageMember& member) {
  if (!member.is_array_ || (member.array_size_ != 0 && !member.is_upper_bound_)) return 0;
  switch (member.type_id_) {
    case introspection::ROS_TYPE_OCTET:
    case introspection::ROS_TYPE_CHAR:
    case introspection::ROS_TYPE_UINT8:
    case introspection::ROS_TYPE_INT8:
      return 1;
    case introspection::ROS_TYPE_UINT16:
    case introspection::ROS_TYPE_INT16:
      return 2;
    case introspection::ROS_TYPE_FLOAT:
    case introspection::ROS_TYPE_UINT32:
    case introspection::ROS_TYPE_INT32:
      return 4;
    case introspection::ROS_TYPE_DOUBLE:
    case introspection::ROS_TYPE_UINT64:
    case introspection::ROS_TYPE_INT64:
      return 8;
    default:
      return 0;
  }
}

struct DataPart {
  std::size_t bytes = 0;       ///< of all arrays
  std::size_t deep_bytes = 0;  ///< of those inside arrays of messages
};

/// Makes all sequences of a message long, and says what its data part is.
void enlarge(const MessageMembers& members, std::byte* native, bool deep, DataPart& part) {
  for (std::uint32_t i = 0; i < members.member_count_; ++i) {
    const MessageMember& member = members.members_[i];
    std::byte* const field = native + member.offset_;
    const bool sequence = member.is_array_ && (member.array_size_ == 0 || member.is_upper_bound_);
    const std::size_t bound = member.is_upper_bound_ ? member.array_size_ : SIZE_MAX;
    if (const std::size_t bytes = element_bytes(member); bytes != 0) {
      const std::size_t count = std::min(bound, kElements);
      member.resize_function(field, count);
      if (count != 0) std::memset(member.get_function(field, 0), 0x3f, count * bytes);  // a number, also as a float
      part.bytes += count * bytes;
      part.deep_bytes += deep ? count * bytes : 0;
    } else if (member.type_id_ == introspection::ROS_TYPE_MESSAGE) {
      const auto& nested = *static_cast<const MessageMembers*>(member.members_->data);
      if (sequence) member.resize_function(field, std::min(bound, kMessages));
      const std::size_t count = member.is_array_ ? member.size_function(field) : 1;
      for (std::size_t k = 0; k < count; ++k) {
        std::byte* const element = member.is_array_ ? static_cast<std::byte*>(member.get_function(field, k)) : field;
        enlarge(nested, element, deep || member.is_array_, part);
      }
    }
  }
}

template <class Message>
class Copies : public testing::Test {};

using test_msgs::msg::Empty;
using Types =
    testing::Types<sensor_msgs::msg::Image, sensor_msgs::msg::PointCloud2, sensor_msgs::msg::LaserScan,
                   nav_msgs::msg::OccupancyGrid, sensor_msgs::msg::MultiEchoLaserScan, test_msgs::msg::Arrays,
                   test_msgs::msg::BasicTypes, test_msgs::msg::BoundedPlainSequences, test_msgs::msg::BoundedSequences,
                   test_msgs::msg::Builtins, test_msgs::msg::Constants, test_msgs::msg::Defaults, Empty,
                   test_msgs::msg::MultiNested, test_msgs::msg::Nested, test_msgs::msg::Strings,
#if __has_include("test_msgs/msg/keyed_long.hpp")  // not in Jazzy
                   test_msgs::msg::ComplexNestedKey, test_msgs::msg::KeyedLong, test_msgs::msg::KeyedString,
                   test_msgs::msg::NonKeyedWithNestedKey,
#endif
                   test_msgs::msg::UnboundedSequences, test_msgs::msg::WStrings>;
TYPED_TEST_SUITE(Copies, Types);

TYPED_TEST(Copies, of_the_data_part_are_as_many_as_is_promised) {
  const rosidl_message_type_support_t* handle = introspection::get_message_type_support_handle<TypeParam>();
  Topic topic(handle);
  const auto fill = [&](TypeParam& message) {
    DataPart part;
    enlarge(*static_cast<const MessageMembers*>(handle->data), reinterpret_cast<std::byte*>(&message), false, part);
    return part;
  };

  // Unmodified: a message of the program's own, one copy in; one copy out.
  TypeParam sent;
  const DataPart part = fill(sent);
  const NativeLoan::Filled in = topic.publish(&sent, [] {});
  EXPECT_EQ(in.in_place, 0U);
  EXPECT_EQ(in.copied_bytes, part.bytes - part.deep_bytes);  // of those that could have been lent
  TypeParam received;
  TakenSample sample = take_sample(*topic.reader);
  EXPECT_GE(sample.size_bytes(), part.bytes);
  NativeTaken taken =
      take_into_native(topic.loans->plan(), std::move(sample), &received, topic.quota, SIZE_MAX).or_throw();
  EXPECT_EQ(taken.copied_bytes, part.bytes);
  EXPECT_EQ(taken.aliased_bytes, 0U);
  EXPECT_EQ(received, sent);

  // With the library: none out. With loans, whose capacity the first message taught: none in.
  for (int round = 0; round < 3; ++round) {
    TypeParam lent;
    const NativeLoan::Filled filled = topic.publish(&lent, [&] { fill(lent); });
    EXPECT_EQ(filled.copied_bytes, 0U);
    EXPECT_EQ(filled.in_place != 0, part.bytes != part.deep_bytes);
    sample = take_sample(*topic.reader);
    const bool shares_its_page = sizeof(memory::ChunkHeader) + sample.size_bytes() <= kHalfPage;
    TypeParam got;
    taken = take_into_native(topic.loans->plan(), std::move(sample), &got, topic.quota, 1).or_throw();
    EXPECT_EQ(taken.aliased_bytes, shares_its_page ? 0 : part.bytes);
    EXPECT_EQ(taken.copied_bytes, shares_its_page ? part.bytes : 0);
    EXPECT_EQ(got, sent);
  }
  EXPECT_EQ(topic.alive(), 0U);
  EXPECT_EQ(counters().live_messages, 0U);
}

}  // namespace
}  // namespace baton::containers
