// SPDX-License-Identifier: Apache-2.0
#include "baton/message/print.hpp"

#include <gtest/gtest.h>

#include "baton/message/ros1_codec.hpp"
#include "testing/build.hpp"

namespace baton::message {
namespace {

using testing::bytes_of;
using testing::define;
using testing::from_hex;

std::string show(const char* definition, const char* ros1_wire, const PrintOptions& options = {}) {
  const Definition type = define(definition);
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  Ros1Codec::compile(type.type()).or_throw().decode(bytes_of(from_hex(ros1_wire)), builder).or_throw();
  return print(type.type(), buffer.bytes(), options).or_throw();
}

constexpr const char* kMessage =
    "message t/A\nstd_msgs/Header header\nfloat64 x\nbool ok\nt/P[] points\nuint8[] data\nint16[2] pair\nstring[] "
    "names\n"
    "message std_msgs/Header\nuint32 seq\nstring frame_id\nmessage t/P\nfloat32 a\nt/E e\nmessage t/E\n";
constexpr const char* kWire =
    "07 00 00 00 03 00 00 00 6d 61 70  00 00 00 00 00 00 e0 3f 01  02 00 00 00 00 00 80 3f 00 00 00 40  03 00 00 00 01 "
    "02 03 ff ff 02 00"
    "01 00 00 00 03 00 00 00 79 65 73";

TEST(Print, ShowsAMessageAsRos2TopicEchoDoes) {
  EXPECT_EQ(show(kMessage, kWire),
            "header:\n  seq: 7\n  frame_id: map\nx: 0.5\nok: true\npoints:\n- a: 1.0\n  e: {}\n- a: 2.0\n  e: "
            "{}\ndata:\n- 1\n- 2\n- 3\n"
            "pair:\n- -1\n- 2\nnames:\n- 'yes'\n");
}

TEST(Print, CutsLongArraysAndStrings) {
  PrintOptions options;
  options.max_elements = 2;
  EXPECT_EQ(show("message t/A\nuint8[] data\n", "03 00 00 00 01 02 03", options), "data:\n- 1\n- 2\n- '...'\n");
  options.flow_arrays = true;
  EXPECT_EQ(show("message t/A\nuint8[] data\n", "03 00 00 00 01 02 03", options), "data: [1, 2, '...']\n");
  EXPECT_EQ(show("message t/A\nuint8[] data\n", "00 00 00 00", options), "data: []\n");
  options.max_string_bytes = 2;
  EXPECT_EQ(show("message t/A\nstring s\n", "03 00 00 00 61 c3 a9", options), "s: a...\n")
      << "a UTF-8 sequence is not cut";
}

TEST(Print, QuotesWhatYamlWouldReadAsSomethingElse) {
  const auto quoted = [](const char* wire) { return show("message t/A\nstring s\n", wire); };
  EXPECT_EQ(quoted("00 00 00 00"), "s: ''\n");
  EXPECT_EQ(quoted("02 00 00 00 31 32"), "s: '12'\n");
  EXPECT_EQ(quoted("03 00 00 00 61 3a 20"), "s: 'a: '\n");
  EXPECT_EQ(quoted("03 00 00 00 69 74 27"), "s: 'it'''\n");
  EXPECT_EQ(quoted("02 00 00 00 0a 22"), "s: \"\\x0a\\\"\"\n");
  EXPECT_EQ(quoted("02 00 00 00 61 ff"), "s: \"a\xEF\xBF\xBD\"\n");
}

TEST(Print, CharactersThatSteerATerminalAreEscapes) {
  EXPECT_EQ(yaml_of("a\u202E\u2066b", 0), "\"a\\u202e\\u2066b\"");
  EXPECT_EQ(yaml_of("\u009B2J\x1B", 0), "\"\\x9b2J\\x1b\"");
  EXPECT_EQ(yaml_of("\u00AD\u061C\u200F\u2028\uFEFF\U000E0041", 0), "\"\\xad\\u061c\\u200f\\u2028\\ufeff\\U000e0041\"");
  EXPECT_EQ(yaml_of("\u05D0 \u0627", 0), "'\u05D0 \u0627'")
      << "letters that are written from right to left are letters";
  EXPECT_EQ(yaml_of("\u20AC \"", 0), "\"\u20AC \\\"\"");
}

TEST(Print, HidesTheHeadersSequenceNumberOnRequest) {
  PrintOptions options;
  options.hide_header_seq = true;
  EXPECT_EQ(show(kMessage, kWire, options).substr(0, 26), "header:\n  frame_id: map\nx:");
}

TEST(Print, ShowsAnEmptyMessage) { EXPECT_EQ(show("message t/E\n", ""), "{}\n"); }

TEST(Print, NamesTheFieldThatIsMalformed) {
  const Definition type = define("message t/A\nstring[] names\n");
  alignas(8) const std::uint32_t words[] = {1, 4, 4, 400};
  const auto text = print(type.type(), {words, sizeof words});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message,
            "cannot print t/A: field 'names[0]': content of 4 bytes at byte 412 lies outside the message of 16 bytes");
}

}  // namespace
}  // namespace baton::message
