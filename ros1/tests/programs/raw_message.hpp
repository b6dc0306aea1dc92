// SPDX-License-Identifier: Apache-2.0
// A message of any type, as its bytes: what topic_tools' ShapeShifter is, without its library.
#pragma once

#include <ros/message_event.h>
#include <ros/ros.h>
#include <ros/serialization.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

struct RawMessage {
  std::string type = "*", md5 = "*", definition;
  std::vector<std::uint8_t> bytes;
};

namespace ros {
namespace message_traits {
template <>
struct IsMessage<RawMessage> : TrueType {};
template <>
struct MD5Sum<RawMessage> {
  static const char* value(const RawMessage& message) { return message.md5.c_str(); }
  static const char* value() { return "*"; }
};
template <>
struct DataType<RawMessage> {
  static const char* value(const RawMessage& message) { return message.type.c_str(); }
  static const char* value() { return "*"; }
};
template <>
struct Definition<RawMessage> {
  static const char* value(const RawMessage& message) { return message.definition.c_str(); }
};
}  // namespace message_traits
namespace serialization {
template <>
struct Serializer<RawMessage> {
  template <typename Stream>
  static void write(Stream& stream, const RawMessage& message) {
    if (!message.bytes.empty())
      std::memcpy(stream.advance(message.bytes.size()), message.bytes.data(), message.bytes.size());
  }
  template <typename Stream>
  static void read(Stream& stream, RawMessage& message) {
    message.bytes.resize(stream.getLength());
    if (!message.bytes.empty())
      std::memcpy(message.bytes.data(), stream.advance(stream.getLength()), message.bytes.size());
  }
  static std::uint32_t serializedLength(const RawMessage& message) {
    return static_cast<std::uint32_t>(message.bytes.size());
  }
};
template <>
struct PreDeserialize<RawMessage> {
  static void notify(const PreDeserializeParams<RawMessage>& params) {
    params.message->type = (*params.connection_header)["type"];
    params.message->md5 = (*params.connection_header)["md5sum"];
    params.message->definition = (*params.connection_header)["message_definition"];
  }
};
}  // namespace serialization
}  // namespace ros
