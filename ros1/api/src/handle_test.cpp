// SPDX-License-Identifier: Apache-2.0
#include "handle.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace baton::ros1::detail {
namespace {

// docs/format/ros1-side-topic.md, section 2; ros1/tests/tzc_test.py makes the same bytes with genpy.
const std::string kGolden =
    "42000000"                          // TCPROS's length
    "07000000"                          // header.seq
    "0200000003000000"                  // header.stamp
    "0100000063"                        // header.frame_id
    "101112131415161718191a1b1c1d1e1f"  // type
    "202122232425262728292a2b2c2d2e2f"  // writer
    "0901000000000000"                  // number
    "01"                                // place
    "04000000deadbeef";                 // content

std::vector<std::uint8_t> bytes_of(const std::string& digits) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return out;
}

const std::vector<std::uint8_t> kHeader = bytes_of(
    "07000000"
    "0200000003000000"
    "0100000063");
const std::vector<std::uint8_t> kContent = bytes_of("deadbeef");

TopicHandle example() {
  TopicHandle handle;
  handle.type = md5_of("101112131415161718191a1b1c1d1e1f");
  for (std::size_t i = 0; i < handle.writer.size(); ++i) handle.writer[i] = static_cast<std::uint8_t>(0x20 + i);
  handle.number = 265;
  handle.place = TopicHandle::Place::kHere;
  handle.content = {kContent.data(), kContent.size()};
  return handle;
}

std::vector<std::uint8_t> encoded(const std::vector<std::uint8_t>& header, const TopicHandle& handle) {
  const ros::SerializedMessage message = encode(header, handle);
  return {message.buf.get(), message.buf.get() + message.num_bytes};
}

TEST(TopicHandle, IsWrittenAsTheFormatSays) { EXPECT_EQ(encoded(kHeader, example()), bytes_of(kGolden)); }

TEST(TopicHandle, ComesBackAsItWasWritten) {
  const std::vector<std::uint8_t> bytes = bytes_of(kGolden);
  const auto decoded = decode_handle({bytes.data() + 4, bytes.size() - 4});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->type, example().type);
  EXPECT_EQ(decoded->writer, example().writer);
  EXPECT_EQ(decoded->number, 265U);
  EXPECT_EQ(decoded->place, TopicHandle::Place::kHere);
  ASSERT_EQ(decoded->content.size, kContent.size());
  EXPECT_EQ(std::memcmp(decoded->content.data, kContent.data(), kContent.size()), 0);
}

TEST(TopicHandle, OfATypeWithoutAHeaderHasAnEmptyOne) {
  TopicHandle handle = example();
  handle.place = TopicHandle::Place::kSharedMemory;
  handle.content = {};
  const std::vector<std::uint8_t> bytes = encoded({}, handle);
  ASSERT_EQ(bytes.size(), 4U + 16 + 45);
  for (std::size_t i = 4; i < 20; ++i) EXPECT_EQ(bytes[i], 0) << i;
  const auto decoded = decode_handle({bytes.data() + 4, bytes.size() - 4});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->place, TopicHandle::Place::kSharedMemory);
}

TEST(TopicHandle, CutShortAtAnyByteOrTooLongIsNone) {
  std::vector<std::uint8_t> bytes = bytes_of(kGolden);
  for (std::size_t size = 0; size < bytes.size() - 4; ++size) {
    EXPECT_FALSE(decode_handle({bytes.data() + 4, size})) << size;
  }
  bytes.push_back(0);
  EXPECT_FALSE(decode_handle({bytes.data() + 4, bytes.size() - 4}));
}

TEST(TopicHandle, WithImpossibleValuesIsNone) {
  const auto changed = [](std::size_t at, const std::string& digits) {
    std::vector<std::uint8_t> bytes = bytes_of(kGolden);
    const std::vector<std::uint8_t> with = bytes_of(digits);
    std::copy(with.begin(), with.end(), bytes.begin() + static_cast<std::ptrdiff_t>(4 + at));
    return static_cast<bool>(decode_handle({bytes.data() + 4, bytes.size() - 4}));
  };
  EXPECT_TRUE(changed(0, "08"));
  EXPECT_FALSE(changed(12, "ffffffff")) << "a frame_id beyond the end";
  EXPECT_FALSE(changed(49, "0000000000000000")) << "messages are numbered from 1";
  EXPECT_FALSE(changed(57, "02")) << "no such place";
  EXPECT_FALSE(changed(57, "00")) << "content, and in shared memory too";
  EXPECT_FALSE(changed(58, "ffffffff")) << "content beyond the end";
}

}  // namespace
}  // namespace baton::ros1::detail
