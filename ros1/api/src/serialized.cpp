// SPDX-License-Identifier: Apache-2.0
#include "serialized.hpp"

#include <cstring>
#include <string_view>

namespace baton::ros1::detail {

ros::SerializedMessage frame_of(std::size_t message_bytes) {
  constexpr std::size_t kLengthBytes = 4;
  const std::size_t bytes = kLengthBytes + message_bytes;
  ros::SerializedMessage out(boost::shared_array<std::uint8_t>(new std::uint8_t[bytes]), bytes);
  for (std::size_t i = 0; i < kLengthBytes; ++i) out.buf[i] = static_cast<std::uint8_t>(message_bytes >> (8 * i));
  out.message_start = out.buf.get() + kLengthBytes;
  return out;
}

ros::SerializedMessage with_trailer(const ros::SerializedMessage& message, const Trailer& trailer) {
  const auto before = static_cast<std::size_t>(message.message_start - message.buf.get());
  const std::size_t bytes = message.num_bytes - before;
  ros::SerializedMessage out = frame_of(bytes + kTrailerBytes);
  std::memcpy(out.message_start, message.message_start, bytes);
  put_trailer(out.message_start + bytes, trailer);
  return out;
}

StockSerializer::StockSerializer(const message::Type& type) : codec_(message::Ros1Codec::compile(type).or_throw()) {
  if (type.field_count == 0) return;
  const message::Field& first = type.fields[0];
  if (first.kind == message::Kind::kMessage && first.shape == message::Shape::kSingle && first.offset == 0 &&
      std::string_view(first.type->name) == "std_msgs/Header") {
    header_.emplace(message::Ros1Codec::compile(*first.type).or_throw());
  }
}

ros::SerializedMessage StockSerializer::encode(message::Bytes message) const {
  const std::size_t bytes = codec_.encoded_size(message).or_throw();
  ros::SerializedMessage out = frame_of(bytes);
  static_cast<void>(codec_.encode(message, {out.message_start, bytes}).or_throw());
  return out;
}

std::vector<std::uint8_t> StockSerializer::header_of(message::Bytes message) const {
  std::vector<std::uint8_t> out;
  if (!header_) return out;
  out.resize(header_->encoded_size(message).or_throw());
  static_cast<void>(header_->encode(message, {out.data(), out.size()}).or_throw());
  return out;
}

}  // namespace baton::ros1::detail
