// SPDX-License-Identifier: Apache-2.0
#include "serialized.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace baton::ros1::detail {
namespace {

std::string text(const ros::SerializedMessage& message) {
  return {reinterpret_cast<const char*>(message.buf.get()), message.num_bytes};
}

TEST(SerializedTest, AFrameBeginsWithTheLengthOfItsMessage) {
  const ros::SerializedMessage frame = frame_of(0x010203);
  EXPECT_EQ(frame.num_bytes, 0x010203U + 4);
  EXPECT_EQ(frame.message_start, frame.buf.get() + 4);
  EXPECT_EQ(text(frame).substr(0, 4), std::string("\x03\x02\x01\x00", 4));
}

TEST(SerializedTest, ATrailerIsBehindTheMessageAndInTheFramesLength) {
  ros::SerializedMessage message = frame_of(3);
  std::memcpy(message.message_start, "abc", 3);
  const ros::SerializedMessage trailed = with_trailer(message, {transport::Gid{7}, 9});
  EXPECT_EQ(text(trailed).substr(4, 3), "abc");
  EXPECT_EQ(static_cast<std::uint8_t>(trailed.buf[0]), 3 + kTrailerBytes);
  const std::optional<Trailer> found = trailer_of({trailed.message_start, trailed.num_bytes - 4});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->writer, transport::Gid{7});
  EXPECT_EQ(found->number, 9U);
  EXPECT_EQ(text(message).substr(4), "abc") << "the message is as it was";
}

}  // namespace
}  // namespace baton::ros1::detail
