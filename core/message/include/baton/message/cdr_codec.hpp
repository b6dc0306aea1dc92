// SPDX-License-Identifier: Apache-2.0
// CDR as ROS 2 sends it (OMG DDS-RTPS 10.5 and XTypes 7.4.3, encoding PLAIN_CDR version 1) from and to SFM messages, in
// both byte orders:
// - four bytes in front: 00 01 00 00 little-endian, 00 00 00 00 big-endian. Others (parameter lists, XCDR2) are
//   refused.
// - every scalar aligned to its size, 8 at most, counted from behind those four bytes; the padding is zero.
// - strings: u32 length that counts the terminating zero. wstrings: u32 number of UTF-16 code units, each as a u32, no
//   terminator, as rmw_fastrtps_cpp with Fast CDR 2 writes them (checked against ROS 2 Kilted in tests/codec/).
// - an empty message is one dummy byte, as rosidl defines it.
// - std_msgs/Header has no `seq` in ROS 2: not written, zero after decoding.
// - bytes behind the message are ignored: rmw_fastrtps_cpp sends its estimate of the size, which may be larger.
//
// The costs are those of ros1_codec.hpp; with the other byte order, the memcpy of the payload becomes a swapping copy.
// Thread rules: a codec is immutable; any number of threads may use one.
#pragma once

#include <cstddef>
#include <memory>

#include "baton/memory/chunk_header.hpp"
#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

class Builder;
class Gathered;

namespace wire {
struct Program;
}

class CdrCodec {
 public:
  static Result<CdrCodec> compile(const Type& type);

  const Type& type() const noexcept;

  /// Bytes that encode() will write, including the four bytes in front. Error: malformed_message, naming the field.
  Result<std::size_t> encoded_size(Bytes message) const;

  /// Writes `message` to `out`, returns the bytes written. The message may be untrusted, as in Ros1Codec::encode.
  /// Errors: malformed_message; message_too_large if `out` is too short.
  Result<std::size_t> encode(Bytes message, MutableBytes out, memory::ByteOrder order = memory::kNativeByteOrder) const;

  /// Adds to `out` what encode() writes in this machine's byte order. Sequences, arrays and strings that are on the wire as they lie in memory
  /// and have `least_referred` bytes or more are not copied: `out` refers to `message`, which must stay. Returns the bytes added. After an
  /// error `out` is as before.
  /// Error: malformed_message.
  Result<std::size_t> gather(Bytes message, Gathered& out, std::size_t least_referred) const;

  /// Reads one message in the byte order that the wire states; returns the bytes used. The wire is untrusted. After an
  /// error the builder holds a part of the message.
  /// Errors: malformed_message, naming the field; unsupported for another encapsulation; those of Builder.
  Result<std::size_t> decode(Bytes wire, Builder& builder) const;

 private:
  using Programs = std::shared_ptr<const wire::Program>;
  CdrCodec(Programs native, Programs swapped) noexcept : native_(std::move(native)), swapped_(std::move(swapped)) {}
  Programs native_;
  Programs swapped_;
};

}  // namespace baton::message
