// SPDX-License-Identifier: Apache-2.0
// Every message type of test_msgs, and an image, through SFM and back, from C++ and from C structs.
#include "baton/rosidl/native_plan.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "baton/message/validate.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "baton/msg/sensor_msgs/joint_state.hpp"
#include "baton/msg/sensor_msgs/point_cloud2.hpp"
#include "rosidl_typesupport_introspection_c/message_introspection.h"
#include "rosidl_typesupport_introspection_cpp/message_type_support_decl.hpp"
#include "sensor_msgs/msg/image.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "sensor_msgs/msg/point_cloud2.hpp"
#include "test_msgs/message_fixtures.hpp"

#define C_HANDLE(package, name) \
  rosidl_typesupport_introspection_c__get_message_type_support_handle__##package##__msg__##name
#define DECLARE_C(package, name) extern "C" const rosidl_message_type_support_t* C_HANDLE(package, name)();
DECLARE_C(test_msgs, Arrays)
DECLARE_C(test_msgs, BasicTypes)
DECLARE_C(test_msgs, BoundedPlainSequences)
DECLARE_C(test_msgs, BoundedSequences)
DECLARE_C(test_msgs, Builtins)
DECLARE_C(test_msgs, Constants)
DECLARE_C(test_msgs, Defaults)
DECLARE_C(test_msgs, Empty)
DECLARE_C(test_msgs, MultiNested)
DECLARE_C(test_msgs, Nested)
DECLARE_C(test_msgs, Strings)
DECLARE_C(test_msgs, UnboundedSequences)
DECLARE_C(test_msgs, WStrings)
DECLARE_C(sensor_msgs, Image)

namespace baton::rosidl {
namespace {

using Plan = std::shared_ptr<const NativePlan>;

template <class Message>
Plan cpp_plan() {
  return NativePlan::compile(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<Message>())
      .or_throw();
}

message::FlatBuffer written(const Plan& plan, const void* native) {
  message::FlatBuffer buffer;
  message::FlatBuilder builder(buffer);
  plan->write(native, builder).or_throw();
  return buffer;
}

Result<void> read(const Plan& plan, const message::FlatBuffer& buffer, void* native) {
  ArrayCopier copier;
  return plan->read(buffer.bytes(), native, copier);
}

/// A C struct of the type, initialised.
struct CStruct {
  explicit CStruct(const rosidl_message_type_support_t* handle)
      : members(static_cast<const rosidl_typesupport_introspection_c__MessageMembers*>(handle->data)),
        bytes(members->size_of_ / 8 + 1) {
    members->init_function(bytes.data(), ROSIDL_RUNTIME_C_MSG_INIT_ALL);
  }
  ~CStruct() { members->fini_function(bytes.data()); }
  CStruct(const CStruct&) = delete;
  CStruct& operator=(const CStruct&) = delete;
  const rosidl_typesupport_introspection_c__MessageMembers* members;
  std::vector<std::uint64_t> bytes;
};

template <class Message>
void expect_same_after_every_way(const Message& sent, const rosidl_message_type_support_t* c_handle) {
  const Plan plan = cpp_plan<Message>();
  const message::FlatBuffer first = written(plan, &sent);
  EXPECT_GE(plan->room_for(&sent), first.size());
  EXPECT_LE(plan->room_for(&sent), 2 * first.size() + 64);
  const Result<void> valid = message::validate(plan->type(), first.data(), static_cast<std::uint32_t>(first.size()));
  ASSERT_TRUE(valid.ok()) << valid.error().message;
  Message back;
  read(plan, first, &back).or_throw();
  EXPECT_EQ(back, sent) << plan->type().name;
  read(plan, first, &back).or_throw();  // into a message that holds something
  EXPECT_EQ(back, sent) << plan->type().name;

  const Plan c_plan = NativePlan::compile(c_handle).or_throw();
  EXPECT_EQ(c_plan->definition(), plan->definition());
  CStruct c(c_handle);
  read(c_plan, first, c.bytes.data()).or_throw();
  const message::FlatBuffer second = written(c_plan, c.bytes.data());
  ASSERT_EQ(second.size(), first.size());
  EXPECT_EQ(std::memcmp(second.data(), first.data(), first.size()), 0) << plan->type().name;

  // A message cut short is an error or, where the cut took nothing that matters, the same; never a read outside.
  for (std::size_t size = 0; size < first.size(); ++size) {
    message::FlatBuffer cut;
    ASSERT_TRUE(cut.reserve(size));
    cut.set_size(size);
    if (size != 0) std::memcpy(cut.data(), first.data(), size);
    const Result<void> outcome = read(plan, cut, &back);
    if (size < plan->type().size) {
      EXPECT_EQ(outcome.error().code, Errc::malformed_message);
    }
  }
}

TEST(NativePlan, every_message_of_test_msgs_is_the_same_after_every_way) {
#define BOTH_WAYS(get, name) \
  for (const auto& each : get()) expect_same_after_every_way(*each, C_HANDLE(test_msgs, name)())
  BOTH_WAYS(get_messages_arrays, Arrays);
  BOTH_WAYS(get_messages_basic_types, BasicTypes);
  BOTH_WAYS(get_messages_bounded_plain_sequences, BoundedPlainSequences);
  BOTH_WAYS(get_messages_bounded_sequences, BoundedSequences);
  BOTH_WAYS(get_messages_builtins, Builtins);
  BOTH_WAYS(get_messages_constants, Constants);
  BOTH_WAYS(get_messages_defaults, Defaults);
  BOTH_WAYS(get_messages_empty, Empty);
  BOTH_WAYS(get_messages_multi_nested, MultiNested);
  BOTH_WAYS(get_messages_nested, Nested);
  BOTH_WAYS(get_messages_strings, Strings);
  BOTH_WAYS(get_messages_unbounded_sequences, UnboundedSequences);
  BOTH_WAYS(get_messages_wstrings, WStrings);
}

sensor_msgs::msg::Image image() {
  sensor_msgs::msg::Image sent;
  sent.header.frame_id = "camera";
  sent.header.stamp.sec = -7;
  sent.height = 3;
  sent.width = 5;
  sent.encoding = "rgb8";
  sent.data.assign(45, 9);
  return sent;
}

TEST(NativePlan, an_image_is_the_same_after_every_way) {
  expect_same_after_every_way(image(), C_HANDLE(sensor_msgs, Image)());
}

TEST(NativePlan, arrays_of_scalars_are_copied_once_each_and_counted) {
  const sensor_msgs::msg::Image sent = image();
  const Plan plan = cpp_plan<sensor_msgs::msg::Image>();
  const message::FlatBuffer buffer = written(plan, &sent);
  sensor_msgs::msg::Image back;
  back.data.resize(100);
  const std::uint8_t* before = back.data.data();
  ArrayCopier copier;
  plan->read(buffer.bytes(), &back, copier).or_throw();
  EXPECT_EQ(copier.copied_bytes(), 45U);
  EXPECT_EQ(back.data.data(), before);  // had the room
}

TEST(NativePlan, its_definition_is_the_one_that_the_generator_writes_from_the_msg_file) {
  EXPECT_EQ(cpp_plan<sensor_msgs::msg::Image>()->definition(), message::type_of<msg::sensor_msgs::Image>().definition);
  EXPECT_EQ(cpp_plan<sensor_msgs::msg::PointCloud2>()->definition(),
            message::type_of<msg::sensor_msgs::PointCloud2>().definition);
  EXPECT_EQ(cpp_plan<sensor_msgs::msg::JointState>()->definition(),
            message::type_of<msg::sensor_msgs::JointState>().definition);
  EXPECT_EQ(cpp_plan<sensor_msgs::msg::Image>()->type().hash, message::type_of<msg::sensor_msgs::Image>().hash);
}

TEST(NativePlan, the_header_has_an_empty_seq_first_as_in_ROS_1) {
  const sensor_msgs::msg::Image sent = image();
  message::FlatBuffer buffer = written(cpp_plan<sensor_msgs::msg::Image>(), &sent);
  ASSERT_GE(buffer.size(), 2 * sizeof(std::uint32_t));
  const auto* words = reinterpret_cast<const std::uint32_t*>(buffer.data());
  EXPECT_EQ(words[0], 0U);                             // Header's seq, which ROS 2 does not have
  EXPECT_EQ(static_cast<std::int32_t>(words[1]), -7);  // stamp.sec
}

TEST(NativePlan, an_offset_that_leaves_the_message_is_an_error) {
  const sensor_msgs::msg::Image sent = image();
  const Plan plan = cpp_plan<sensor_msgs::msg::Image>();
  const message::Field& data = plan->type().fields[plan->type().field_count - 1];
  for (const std::int32_t offset : {-1000, 1 << 20, INT32_MIN, INT32_MAX}) {
    message::FlatBuffer buffer = written(plan, &sent);
    std::memcpy(buffer.data() + data.offset + 4, &offset, sizeof offset);
    sensor_msgs::msg::Image back;
    EXPECT_EQ(read(plan, buffer, &back).error().code, Errc::malformed_message);
  }
}

TEST(NativePlan, overlapping_contents_cost_no_more_than_the_message_has_bytes) {
  sensor_msgs::msg::JointState sent;
  sent.name.assign(64, std::string(1000, 'x'));
  const Plan plan = cpp_plan<sensor_msgs::msg::JointState>();
  message::FlatBuffer buffer = written(plan, &sent);
  // Every name claims the whole rest of the message.
  const message::Field& name = plan->type().fields[1];
  std::int32_t offset = 0;
  std::memcpy(&offset, buffer.data() + name.offset + 4, sizeof offset);
  const std::size_t first = name.offset + 4 + static_cast<std::size_t>(offset);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t words = first + 8 * i;
    const auto length = static_cast<std::uint32_t>(buffer.size() - first - 64 * 8);
    const auto to = static_cast<std::int32_t>(first + 64 * 8) - static_cast<std::int32_t>(words + 4);
    std::memcpy(buffer.data() + words, &length, sizeof length);
    std::memcpy(buffer.data() + words + 4, &to, sizeof to);
  }
  sensor_msgs::msg::JointState back;
  EXPECT_EQ(read(plan, buffer, &back).error().code, Errc::malformed_message);
}

TEST(NativePlan, types_of_fixed_size_lie_in_a_message_as_in_native_code) {
  EXPECT_TRUE(cpp_plan<test_msgs::msg::BasicTypes>()->same_layout());
  EXPECT_TRUE(cpp_plan<test_msgs::msg::Constants>()->same_layout());  // no fields
  EXPECT_TRUE(cpp_plan<test_msgs::msg::Empty>()->same_layout());
  EXPECT_TRUE(NativePlan::compile(C_HANDLE(test_msgs, BasicTypes)()).or_throw()->same_layout());
  EXPECT_TRUE(NativePlan::compile(C_HANDLE(test_msgs, Empty)()).or_throw()->same_layout());
  EXPECT_FALSE(cpp_plan<test_msgs::msg::Arrays>()->same_layout());  // of strings, too
  EXPECT_FALSE(cpp_plan<test_msgs::msg::BoundedPlainSequences>()->same_layout());
  EXPECT_TRUE(cpp_plan<test_msgs::msg::Builtins>()->same_layout());  // messages in a message
  EXPECT_FALSE(cpp_plan<sensor_msgs::msg::Image>()->same_layout());
  const Plan plan = cpp_plan<test_msgs::msg::BasicTypes>();
  for (const auto& each : get_messages_basic_types()) {
    const message::FlatBuffer buffer = written(plan, each.get());
    ASSERT_TRUE(plan->is_native(buffer.bytes()));
    const auto* lent = reinterpret_cast<const test_msgs::msg::BasicTypes*>(buffer.data());
    EXPECT_EQ(*lent, *each);
  }
}

TEST(NativePlan, a_message_that_is_short_or_has_bools_that_are_none_is_not_native) {
  const Plan plan = cpp_plan<test_msgs::msg::BasicTypes>();
  const test_msgs::msg::BasicTypes sent;
  message::FlatBuffer buffer = written(plan, &sent);
  EXPECT_FALSE(plan->is_native({buffer.data(), buffer.size() - 1}));
  EXPECT_TRUE(plan->is_native({buffer.data(), buffer.size() + 1}));
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const std::byte before = std::exchange(buffer.data()[i], std::byte{2});
    EXPECT_EQ(plan->is_native(buffer.bytes()), i != offsetof(test_msgs::msg::BasicTypes, bool_value)) << i;
    buffer.data()[i] = before;
  }
}

}  // namespace
}  // namespace baton::rosidl
