// SPDX-License-Identifier: Apache-2.0
#include "baton/message/partial.hpp"

#include <gtest/gtest.h>

#include "baton/message/ros1_codec.hpp"
#include "testing/build.hpp"

namespace baton::message {
namespace {

using testing::bytes_of;
using testing::define;
using testing::from_hex;
using testing::to_hex;

// The ROS 1 PointCloud of TZC Fig. 5, with a short header.
constexpr const char* kPointCloud =
    "message sensor_msgs/PointCloud\nstd_msgs/Header header\ngeometry_msgs/Point32[] "
    "points\nsensor_msgs/ChannelFloat32[] channels\n"
    "message builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    "message geometry_msgs/Point32\nfloat32 x\nfloat32 y\nfloat32 z\n"
    "message sensor_msgs/ChannelFloat32\nstring name\nfloat32[] values\n"
    "message std_msgs/Header\nuint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n";

constexpr const char* kPointCloudWire =
    "01 00 00 00 02 00 00 00 03 00 00 00 01 00 00 00 6d"                                     // header
    "02 00 00 00  11 11 11 11 12 12 12 12 13 13 13 13  21 21 21 21 22 22 22 22 23 23 23 23"  // points
    "02 00 00 00  01 00 00 00 69 01 00 00 00 31 31 31 31"                                    // channels[0]
    "02 00 00 00 75 76 03 00 00 00 41 41 41 41 42 42 42 42 43 43 43 43";                     // channels[1]

std::string list(const std::vector<PartialElement>& elements) {
  std::string out;
  for (const auto& element : elements) out += (out.empty() ? "" : " ") + element.path;
  return out;
}

FlatBuffer point_cloud(const Definition& type) {
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  Ros1Codec::compile(type.type()).or_throw().decode(bytes_of(from_hex(kPointCloudWire)), builder).or_throw();
  return buffer;
}

std::vector<std::byte> control_of(const PartialSerializer& partial, Bytes message) {
  std::vector<std::byte> out(partial.control_size(message).or_throw());
  EXPECT_EQ(partial.serialize_control(message, {out.data(), out.size()}).or_throw(), out.size());
  return out;
}

TEST(Partial, SplitsThePointCloudOfTzcFigure5) {
  const Definition type = define(kPointCloud);
  const PartialSplit parts = split(type.type());
  EXPECT_EQ(list(parts.control),
            "header.seq header.stamp.sec header.stamp.nanosec header.frame_id channels channels[].name");
  EXPECT_EQ(list(parts.data), "points channels[].values");
}

TEST(Partial, DecidesWhatFigure4LeavesOpen) {
  const Definition type = define(
      "message t/A\n"
      "t/V[2] fixed_array_of_variable\nfloat32[4] fixed_array\nuint8[<=9] bounded\nstring<=4[<=9] "
      "bounded_strings\nstring[] strings\n"
      "wstring[] wide_strings\nwstring wide\nbool[] bools\nt/F[] fixed_messages\nt/V[] variable_messages\nt/E[] "
      "empties\n"
      "message t/E\nmessage t/F\nuint8 a\nfloat64 b\nmessage t/V\nuint8[] bytes\nt/F[] more\n");
  const PartialSplit parts = split(type.type());
  EXPECT_EQ(list(parts.control),
            "fixed_array_of_variable fixed_array bounded_strings strings wide_strings wide variable_messages");
  EXPECT_EQ(list(parts.data),
            "bounded bools fixed_messages variable_messages[].bytes variable_messages[].more empties");
}

TEST(Partial, SerializesControlElementsThenTheLengthsOfTheDataElements) {
  const Definition type = define(kPointCloud);
  const PartialSerializer partial = PartialSerializer::compile(type.type()).or_throw();
  const FlatBuffer message = point_cloud(type);
  EXPECT_EQ(to_hex(control_of(partial, message.bytes())),
            "01 00 00 00 02 00 00 00 03 00 00 00 01 00 00 00 6d "  // header
            "02 00 00 00 01 00 00 00 69 02 00 00 00 75 76 "        // channels: their number and names
            "02 00 00 00 01 00 00 00 03 00 00 00");  // lengths: points, channels[0].values, channels[1].values
}

TEST(Partial, OrganisesTheDataPartFromTheLengthsAlone) {
  const Definition type = define(kPointCloud);
  const PartialSerializer partial = PartialSerializer::compile(type.type()).or_throw();
  const FlatBuffer message = point_cloud(type);
  const auto control = control_of(partial, message.bytes());
  FlatBuffer restored;
  FlatBuilder builder(restored);
  const DataPart part = organise_data(partial.restore_control(bytes_of(control), builder).or_throw());
  ASSERT_EQ(part.data_slots.size(), 3U);
  EXPECT_EQ(part.bytes, 24U + 4U + 12U);
  EXPECT_EQ(part.data_slots[0].place, 0U);
  EXPECT_EQ(part.data_slots[1].place, 24U);
  EXPECT_EQ(part.data_slots[2].place, 28U);
  EXPECT_EQ(partial.elements().data[part.data_slots[2].element].path, "channels[].values");
}

TEST(Partial, FindsTheDataElementsWhereTheyLieInTheChunk) {
  const Definition type = define(kPointCloud);
  const PartialSerializer partial = PartialSerializer::compile(type.type()).or_throw();
  const FlatBuffer message = point_cloud(type);
  const auto slots = partial.data_in_message(message.bytes()).or_throw();
  ASSERT_EQ(slots.size(), 3U);
  EXPECT_EQ(to_hex(message.data() + slots[0].place, 4), "11 11 11 11");
  EXPECT_EQ(to_hex(message.data() + slots[2].place, 12), "41 41 41 41 42 42 42 42 43 43 43 43");
}

TEST(Partial, RestoresTheMessageFromItsTwoParts) {
  const Definition type = define(kPointCloud);
  const PartialSerializer partial = PartialSerializer::compile(type.type()).or_throw();
  const FlatBuffer message = point_cloud(type);
  const auto control = control_of(partial, message.bytes());
  const auto slots = partial.data_in_message(message.bytes()).or_throw();
  const DataPart layout = organise_data(slots);
  std::vector<std::byte> data(layout.bytes);
  copy_data(message.bytes(), slots, layout, {data.data(), data.size()});

  FlatBuffer restored;
  FlatBuilder builder(restored);
  ASSERT_TRUE(partial.restore(bytes_of(control), bytes_of(data), builder).ok());
  const Ros1Codec codec = Ros1Codec::compile(type.type()).or_throw();
  std::vector<std::byte> wire(codec.encoded_size(restored.bytes()).or_throw());
  codec.encode(restored.bytes(), {wire.data(), wire.size()}).or_throw();
  EXPECT_EQ(to_hex(wire), to_hex(from_hex(kPointCloudWire)));
}

TEST(Partial, PutsAFixedArrayOfAVariableTypeIntoTheControlPartAsAWhole) {
  const Definition type = define("message t/A\nt/V[2] a\nmessage t/V\nuint8[] bytes\n");
  const PartialSerializer partial = PartialSerializer::compile(type.type()).or_throw();
  FlatBuffer message;
  FlatBuilder builder(message);
  const char* wire = "01 00 00 00 aa 02 00 00 00 bb cc";
  Ros1Codec::compile(type.type()).or_throw().decode(bytes_of(from_hex(wire)), builder).or_throw();
  EXPECT_EQ(to_hex(control_of(partial, message.bytes())), to_hex(from_hex(wire)));
}

TEST(Partial, AlignsBigDataElementsTo64) {
  const Definition type = define("message t/A\nuint8[] a\nuint8[] b\nfloat64[] c\n");
  const PartialSerializer partial = PartialSerializer::compile(type.type()).or_throw();
  FlatBuffer restored;
  FlatBuilder builder(restored);
  const DataPart part = organise_data(
      partial.restore_control(bytes_of(from_hex("03 00 00 00 00 10 00 00 01 00 00 00")), builder).or_throw());
  EXPECT_EQ(part.data_slots[1].place, 64U);
  EXPECT_EQ(part.data_slots[2].place, 64U + 4096U);
}

TEST(Partial, RefusesPartsThatDoNotFitEachOther) {
  const Definition type = define("message t/A\nstring s\nuint16[<=3] a\n");
  const PartialSerializer partial = PartialSerializer::compile(type.type()).or_throw();
  const auto error = [&](const char* control, const char* data) {
    FlatBuffer restored;
    FlatBuilder builder(restored);
    const auto result = partial.restore(bytes_of(from_hex(control)), bytes_of(from_hex(data)), builder);
    return result.ok() ? "no error" : result.error().message;
  };
  EXPECT_EQ(error("00 00 00 00 02 00 00 00", "01 02 03 04"), "no error");
  EXPECT_EQ(error("00 00 00 00 02 00 00 00", "01 02 03"), "data part of t/A: the lengths need 4 bytes, 3 are there");
  EXPECT_EQ(error("00 00 00 00 04 00 00 00", ""), "control part of t/A: field 'a': length 4 is above the bound 3");
  EXPECT_EQ(error("00 00 00 00 02 00 00", ""), "control part of t/A: expected 1 lengths at its end, found 3 bytes");
  EXPECT_EQ(error("05 00 00 00 02 00 00 00", ""), "cannot decode t/A: field 's': a string needs 5 bytes, 4 are left");
}

TEST(Partial, RefusesTypesWhoseNestingMultipliesBeyondReason) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "t/M" + std::to_string(i + 1);
    text += "message t/M" + std::to_string(i) + "\n" + next + "[] a\n" + next + "[] b\n";
  }
  text += "message t/M40\nstring s\n";
  const Definition type = define(text);  // 40 small types, 2^40 paths
  const auto partial = PartialSerializer::compile(type.type());
  ASSERT_FALSE(partial.ok());
  EXPECT_EQ(partial.error().code, Errc::limit_reached);
  EXPECT_TRUE(Ros1Codec::compile(type.type()).ok()) << "codecs share the plans of equal types";
}

}  // namespace
}  // namespace baton::message
