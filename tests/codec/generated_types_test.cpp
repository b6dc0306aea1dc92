// SPDX-License-Identifier: Apache-2.0
// Generated descriptors against the definition that each carries: the generator's layout, the compiler's (static_asserts in
// the headers) and Definition::parse's are one, and codecs give the same bytes from either.
#include <gtest/gtest.h>

#include <baton/msg/diagnostic_msgs/diagnostic_array.hpp>
#include <baton/msg/geometry_msgs/pose_with_covariance_stamped.hpp>
#include <baton/msg/golden_msgs/all_kinds.hpp>
#include <baton/msg/golden_msgs/bounded.hpp>
#include <baton/msg/golden_msgs/constants.hpp>
#include <baton/msg/golden_msgs/defaults.hpp>
#include <baton/msg/golden_msgs/empty.hpp>
#include <baton/msg/golden_msgs/fixed_arrays.hpp>
#include <baton/msg/golden_msgs/holds_empty.hpp>
#include <baton/msg/golden_msgs/keywords.hpp>
#include <baton/msg/golden_msgs/nested.hpp>
#include <baton/msg/golden_msgs/ros1_style.hpp>
#include <baton/msg/golden_msgs/sequences.hpp>
#include <baton/msg/sensor_msgs/camera_info.hpp>
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/msg/sensor_msgs/imu.hpp>
#include <baton/msg/sensor_msgs/joint_state.hpp>
#include <baton/msg/sensor_msgs/laser_scan.hpp>
#include <baton/msg/sensor_msgs/point_cloud.hpp>
#include <baton/msg/sensor_msgs/point_cloud2.hpp>
#include <baton/msg/stereo_msgs/disparity_image.hpp>
#include <baton/msg/tf2_msgs/tf_message.hpp>
#include <string>

#include "baton/message/builder.hpp"
#include "baton/message/cdr_codec.hpp"
#include "baton/message/definition.hpp"
#include "baton/message/partial.hpp"
#include "baton/message/print.hpp"

namespace baton::message {
namespace {

void expect_same(const Type& generated, const Type& parsed, const std::string& path) {
  SCOPED_TRACE(path + " of type " + generated.name);
  EXPECT_STREQ(generated.name, parsed.name);
  EXPECT_EQ(generated.size, parsed.size);
  EXPECT_EQ(generated.alignment, parsed.alignment);
  EXPECT_EQ(generated.fixed, parsed.fixed);
  ASSERT_EQ(generated.field_count, parsed.field_count);
  for (std::uint32_t i = 0; i < generated.field_count; ++i) {
    const Field& a = generated.fields[i];
    const Field& b = parsed.fields[i];
    EXPECT_STREQ(a.name, b.name);
    EXPECT_EQ(a.kind, b.kind) << a.name;
    EXPECT_EQ(a.shape, b.shape) << a.name;
    EXPECT_EQ(a.count, b.count) << a.name;
    EXPECT_EQ(a.string_bound, b.string_bound) << a.name;
    EXPECT_EQ(a.offset, b.offset) << a.name;
    ASSERT_EQ(a.type == nullptr, b.type == nullptr) << a.name;
    if (a.type != nullptr) expect_same(*a.type, *b.type, path + "." + a.name);
  }
}

template <class T>
class GeneratedTypes : public ::testing::Test {};

using Types =
    ::testing::Types<msg::golden_msgs::AllKinds, msg::golden_msgs::Bounded, msg::golden_msgs::Constants,
                     msg::golden_msgs::Defaults, msg::golden_msgs::Empty, msg::golden_msgs::FixedArrays,
                     msg::golden_msgs::HoldsEmpty, msg::golden_msgs::Keywords, msg::golden_msgs::Nested,
                     msg::golden_msgs::Ros1Style, msg::golden_msgs::Sequences, msg::diagnostic_msgs::DiagnosticArray,
                     msg::geometry_msgs::PoseWithCovarianceStamped, msg::sensor_msgs::CameraInfo,
                     msg::sensor_msgs::Image, msg::sensor_msgs::Imu, msg::sensor_msgs::JointState,
                     msg::sensor_msgs::LaserScan, msg::sensor_msgs::PointCloud, msg::sensor_msgs::PointCloud2,
                     msg::stereo_msgs::DisparityImage, msg::tf2_msgs::TFMessage>;
TYPED_TEST_SUITE(GeneratedTypes, Types);

TYPED_TEST(GeneratedTypes, AreLaidOutAsTheirDefinitionSays) {
  const Type& generated = type_of<TypeParam>();
  EXPECT_EQ(generated.size, sizeof(TypeParam));
  EXPECT_EQ(generated.alignment, alignof(TypeParam));
  const Definition parsed = std::move(Definition::parse(generated.definition, generated.hash)).or_throw();
  expect_same(generated, parsed.type(), "");
  EXPECT_EQ(parsed.type().hash, generated.hash);
}

TYPED_TEST(GeneratedTypes, HaveAWireAControlPartAndATextEvenWhenEmpty) {
  const Type& type = type_of<TypeParam>();
  FlatBuffer message;
  FlatBuilder builder(message);
  builder.begin(type).or_throw();
  const CdrCodec codec = CdrCodec::compile(type).or_throw();
  std::vector<std::byte> wire(codec.encoded_size(message.bytes()).or_throw());
  EXPECT_EQ(codec.encode(message.bytes(), {wire.data(), wire.size()}).or_throw(), wire.size());
  FlatBuffer again;
  FlatBuilder second(again);
  EXPECT_EQ(codec.decode({wire.data(), wire.size()}, second).or_throw(), wire.size());
  EXPECT_EQ(again.size(), message.size());
  EXPECT_TRUE(PartialSerializer::compile(type).or_throw().control_size(message.bytes()).ok());
  EXPECT_TRUE(print(type, message.bytes()).ok());
}

}  // namespace
}  // namespace baton::message
