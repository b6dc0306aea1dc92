// SPDX-License-Identifier: Apache-2.0
// The steps of a NativePlan: made once per type (native_plan.cpp), walked per message (native_walk.cpp).
// Thread rules: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "baton/message/type.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/rosidl/introspection.hpp"

namespace baton::rosidl {

struct Steps;

/// One field of a type.
struct NativeField {
  const Member* member;
  const message::Field* field;
  const Steps* nested;        // kMessage only
  std::size_t element_bytes;  // of the native element
  bool c;
};

/// What is done with a field, or with several that lie side by side in both forms. The usual steps need nothing else:
/// the introspection lies elsewhere, and each message would fetch it, too.
struct Step {
  enum class Kind : std::uint8_t {
    kBytes,    // scalars
    kBools,    // single, or an array
    kString,   // single
    kScalars,  // a sequence, not of bools
    kOther,
  };
  std::uint32_t native;      // where in the native struct,
  std::uint32_t place;       // and where in the message
  std::uint32_t bytes;       // kBytes, kBools: of all; kString, kScalars: of an element
  std::uint32_t bound;       // kString, kScalars: the most elements; 0: any number
  const NativeField* field;  // the first one
  Kind kind;
  bool c;
};

/// The steps of one type, in the order of its fields. A message that is a field is part of it; arrays of messages are
/// not.
struct Steps {
  std::size_t native_bytes = 0;
  os::HotVector<Step> steps;
  std::deque<NativeField> fields;
  std::vector<std::shared_ptr<const Steps>> owned;
};

}  // namespace baton::rosidl
