// SPDX-License-Identifier: Apache-2.0
#include "baton/message/byte_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "baton/message/validate.hpp"
#include "testing/build.hpp"

namespace baton::message {
namespace {

using testing::define;
using testing::from_hex;
using testing::to_hex;

constexpr const char* kType =
    "message t/A\nuint16 a\nbool b\nt/N[] list\nwstring w\nuint64[2] c\nstring s\nmessage t/N\nint16 x\nint32[] y\n";

FlatBuffer load(const char* hex) {
  const auto bytes = from_hex(hex);
  FlatBuffer out;
  out.reserve(bytes.size());
  out.set_size(bytes.size());
  std::copy(bytes.begin(), bytes.end(), out.data());
  return out;
}

MutableBytes all(FlatBuffer& buffer) { return {buffer.data(), buffer.size()}; }

FlatBuffer example() {
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  const Definition type = define(kType);
  builder.begin(type.type()).or_throw();
  builder.base()[0] = std::byte{0x34};
  builder.base()[1] = std::byte{0x12};
  builder.base()[2] = std::byte{1};
  const std::size_t list = builder.add_zeroed_sequence(4, 2, {12, 4}).or_throw();
  builder.base()[list] = std::byte{9};
  const std::size_t y = builder.add_sequence(list + 12 + 4, 1, {4, 4}).or_throw();
  std::fill_n(builder.base() + y, 4, std::byte{7});
  builder.base()[y] = std::byte{8};
  const std::size_t w = builder.add_sequence(12, 1, {2, 2}).or_throw();
  builder.base()[w] = std::byte{0x61};
  builder.base()[w + 1] = std::byte{0};
  builder.base()[24] = std::byte{3};
  builder.add_string(40, "abcd", 4).or_throw();
  return buffer;
}

TEST(ByteOrder, ReversesEveryScalarAndWordButNoByteOfAString) {
  const Definition type = define(kType);
  FlatBuffer buffer = example();
  ASSERT_TRUE(validate(type.type(), buffer.data(), static_cast<std::uint32_t>(buffer.size())).ok());
  const std::string native = to_hex(buffer);
  ASSERT_TRUE(to_other_byte_order(type.type(), all(buffer)).ok());
  EXPECT_EQ(to_hex(buffer),
            "12 34 01 00 00 00 00 02 00 00 00 28 00 00 00 01 00 00 00 3c 00 00 00 00 "  // a b list w, hole
            "00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 00 00 00 00 08 00 00 00 24 "  // c s
            "00 09 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 04 "  // the list
            "07 07 07 08 00 61 00 00 61 62 63 64 00 00 00 03");                         // y w s
  ASSERT_TRUE(repair_byte_order(type.type(), all(buffer)).ok());
  EXPECT_EQ(to_hex(buffer), native);
  EXPECT_TRUE(validate(type.type(), buffer.data(), static_cast<std::uint32_t>(buffer.size())).ok());
}

TEST(ByteOrder, LeavesTheBytesAloneWhenTheyAreNoMessage) {
  const Definition type = define("message t/A\nuint32 a\nuint32[] b\n");
  const auto error = [&](const char* hex) {
    FlatBuffer buffer = load(hex);
    const std::string before = to_hex(buffer);
    const auto result = repair_byte_order(type.type(), all(buffer));
    EXPECT_EQ(to_hex(buffer), before);
    return result.ok() ? "no error" : result.error().message;
  };
  EXPECT_EQ(error("00 00 00 01"),
            "cannot change the byte order of t/A: the message has 4 bytes, its skeleton alone needs 12");
  EXPECT_EQ(error("00 00 00 01 00 00 00 02 00 00 00 04 00 00 00 05"),
            "cannot change the byte order of t/A: field 'b': content of 8 bytes at byte 12 lies outside the message of "
            "16 bytes");
  EXPECT_EQ(error("00 00 00 01 00 00 00 01 ff ff ff f8 00 00 00 05"),
            "cannot change the byte order of t/A: the content at byte 0 overlaps what ends at byte 12");
  EXPECT_EQ(error("00 00 00 01 00 00 00 01 00 00 00 05 00 00 00 05 00"),
            "cannot change the byte order of t/A: field 'b': the content at byte 13 is not aligned to 4");
}

TEST(ByteOrder, RefusesTwoContentsInOnePlace) {
  const Definition type = define("message t/A\nuint16[] a\nuint16[] b\n");
  FlatBuffer buffer = load("00 00 00 02 00 00 00 0c 00 00 00 02 00 00 00 06 11 22 33 44 55 66 00 00");
  const auto result = repair_byte_order(type.type(), all(buffer));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "cannot change the byte order of t/A: the content at byte 18 overlaps what ends at byte 20");
}

TEST(ByteOrder, DemandsAnAlignedMessage) {
  const Definition type = define("message t/A\nuint32 a\n");
  FlatBuffer buffer = load("00 00 00 01 00 00 00 01");
  EXPECT_EQ(repair_byte_order(type.type(), {buffer.data() + 4, 4}).error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace baton::message
