// SPDX-License-Identifier: Apache-2.0
#include "baton/message/cdr_codec.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "baton/message/gathered.hpp"
#include "testing/build.hpp"

namespace baton::message {
namespace {

using memory::ByteOrder;
using testing::bytes_of;
using testing::define;
using testing::from_hex;
using testing::to_hex;

/// Decodes `hex`, encodes it again in both orders; returns "little / big", or the error.
std::string both_orders(const Definition& type, const char* hex) {
  const CdrCodec codec = CdrCodec::compile(type.type()).or_throw();
  FlatBuffer buffer;
  FlatBuilder builder(buffer, 1 << 20);
  const auto used = codec.decode(bytes_of(from_hex(hex)), builder);
  if (!used) return used.error().message;
  std::string out;
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    std::vector<std::byte> wire(codec.encoded_size(buffer.bytes()).or_throw());
    EXPECT_EQ(codec.encode(buffer.bytes(), {wire.data(), wire.size()}, order).or_throw(), wire.size());
    out += (out.empty() ? "" : " / ") + to_hex(wire);
    FlatBuffer again;
    FlatBuilder second(again);
    EXPECT_EQ(codec.decode(bytes_of(wire), second).or_throw(), wire.size());
    EXPECT_EQ(to_hex(again), to_hex(buffer));
  }
  return out;
}

TEST(CdrCodec, AlignsEveryScalarToItsSizeFromBehindTheFourBytesInFront) {
  const Definition type = define("message t/P\nuint8 a\nfloat64 b\nuint16 c\nuint32 d\n");
  EXPECT_EQ(both_orders(type, "00 01 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 f0 3f 02 00 00 00 03 00 00 00"),
            "00 01 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 f0 3f 02 00 00 00 03 00 00 00 / "
            "00 00 00 00 01 00 00 00 00 00 00 00 3f f0 00 00 00 00 00 00 00 02 00 00 00 00 00 03");
}

TEST(CdrCodec, CountsTheTerminatingZeroOfStrings) {
  const Definition type = define("message t/S\nstring a\nstring b\n");
  EXPECT_EQ(both_orders(type, "00 01 00 00 02 00 00 00 61 00 00 00 01 00 00 00 00"),
            "00 01 00 00 02 00 00 00 61 00 00 00 01 00 00 00 00 / 00 00 00 00 00 00 00 02 61 00 00 00 00 00 00 01 00");
  EXPECT_EQ(both_orders(type, "00 01 00 00 00 00 00 00 01 00 00 00 00"),
            "cannot decode t/S: field 'a': a CDR string of length 0: its length counts the terminating zero");
  EXPECT_EQ(both_orders(type, "00 01 00 00 01 00 00 00 61 00 00 00 01 00 00 00 00"),
            "cannot decode t/S: field 'a': a CDR string is not ended by a zero");
}

TEST(CdrCodec, WritesWideStringsAsRmwFastrtpsDoes) {
  // test_msgs/WStrings of ROS 2 Kilted, serialized by rclpy: U+1F600 is two code units, each a u32, no terminator.
  const Definition type = define("message t/W\nwstring a\n");
  const char* wire = "00 01 00 00 05 00 00 00 61 00 00 00 e9 00 00 00 3d d8 00 00 00 de 00 00 62 00 00 00";
  EXPECT_EQ(both_orders(type, wire).substr(0, 83), wire);
  EXPECT_EQ(both_orders(type, "00 01 00 00 01 00 00 00 00 00 01 00"),
            "cannot decode t/W: field 'a': wide character 0 is 65536, no UTF-16 code unit");
}

TEST(CdrCodec, AlignsToTheFirstElementOnlyIfThereIsOne) {
  const Definition type = define("message t/Q\nfloat64[] a\nuint8 b\n");
  EXPECT_EQ(both_orders(type, "00 01 00 00 00 00 00 00 07"), "00 01 00 00 00 00 00 00 07 / 00 00 00 00 00 00 00 00 07");
  EXPECT_EQ(both_orders(type, "00 01 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 f0 3f 07"),
            "00 01 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 f0 3f 07 / 00 00 00 00 00 00 00 01 00 00 00 00 3f "
            "f0 00 00 00 00 00 00 07");
}

TEST(CdrCodec, LeavesOutTheHeadersSequenceNumberAndSetsItToZero) {
  const Definition type = define(
      "message std_msgs/Header\nuint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
      "message builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n");
  const CdrCodec codec = CdrCodec::compile(type.type()).or_throw();
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  codec.decode(bytes_of(from_hex("00 01 00 00 02 00 00 00 03 00 00 00 01 00 00 00 00")), builder).or_throw();
  EXPECT_EQ(to_hex(buffer), "00 00 00 00 02 00 00 00 03 00 00 00 00 00 00 00 00 00 00 00");
  buffer.data()[0] = std::byte{9};
  EXPECT_EQ(codec.encoded_size(buffer.bytes()).or_throw(), 17U);
}

TEST(CdrCodec, GivesAnEmptyMessageOneByteWhereverItStands) {
  const Definition type =
      define("message t/E\nstd_msgs/Empty a\nuint16 b\nstd_msgs/Empty[] c\nmessage std_msgs/Empty\n");
  EXPECT_EQ(both_orders(type, "00 01 00 00 00 00 05 00 02 00 00 00 00 00"),
            "00 01 00 00 00 00 05 00 02 00 00 00 00 00 / 00 00 00 00 00 00 00 05 00 00 00 02 00 00");
}

TEST(CdrCodec, IgnoresWhatLiesBehindTheMessage) {
  const Definition type = define("message t/A\nuint8 a\n");
  const CdrCodec codec = CdrCodec::compile(type.type()).or_throw();
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  EXPECT_EQ(codec.decode(bytes_of(from_hex("00 01 00 00 05 55 00 00")), builder).or_throw(), 5U);
}

TEST(CdrCodec, RefusesOtherEncapsulationsByTheirNumber) {
  const Definition type = define("message t/A\nuint8 a\n");
  EXPECT_EQ(both_orders(type, "00 07 00 00 05"),
            "cannot decode t/A: encapsulation 0x0007, only plain CDR (0x0000 and 0x0001) is known");
  EXPECT_EQ(both_orders(type, "00 01 00"), "cannot decode t/A: CDR needs four bytes in front, 3 are there");
  EXPECT_EQ(both_orders(type, "00 01 00 00"),
            "cannot decode t/A: field 'a': the wire ends inside it, 0 bytes were left of 1");
}

TEST(CdrCodec, WhatCannotBeGatheredLeavesWhatWasThere) {
  const Definition type = define("message t/T\nuint8[] a\nstring b\n");
  const CdrCodec codec = CdrCodec::compile(type.type()).or_throw();
  FlatBuffer message;
  FlatBuilder builder(message);
  ASSERT_TRUE(codec.decode(bytes_of(from_hex("00 01 00 00 01 00 00 00 07 00 00 00 02 00 00 00 61 00")), builder).ok());
  Gathered out;
  out.append("abc", 3);
  const std::uint32_t length = 1000;
  std::memcpy(message.data() + 8, &length, sizeof length);
  const auto gathered = codec.gather(message.bytes(), out, 1);
  ASSERT_FALSE(gathered.ok());
  EXPECT_EQ(gathered.error().code, Errc::malformed_message);
  ASSERT_EQ(out.size(), 3U);
  out.for_each([](const std::byte* from, std::size_t bytes, bool) { EXPECT_EQ(std::memcmp(from, "abc", bytes), 0); });
}

TEST(CdrCodec, ATypeOfTooManyFieldsIsRefused) {
  std::string text;
  constexpr int kLevels = 6;  // of ten fields each: a million
  for (int level = 1; level <= kLevels; ++level) {
    text += "message t/M" + std::to_string(level) + "\n";
    const std::string type = level < kLevels ? "t/M" + std::to_string(level + 1) : "string";
    for (char name = 'a'; name <= 'j'; ++name) text += type + " " + name + "\n";
  }
  const Definition type = define(text.c_str());
  const Result<CdrCodec> codec = CdrCodec::compile(type.type());
  ASSERT_FALSE(codec.ok());
  EXPECT_NE(codec.error().message.find("more than 100000 fields"), std::string::npos) << codec.error().message;
}

}  // namespace
}  // namespace baton::message
