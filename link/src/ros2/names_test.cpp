// SPDX-License-Identifier: Apache-2.0
#include "ros2/names.hpp"

#include <gtest/gtest.h>

#include "baton/message/definition.hpp"
#include "baton/os/hexadecimal.hpp"

namespace baton::link::ros2 {
namespace {

message::Definition defined(const char* text) { return message::Definition::parse(text).or_throw(); }

TEST(Names, TopicsAndTypesAreNamedAsRos2NamesThemOnDds) {
  EXPECT_EQ(dds_topic("/left/image"), "rt/left/image");
  EXPECT_EQ(topic_of("rt/left/image"), "/left/image");
  EXPECT_EQ(topic_of("rq/addRequest"), std::nullopt);
  EXPECT_EQ(topic_of("ros_discovery_info"), std::nullopt);
  EXPECT_EQ(dds_type("std_msgs/String"), "std_msgs::msg::dds_::String_");
  EXPECT_EQ(type_of("std_msgs::msg::dds_::String_"), "std_msgs/String");
  EXPECT_EQ(type_of("Square"), "Square");
}

TEST(Names, ANodeIsItsNamespaceAndItsName) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(node_name("talker"), Pair("/", "talker"));
  EXPECT_EQ(node_name("/left/camera"), Pair("/left", "camera"));
  EXPECT_EQ(node_name("/camera"), Pair("/", "camera"));
  EXPECT_EQ(node_name("talker@other-host"), Pair("/", "talker_other_host"));
}

TEST(Names, UserDataIsReadWhateverItIs) {
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(parse_user_data("typehash=RIHS01_00;baton=;"), (Map{{"typehash", "RIHS01_00"}, {"baton", ""}}));
  EXPECT_EQ(parse_user_data("a=b"), (Map{{"a", "b"}}));
  EXPECT_EQ(parse_user_data(";;a;=;b=c=d;"), (Map{{"", ""}, {"b", "c=d"}}));
  EXPECT_EQ(parse_user_data(""), Map());
}

TEST(Names, AnIdIsReadBackFromItsText) {
  transport::Gid gid;
  for (std::size_t i = 0; i < gid.size(); ++i) gid[i] = static_cast<std::uint8_t>(i * 17);
  EXPECT_EQ(gid_of(os::hexadecimal(gid)), gid);
  EXPECT_EQ(gid_of(os::hexadecimal(gid).substr(1)), std::nullopt);
  EXPECT_EQ(gid_of(std::string(32, 'g')), std::nullopt);
  EXPECT_EQ(gid_of(std::string(32, '\0')), std::nullopt);
}

// The hashes are those of ROS 2 Kilted's packages; link/tests/ros2_test.py compares all of them.
TEST(TypeHash, IsThatOfRos2) {
  EXPECT_EQ(type_hash(defined("message std_msgs/String\nstring data\n").type()),
            "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18");
  EXPECT_EQ(type_hash(defined("message std_msgs/Empty\n").type()),
            "RIHS01_20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312");
  EXPECT_EQ(type_hash(defined("message sensor_msgs/Image\nstd_msgs/Header header\nuint32 height\nuint32 width\n"
                              "string encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n"
                              "message builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
                              "message std_msgs/Header\nuint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n")
                          .type()),
            "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47");
}

constexpr const char* kBasicTypes =
    "message test_msgs/BasicTypes\nbool bool_value\nuint8 byte_value\nuint8 char_value\nfloat32 float32_value\n"
    "float64 float64_value\nint8 int8_value\nuint8 uint8_value\nint16 int16_value\nuint16 uint16_value\n"
    "int32 int32_value\nuint32 uint32_value\nint64 int64_value\nuint64 uint64_value\n";
constexpr const char* kBasicTypesHash = "RIHS01_7c300afd4e796798d49bdd6cdaa0fa87fa0ed2ba3217d977e1faa87070d797ab";

TEST(TypeHash, OfATypeWithByteFieldsIsFoundAmongThoseOfItsUint8Fields) {
  const message::Definition type = defined(kBasicTypes);
  EXPECT_NE(type_hash(type.type()), kBasicTypesHash);
  EXPECT_TRUE(is_hash_of(type.type(), kBasicTypesHash));
}

TEST(TypeHash, OfAnotherDefinitionIsRefused) {
  const message::Definition text = defined("message std_msgs/String\nstring data\n");
  EXPECT_FALSE(is_hash_of(text.type(), kBasicTypesHash));
  EXPECT_FALSE(is_hash_of(defined(kBasicTypes).type(), type_hash(text.type())));
  EXPECT_TRUE(is_hash_of(text.type(), "RIHS02_00")) << "a later version cannot be compared";
}

}  // namespace
}  // namespace baton::link::ros2
