// SPDX-License-Identifier: Apache-2.0
// Messages in ROS 1's serialization, as roscpp writes them to a link: TCPROS's length, then the message.
//
// Thread rules: pure functions.
#pragma once

#include <ros/serialized_message.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "baton/message/bytes.hpp"
#include "baton/message/ros1_codec.hpp"
#include "by_bytes.hpp"

namespace baton::ros1::detail {

/// Room for a message of this size, with its length before it.
ros::SerializedMessage frame_of(std::size_t message_bytes);
/// `message` with the words that make it no double (docs/format/tcpros.md).
ros::SerializedMessage with_trailer(const ros::SerializedMessage& message, const Trailer& trailer);

/// Serializes messages of one type, which lie in Baton's chunks.
class StockSerializer {
 public:
  explicit StockSerializer(const message::Type& type);
  /// The type begins with a std_msgs/Header.
  bool has_header() const noexcept { return header_.has_value(); }
  /// Throws malformed_message.
  ros::SerializedMessage encode(message::Bytes message) const;
  /// The header alone; empty for a type without one. Throws malformed_message.
  std::vector<std::uint8_t> header_of(message::Bytes message) const;

 private:
  const message::Ros1Codec codec_;
  std::optional<message::Ros1Codec> header_;
};

}  // namespace baton::ros1::detail
