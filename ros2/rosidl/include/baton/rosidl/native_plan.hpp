// SPDX-License-Identifier: Apache-2.0
// Converts between a message of ROS 2's C++ or C code and the SFM message in a chunk. A plan is compiled once per type
// from ROS 2's introspection, then walked per message. One copy in each direction, no serialization.
//
// Thread rules: immutable after compile(); write() and read() of one plan may run in any number of threads.
// Invariants: (1) the type model is that of the canonical definition (docs/format/type-hash.md) written from the
// introspection, so it is the same as the model that `generator/` makes from the .msg file; (2) read() trusts nothing
// in the message: it fetches and checks every length and offset once, and visits at most the message's bytes, so
// overlapping contents cannot make it longer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "baton/message/builder.hpp"
#include "baton/message/definition.hpp"
#include "baton/os/hot_memory.hpp"
#include "rosidl_runtime_c/message_type_support_struct.h"

namespace baton::rosidl {

/// Puts an array of scalars of a message into a native struct: by copying it, or in another way.
class ArrayTaker {
 public:
  virtual ~ArrayTaker() = default;
  /// `native` is a std::vector (`c` false; never of bool) or a rosidl_runtime_c sequence of scalars of `element_bytes`.
  /// `content` holds `count` > 0 of these, inside the message and aligned as docs/format/sfm.md says. False: out of
  /// memory.
  virtual bool take(void* native, bool c, const std::byte* content, std::size_t count, std::size_t element_bytes) = 0;
};

/// The ArrayTaker that copies. An array that has enough room keeps its memory; nothing is zeroed before it is written.
class ArrayCopier final : public ArrayTaker {
 public:
  /// For the whole process, from any thread: whether large arrays allocated by this class ask for huge pages
  /// (baton/os/huge_pages.hpp). The default is yes.
  static void use_huge_pages(bool wanted) noexcept;

  bool take(void* native, bool c, const std::byte* content, std::size_t count, std::size_t element_bytes) override;
  std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }

 private:
  std::uint64_t copied_bytes_ = 0;
};

/// The hash of a canonical definition (docs/format/type-hash.md).
message::TypeHash hash_of_definition(const std::string& text);

struct Steps;  // native_steps.hpp

class NativePlan : public os::Hot {
 public:
  /// `handle` is any type support of a message that leads to introspection for C++ or C. Errors: unsupported for a type
  /// without introspection or with a kind of field that SFM does not have (long double, wchar); limit_reached.
  static Result<std::shared_ptr<const NativePlan>> compile(const rosidl_message_type_support_t* handle);

  const message::Type& type() const noexcept { return definition_.type(); }
  const std::string& definition() const noexcept { return text_; }
  /// Bytes of the native struct.
  std::size_t native_bytes() const noexcept;

  /// Whether the native struct and the SFM message are the same bytes at the same places, as for types of fixed size. A
  /// chunk can then hold a native message; and a message of this type can be read as a native one if is_native() is
  /// true for it.
  bool same_layout() const noexcept { return same_layout_; }
  /// False for a message that is too short, or that has a bool that is neither 0 nor 1, which native code does not
  /// expect.
  bool is_native(message::Bytes message) const noexcept;

  /// An upper bound of the bytes of the message that write() makes from the native struct, at most a few bytes per
  /// content too high.
  std::size_t room_for(const void* native) const;

  /// Begins a message in `builder` and fills it from the native struct. Errors: those of Builder; malformed_message for
  /// a sequence or string longer than its bound.
  Result<void> write(const void* native, message::Builder& builder) const;

  /// Fills an initialised native struct, whatever its former content. Errors: malformed_message; out_of_memory. After
  /// an error the native struct is still valid, with unspecified values.
  Result<void> read(message::Bytes message, void* native, ArrayTaker& arrays) const;

  struct Places {
    std::size_t begin, end;
  };

 private:
  NativePlan(message::Definition definition, std::string text, std::shared_ptr<const Steps> steps, bool same_layout,
             std::vector<Places> bools);
  std::shared_ptr<const Steps> steps_;
  std::size_t message_bytes_;  // of the skeleton
  bool same_layout_;
  std::vector<Places> bools_;  // if same_layout_
  message::Definition definition_;
  std::string text_;
};

}  // namespace baton::rosidl
