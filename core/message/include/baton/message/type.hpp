// SPDX-License-Identifier: Apache-2.0
// The type model: the form of a message type at run time. Generated headers define one constant `Type` per message.
// Validator, codecs, partial serialization, printing and Python read it.
// Thread rules: immutable after construction; a Type and everything it points to outlives every use.
// Invariants: (1) fields are in declaration order with ascending offsets; (2) offsets, size and alignment are those of
// the SFM skeleton (docs/format/sfm.md) and equal the generated C++ struct's (static_assert in the generated header);
// (3) nesting is acyclic (the .msg language cannot express cycles).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace baton::message {

/// First 16 bytes of SHA-256 over Type::definition.
using TypeHash = std::array<std::uint8_t, 16>;

enum class Kind : std::uint8_t {
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat32,
  kFloat64,
  kString,   ///< {u32 padded length, i32 offset}, docs/format/sfm.md
  kWString,  ///< {u32 code units, i32 offset} of u16, no terminator
  kMessage,  ///< nested skeleton inline; Field::type is set
};

enum class Shape : std::uint8_t {
  kSingle,
  kArray,     ///< fixed length Field::count, inline
  kSequence,  ///< {u32 length, i32 offset}; Field::count is the bound, 0 = unbounded
};

struct Type;

struct Field {
  const char* name;
  Kind kind;
  Shape shape;
  std::uint32_t count;         ///< kArray: length; kSequence: upper bound or 0; kSingle: 0
  std::uint32_t string_bound;  ///< kString/kWString: upper bound in characters or 0
  std::uint32_t offset;        ///< bytes from the start of the skeleton
  const Type* type;            ///< kMessage only, else nullptr
};

struct Type {
  const char* name;         ///< "package/Name", e.g. "sensor_msgs/Image" (services: "package/Name_Request")
  std::uint32_t size;       ///< skeleton bytes, a multiple of alignment, at least 1
  std::uint32_t alignment;  ///< 1, 2, 4 or 8
  const Field* fields;
  std::uint32_t field_count;
  bool fixed;  ///< no string or sequence anywhere inside: the skeleton is the message
  TypeHash hash;
  const char* definition;  ///< canonical text after the ROS 1/ROS 2 mapping (docs/format/type-hash.md), for differences
};

/// Specialised by every generated header: `static const Type& get() noexcept`.
template <class T>
struct TypeOf;

template <class T>
const Type& type_of() noexcept {
  return TypeOf<T>::get();
}

/// Bytes of one element of `field` in its skeleton or content: a scalar, the 8 bytes of a string's words, or a nested
/// skeleton.
constexpr std::uint32_t element_size(const Field& field) noexcept {
  switch (field.kind) {
    case Kind::kBool:
    case Kind::kInt8:
    case Kind::kUint8:
      return 1;
    case Kind::kInt16:
    case Kind::kUint16:
      return 2;
    case Kind::kInt32:
    case Kind::kUint32:
    case Kind::kFloat32:
      return 4;
    case Kind::kInt64:
    case Kind::kUint64:
    case Kind::kFloat64:
    case Kind::kString:
    case Kind::kWString:
      return 8;
    case Kind::kMessage:
      return field.type->size;
  }
  return 1;
}

/// Alignment of one element of `field`; the two words of a string are 32-bit words.
constexpr std::uint32_t element_alignment(const Field& field) noexcept {
  if (field.kind == Kind::kMessage) return field.type->alignment;
  if (field.kind == Kind::kString || field.kind == Kind::kWString) return 4;
  return element_size(field);
}

/// True if an element of `field` holds words of its own (a string, or a message with strings or sequences).
constexpr bool element_has_contents(const Field& field) noexcept {
  return field.kind == Kind::kString || field.kind == Kind::kWString ||
         (field.kind == Kind::kMessage && !field.type->fixed);
}

/// Number of elements that lie in the skeleton: 1, or the length of a fixed array.
constexpr std::uint32_t inline_count(const Field& field) noexcept {
  return field.shape == Shape::kArray ? field.count : 1;
}

}  // namespace baton::message
