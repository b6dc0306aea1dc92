// SPDX-License-Identifier: Apache-2.0
// A message type compiled for one wire: a short list of operations that run between the SFM skeleton and the wire in
// declaration order. Neighbouring fields whose memory equals the wire become one copy. Nested messages are flattened.
// Elements of sequences and arrays that are no plain copy have a plan of their own.
//
// Thread rules: a Program is immutable after compile_program(); any number of threads may run it.
// Invariants: (1) operations stand in wire order; (2) a kScalars run of a CDR program, begun at a multiple of its
// width, has every scalar in it naturally aligned, in memory and on the wire alike; (3) a run that has to be
// byte-swapped holds scalars of one width only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {
class Builder;
class Gathered;
struct DataSlot;
}  // namespace baton::message

namespace baton::message::wire {

enum class Format : std::uint8_t {
  kRos1,     ///< packed, little-endian; std_msgs/Header with seq; no wstring
  kCdr,      ///< XCDR1 without its encapsulation header: aligned to at most 8, Header without seq
  kControl,  ///< ROS 1's rules, with wstring as u32 count and u16 code units: partial serialization's control part
  kMemory,   ///< no wire: lists every scalar of a message at its place, for byte_order.cpp
};

struct Op {
  enum class Code : std::uint8_t { kScalars, kBools, kString, kWString, kSequence, kArray, kDummyByte };
  Code code;
  std::uint8_t width = 1;       ///< kScalars: the first scalar's width, the widest of the run
  bool dense = false;           ///< kSequence: the elements are one kScalars run each, without holes
  bool bools = false;           ///< kSequence: the elements are one bool each
  std::uint32_t offset = 0;     ///< of the field, in the skeleton
  std::uint32_t count = 0;      ///< kScalars: bytes; kBools, kArray: elements; kSequence, strings: bound or 0
  std::uint32_t stride = 0;     ///< kSequence, kArray: size of an element in memory
  std::uint32_t alignment = 1;  ///< kSequence: alignment of an element in memory
  std::uint32_t plan = 0;       ///< kSequence, kArray: index of the element's plan
  std::uint32_t name = 0;       ///< index of the (first) field's path
  bool data = false;            ///< kSequence of a fixed-length type: belongs to the data part (partial.hpp)
  std::uint32_t element = 0;    ///< kControl, data: the index of the data element
};

struct WirePlan {
  std::vector<Op> ops;
  std::size_t least_bytes = 0;  ///< the smallest size of a value on the wire
};

struct Program {
  const Type* type = nullptr;
  Format format = Format::kRos1;
  bool swap = false;
  std::vector<WirePlan> plans;  ///< [0] is the type's own
  std::vector<std::string> names;
  std::uint32_t data_elements = 0;  ///< kControl: how many Op::element there are
  /// Fields merged into one run: (byte within the run, name index), for errors that name the field.
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> runs;
};

/// `swap`: the wire's byte order is not this machine's.
/// Errors: unsupported (a wstring in ROS 1); limit_reached (a type of more than 100000 fields).
Result<Program> compile_program(const Type& type, Format format, bool swap);

/// Bytes of `message` on the wire, without the encapsulation header. `slots`, with a kControl program: the data
/// elements are not counted but listed in `slots`, with their places in the message.
Result<std::size_t> encoded_size(const Program& program, Bytes message, std::vector<DataSlot>* slots = nullptr);

/// Writes the wire form; returns its size. Every word of `message` is fetched once and checked, so a malformed or
/// changing message never causes an access out of bounds.
/// Errors: malformed_message; message_too_large if `out` is too short.
Result<std::size_t> encode(const Program& program, Bytes message, MutableBytes out,
                           std::vector<DataSlot>* slots = nullptr);

/// As encode(), for a wire of this machine's byte order, to the end of `out`: runs of `least_referred` bytes or more that need no change are
/// referred to. After an error `out` has a part of the message.
Result<std::size_t> gather(const Program& program, Bytes message, Gathered& out, std::size_t least_referred);

/// Reads one message from the beginning of `wire` into `builder`; returns the bytes consumed. `slots`, with a kControl
/// program: the data elements are not on the wire; they stay empty and are listed in `slots`, with the places of their
/// words.
Result<std::size_t> decode(const Program& program, Bytes wire, Builder& builder,
                           std::vector<DataSlot>* slots = nullptr);

}  // namespace baton::message::wire
