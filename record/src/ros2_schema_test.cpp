// SPDX-License-Identifier: Apache-2.0
#include "ros2_schema.hpp"

#include <gtest/gtest.h>

#include "baton/message/definition.hpp"
#include "crc32.hpp"

namespace baton::record {
namespace {

TEST(Ros2Schema, HasEachTypeOnceWithoutTheSequenceNumberOfHeaders) {
  const message::Definition type = message::Definition::parse(
                                       "message a/A\n"
                                       "std_msgs/Header header\n"
                                       "builtin_interfaces/Time[2] times\n"
                                       "string<=5[<=3] words\n"
                                       "wstring wide\n"
                                       "bool[] flags\n"
                                       "message builtin_interfaces/Time\n"
                                       "int32 sec\n"
                                       "uint32 nanosec\n"
                                       "message std_msgs/Header\n"
                                       "uint32 seq\n"
                                       "builtin_interfaces/Time stamp\n"
                                       "string frame_id\n")
                                       .or_throw();
  const std::string line(80, '=');
  EXPECT_EQ(ros2_schema(type.type()),
            "std_msgs/Header header\n"
            "builtin_interfaces/Time[2] times\n"
            "string<=5[<=3] words\n"
            "wstring wide\n"
            "bool[] flags\n" +
                line + "\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n" + line +
                "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n");
}

TEST(Ros2Schema, NamesStandInTheNamespaceOfTheirKind) {
  EXPECT_EQ(ros2_type_name("sensor_msgs/Image"), "sensor_msgs/msg/Image");
  EXPECT_EQ(ros2_type_name("std_srvs/SetBool_Request"), "std_srvs/srv/SetBool_Request");
  EXPECT_EQ(ros2_type_name("std_srvs/SetBool_Event"), "std_srvs/srv/SetBool_Event");
  EXPECT_EQ(ros2_type_name("a/Fibonacci_FeedbackMessage"), "a/action/Fibonacci_FeedbackMessage");
  EXPECT_EQ(ros2_type_name("a/Fibonacci_SendGoal_Request"), "a/action/Fibonacci_SendGoal_Request");
}

TEST(Ros2Schema, ATypeHashIsWrittenAsRos2WritesIt) {
  transport::RosTypeHash hash;
  EXPECT_EQ(ros2_type_hash(hash), "");
  hash.version = 1;
  hash.value[0] = 0xAB;
  EXPECT_EQ(ros2_type_hash(hash), "RIHS01_ab" + std::string(62, '0'));
}

TEST(Crc32, IsThatOfTheStandardAlsoInParts) {
  const std::string text = "123456789";  // the check value of CRC-32/ISO-HDLC
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Crc32 sum;
    sum.add(reinterpret_cast<const std::byte*>(text.data()), cut);
    sum.add(reinterpret_cast<const std::byte*>(text.data()) + cut, text.size() - cut);
    EXPECT_EQ(sum.value(), 0xCBF43926U);
  }
}

}  // namespace
}  // namespace baton::record
