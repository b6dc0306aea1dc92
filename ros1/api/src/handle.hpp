// SPDX-License-Identifier: Apache-2.0
// The message of a side topic (mode tzc): the header of a message and where the rest of it is. Its bytes are those of
// ros1/api/msg/Handle.msg in ROS 1's serialization (docs/format/ros1-side-topic.md).
//
// Thread rules: pure functions.
#pragma once

#include <ros/serialized_message.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baton/message/bytes.hpp"
#include "baton/transport/transport.hpp"

namespace baton::ros1::detail {

inline constexpr const char* kHandleType = "baton_ros1/Handle";
/// By the rules of ROS 1; ros1/tests/tzc_test.py compares it with genpy's.
inline constexpr const char* kHandleMd5 = "e5aa32c07b1037ab6d473025c2d75a39";
/// The text of Handle.msg, followed by that of std_msgs/Header.
extern const char* const kHandleDefinition;

using Md5 = std::array<std::uint8_t, 16>;
/// The hash whose 32 lower-case hexadecimal digits these are; zeros if they are not, as ROS's "*".
Md5 md5_of(const std::string& digits);

struct TopicHandle {
  enum class Place : std::uint8_t { kSharedMemory = 0, kHere = 1 };
  Md5 type{};
  transport::Gid writer{};
  std::uint64_t number = 0;
  Place place = Place::kSharedMemory;
  message::Bytes content;  ///< the message in ROS 1's serialization if `place` is kHere. Of the decoded bytes
};

/// With TCPROS's length before it. `header`: the serialized std_msgs/Header; empty for a type without one.
ros::SerializedMessage encode(const std::vector<std::uint8_t>& header, const TopicHandle& handle);
/// The std_msgs/Header with which a message begins, both in ROS 1's serialization. Empty: `wire` is too short.
std::vector<std::uint8_t> first_header(message::Bytes wire);
/// Empty: `wire` is not one whole Handle.
std::optional<TopicHandle> decode_handle(message::Bytes wire);

}  // namespace baton::ros1::detail
