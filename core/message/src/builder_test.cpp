// SPDX-License-Identifier: Apache-2.0
#include "baton/message/builder.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "testing/build.hpp"

namespace baton::message {
namespace {

using testing::define;
using testing::to_hex;

constexpr const char* kImage = "message roscsf/Image\nstring encoding\nuint32 height\nuint32 width\nuint8[] data\n";

TEST(Builder, GivesExactlyTheBytesOfRosSfFigure7) {
  const Definition image = define(kImage);
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  builder.begin(image.type()).or_throw();
  const std::uint32_t ten = 10;
  builder.add_string(0, "rgb8", 4).or_throw();
  std::memcpy(builder.base() + 8, &ten, 4);
  std::memcpy(builder.base() + 12, &ten, 4);
  const std::size_t data = builder.add_sequence(16, 300, {1, 1}).or_throw();
  std::memset(builder.base() + data, 0x55, 300);

  EXPECT_EQ(buffer.size(), 0x14cU);
  EXPECT_EQ(to_hex(buffer.data(), 0x20),
            "08 00 00 00 14 00 00 00 0a 00 00 00 0a 00 00 00 2c 01 00 00 0c 00 00 00 72 67 62 38 00 00 00 03");
}

TEST(Builder, PadsStringsToFourAndKeepsTheNumberOfPaddingBytesInTheLast) {
  const Definition type = define("message t/S\nstring a\n");
  const char* expected[] = {"", "61 00 00 02", "61 61 00 01", "61 61 61 00", "61 61 61 61 00 00 00 03"};
  for (std::size_t n = 0; n <= 4; ++n) {
    FlatBuffer buffer;
    FlatBuilder builder(buffer);
    builder.begin(type.type()).or_throw();
    builder.add_string(0, "aaaa", n).or_throw();
    EXPECT_EQ(to_hex(buffer.data() + 8, buffer.size() - 8), expected[n]);
  }
}

TEST(Builder, AlignsContentsToTheirElementAndBigOnesTo64) {
  const Definition type = define("message t/S\nuint8[] a\nfloat64[] b\nuint8[] c\n");
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  builder.begin(type.type()).or_throw();
  EXPECT_EQ(builder.add_sequence(0, 1, {1, 1}).or_throw(), 24U);
  EXPECT_EQ(builder.add_sequence(8, 1, {8, 8}).or_throw(), 32U);
  EXPECT_EQ(builder.add_sequence(16, 4096, {1, 1}).or_throw(), 64U);
  EXPECT_EQ(to_hex(buffer.data() + 25, 7), "00 00 00 00 00 00 00") << "gaps are zero";
}

TEST(Builder, RefusesWhatIsBeyondTheLimitWithoutWriting) {
  const Definition type = define("message t/S\nuint8[] a\n");
  FlatBuffer buffer;
  FlatBuilder builder(buffer, 100);
  builder.begin(type.type()).or_throw();
  const auto refused = builder.add_sequence(0, 93, {1, 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::message_too_large);
  EXPECT_EQ(buffer.size(), 8U);
  EXPECT_TRUE(builder.add_sequence(0, 92, {1, 1}).ok());
}

TEST(Builder, RefusesLengthsWhoseBytesOverflow) {
  const Definition type = define("message t/S\nfloat64[] a\n");
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  builder.begin(type.type()).or_throw();
  EXPECT_EQ(builder.add_sequence(0, SIZE_MAX / 4, {8, 8}).error().code, Errc::message_too_large);
  EXPECT_EQ(builder.add_sequence(0, std::size_t{1} << 31, {1, 1}).error().code, Errc::message_too_large);
  EXPECT_EQ(builder.add_string(0, "", SIZE_MAX).error().code, Errc::message_too_large);
}

TEST(Builder, ReusesTheBufferForTheNextMessage) {
  const Definition type = define("message t/S\nuint8[] a\n");
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  builder.begin(type.type()).or_throw();
  builder.add_sequence(0, 2000, {1, 1}).or_throw();
  const std::byte* data = buffer.data();
  builder.begin(type.type()).or_throw();
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(to_hex(buffer), "00 00 00 00 00 00 00 00");
}

}  // namespace
}  // namespace baton::message
