// SPDX-License-Identifier: Apache-2.0
// How a message passes between a recompiled program and the stock side of this library (ros1/recompiled/stock): in ROS 1's wire
// format. Both sides have a class of their own for the message; both classes have ros::serialization.
#pragma once

#include <ros/serialization.h>

#include <cstdint>
#include <vector>

namespace baton::ros1::recompiled::stock {

using Bytes = std::vector<std::uint8_t>;

template <class M>
Bytes to_bytes(const M& message) {
  Bytes bytes(ros::serialization::serializationLength(message));
  ros::serialization::OStream stream(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
  ros::serialization::serialize(stream, message);
  return bytes;
}

/// REQUIRES bytes that to_bytes() made of the same message of ROS.
template <class M>
M from_bytes(const Bytes& bytes) {
  M message;
  // IStream has no constructor for const bytes; deserialization writes nothing to them.
  ros::serialization::IStream stream(const_cast<std::uint8_t*>(bytes.data()), static_cast<std::uint32_t>(bytes.size()));
  ros::serialization::deserialize(stream, message);
  return message;
}

/// Calls `change` with the bytes of `message`, and puts back what it made of them.
template <class M, class Change>
bool change_bytes(M& message, const Change& change) {
  Bytes bytes = to_bytes(message);
  const bool good = change(bytes);
  message = from_bytes<M>(bytes);
  return good;
}

}  // namespace baton::ros1::recompiled::stock
