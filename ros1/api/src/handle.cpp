// SPDX-License-Identifier: Apache-2.0
#include "handle.hpp"

#include <cstring>

#include "baton/os/hexadecimal.hpp"
#include "serialized.hpp"

namespace baton::ros1::detail {
namespace {

constexpr std::size_t kLengthBytes = 4;                              // before strings and arrays
constexpr std::size_t kEmptyHeaderBytes = 16;                        // seq, stamp, and the length of frame_id
constexpr std::size_t kFrameIdAt = 12;                               // in a header
constexpr std::size_t kFixedBytes = 16 + 16 + 8 + 1 + kLengthBytes;  // after the header

void put_length(std::uint8_t* at, std::size_t length) {
  for (std::size_t i = 0; i < kLengthBytes; ++i) at[i] = static_cast<std::uint8_t>(length >> (8 * i));
}
std::uint32_t length_at(const std::uint8_t* at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) value |= static_cast<std::uint32_t>(at[i]) << (8 * i);
  return value;
}

}  // namespace

const char* const kHandleDefinition =
    "# A message of the topic TOPIC on TOPIC/_baton: what its subscriptions need to find it "
    "(docs/format/ros1-side-topic.md).\n"
    "uint8 SHARED_MEMORY=0\n"
    "uint8 HERE=1\n"
    "std_msgs/Header header  # the message's own; empty if its type does not begin with one\n"
    "uint8[16] type          # the MD5 sum of the message's type\n"
    "uint8[16] writer        # the id of its publisher in Baton\n"
    "uint64 number           # among its publisher's messages, from 1\n"
    "uint8 place             # of the message itself\n"
    "uint8[] content         # the message in ROS 1's serialization, if its place is HERE\n"
    "\n"
    "================================================================================\n"
    "MSG: std_msgs/Header\n"
    "uint32 seq\n"
    "time stamp\n"
    "string frame_id\n";

Md5 md5_of(const std::string& digits) {
  Md5 out{};
  return os::from_hexadecimal(digits, out) ? out : Md5{};
}

ros::SerializedMessage encode(const std::vector<std::uint8_t>& header, const TopicHandle& handle) {
  const std::size_t header_bytes = header.empty() ? kEmptyHeaderBytes : header.size();
  const std::size_t size = header_bytes + kFixedBytes + handle.content.size;
  ros::SerializedMessage out = frame_of(size);
  std::uint8_t* at = out.message_start;
  if (header.empty()) {
    std::memset(at, 0, kEmptyHeaderBytes);
  } else {
    std::memcpy(at, header.data(), header_bytes);
  }
  at += header_bytes;
  std::memcpy(at, handle.type.data(), handle.type.size());
  at += handle.type.size();
  std::memcpy(at, handle.writer.data(), handle.writer.size());
  at += handle.writer.size();
  for (std::size_t i = 0; i < 8; ++i) *at++ = static_cast<std::uint8_t>(handle.number >> (8 * i));
  *at++ = static_cast<std::uint8_t>(handle.place);
  put_length(at, handle.content.size);
  at += kLengthBytes;
  if (handle.content.size > 0) std::memcpy(at, handle.content.data, handle.content.size);
  return out;
}

std::vector<std::uint8_t> first_header(message::Bytes wire) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(wire.data);
  if (wire.size < kEmptyHeaderBytes || length_at(begin + kFrameIdAt) > wire.size - kEmptyHeaderBytes) return {};
  return {begin, begin + kEmptyHeaderBytes + length_at(begin + kFrameIdAt)};
}

std::optional<TopicHandle> decode_handle(message::Bytes wire) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(wire.data);
  if (wire.size < kEmptyHeaderBytes + kFixedBytes) return std::nullopt;
  const std::size_t frame_id_bytes = length_at(begin + kFrameIdAt);
  if (frame_id_bytes > wire.size - kEmptyHeaderBytes - kFixedBytes) return std::nullopt;
  const std::uint8_t* at = begin + kEmptyHeaderBytes + frame_id_bytes;
  TopicHandle out;
  std::memcpy(out.type.data(), at, out.type.size());
  at += out.type.size();
  std::memcpy(out.writer.data(), at, out.writer.size());
  at += out.writer.size();
  for (std::size_t i = 0; i < 8; ++i) out.number |= static_cast<std::uint64_t>(*at++) << (8 * i);
  const std::uint8_t place = *at++;
  const std::size_t content_bytes = length_at(at);
  at += kLengthBytes;
  if (content_bytes != static_cast<std::size_t>(begin + wire.size - at) || out.number == 0) return std::nullopt;
  if (place > static_cast<std::uint8_t>(TopicHandle::Place::kHere)) return std::nullopt;
  out.place = static_cast<TopicHandle::Place>(place);
  if (out.place == TopicHandle::Place::kSharedMemory && content_bytes != 0) return std::nullopt;
  out.content = {at, content_bytes};
  return out;
}

}  // namespace baton::ros1::detail
