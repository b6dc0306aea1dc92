// SPDX-License-Identifier: Apache-2.0
// TZC's partial serialization (TZC III-A, Figs. 4 and 5). It divides the elements of a type into control part and data
// part. One routine serializes the control part (its elements, then the lengths of the data elements); another
// organises the data part (offsets from the lengths). Byte format, and the decisions that the figures leave open:
// docs/format/partial-serialization.md.
//
// Costs: serializing, measuring and restoring the control part are O(control); restore() adds one memcpy of the
// payload.
// Thread rules: a PartialSerializer is immutable; any number of threads may use one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

class Builder;

namespace wire {
struct Program;
}

/// An entry of Fig. 4's lists: the prefix and the element.
struct PartialElement {
  std::string path;    ///< "points", "header.frame_id", "channels[].values"
  const Field* field;  ///< the element: name, type and shape
};

struct PartialSplit {
  std::vector<PartialElement> control;
  std::vector<PartialElement> data;
};

/// Fig. 4: variable-length arrays of fixed-length types are data, all else is control. Elements inside a
/// variable-length array of a variable-length type appear once; their path says "[]". The array itself (its length)
/// counts as control and is listed before them.
PartialSplit split(const Type& type);

/// One instance of a data element in one message: `channels[].values` has as many instances as there are channels.
struct DataSlot {
  std::uint32_t element;    ///< index into PartialSplit::data
  std::uint32_t count;      ///< its length, in array elements
  std::size_t words;        ///< where its {length, offset} words lie in the message
  std::size_t place;        ///< where its content begins, in the message or in the data part (see the function)
  std::size_t bytes;        ///< bytes of its content
  std::uint32_t alignment;  ///< alignment of an array element
};

/// Where each data element lies in a data part of its own.
struct DataPart {
  std::vector<DataSlot> data_slots;  ///< `place` counts from the data part's start, which is aligned to 64
  std::size_t bytes = 0;
};

class PartialSerializer {
 public:
  /// Error: limit_reached for a type of more than 100000 fields, counted through nesting.
  static Result<PartialSerializer> compile(const Type& type);

  const Type& type() const noexcept;
  const PartialSplit& elements() const noexcept { return *split_; }

  /// Bytes that serialize_control() will write. The message may be untrusted. Error: malformed_message.
  Result<std::size_t> control_size(Bytes message) const;

  /// The control elements, then the lengths of the data elements; returns the bytes written.
  /// Errors: malformed_message; message_too_large if `out` is too short.
  Result<std::size_t> serialize_control(Bytes message, MutableBytes out) const;

  /// The data elements of an SFM message in place (`place` from the message's start), in the order of their lengths in
  /// the control part. A face that shares the chunk points its arrays at them. Error: malformed_message.
  Result<std::vector<DataSlot>> data_in_message(Bytes message) const;

  /// Reads a control part back into `builder`: a message whose data elements are still empty. Returns the data elements
  /// with their lengths. `place` is 0 until organise_data() sets it, or the caller fills the words itself. The bytes
  /// are untrusted. Errors: malformed_message, naming the field; those of Builder.
  Result<std::vector<DataSlot>> restore_control(Bytes control, Builder& builder) const;

  /// The whole message again, from its control part and the data part that organise_data() laid out.
  /// Errors: those of restore_control(); malformed_message if `data` is shorter than the lengths say.
  Result<void> restore(Bytes control, Bytes data, Builder& builder) const;

 private:
  PartialSerializer(std::shared_ptr<const wire::Program> program, std::shared_ptr<const PartialSplit> split) noexcept
      : program_(std::move(program)), split_(std::move(split)) {}
  std::shared_ptr<const wire::Program> program_;
  std::shared_ptr<const PartialSplit> split_;
};

/// TZC's memory organization: the offset of each data element from the lengths of those before it.
DataPart organise_data(std::vector<DataSlot> data_slots);

/// Copies the data elements of `message` to the data part that `layout` describes: the only pass over the payload in
/// this header.
/// REQUIRES: `layout` was organised from data_in_message(message), given as `data_slots`, and `out` has layout.bytes.
void copy_data(Bytes message, const std::vector<DataSlot>& data_slots, const DataPart& layout,
               MutableBytes out) noexcept;

}  // namespace baton::message
