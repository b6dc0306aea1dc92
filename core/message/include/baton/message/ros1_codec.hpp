// SPDX-License-Identifier: Apache-2.0
// The ROS 1 wire format (roscpp_serialization, genpy) from and to SFM messages: little-endian, packed, u32 lengths,
// strings without terminator. Mapping of the fields that ROS 1 and ROS 2 define differently:
// docs/format/ros1-ros2-equivalence.md.
//
// Costs, with C the control part and P the payload of a message: compile once per type, O(fields); encoded_size O(C),
// plus O(elements) for sequences whose elements have padding or strings; encode and decode one pass over C and one
// memcpy of P (one byte-wise pass for bool[]). No allocation, except in a FlatBuilder that has to grow.
//
// Thread rules: a codec is immutable; any number of threads may use one.
#pragma once

#include <cstddef>
#include <memory>

#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

class Builder;

namespace wire {
struct Program;
}

class Ros1Codec {
 public:
  /// Error: unsupported if the type holds a wstring, which ROS 1 does not have.
  static Result<Ros1Codec> compile(const Type& type);

  const Type& type() const noexcept;

  /// Bytes that encode() will write. Error: malformed_message, naming the field.
  Result<std::size_t> encoded_size(Bytes message) const;

  /// Writes `message` to `out`, returns the bytes written. The message may be untrusted: each of its words is fetched
  /// once and checked. Errors: malformed_message; message_too_large if `out` is too short.
  Result<std::size_t> encode(Bytes message, MutableBytes out) const;

  /// Reads exactly one message. The wire is untrusted. After an error the builder holds a part of the message.
  /// Errors: malformed_message, naming the field (also if bytes are left over); those of Builder.
  Result<void> decode(Bytes wire, Builder& builder) const;

 private:
  explicit Ros1Codec(std::shared_ptr<const wire::Program> program) noexcept : program_(std::move(program)) {}
  std::shared_ptr<const wire::Program> program_;
};

}  // namespace baton::message
