// SPDX-License-Identifier: Apache-2.0
// Turns a message of the other byte order into this machine's, in place, once, on a private copy: a chunk that came from
// another host travels as it lies and is repaired by its reader (ChunkHeader::byte_order says whether).
//
// Costs: two walks over the control part, one swapping pass over the payload's 16, 32 and 64-bit scalars (bytes and strings
// are not touched), and a list of the contents, O(contents) of private memory.
// Thread rules: pure functions; nobody else may touch the bytes during the call.
#pragma once

#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

/// `message` (skeleton first, aligned to 8) in the other byte order becomes native, and is valid as docs/format/sfm.md
/// demands: the bytes are untrusted. Contents that overlap, which no honest publisher writes, are refused, since swapping
/// one would spoil the other. After an error the bytes are unchanged.
/// Errors: malformed_message, naming the field; invalid_argument (not aligned to 8).
Result<void> repair_byte_order(const Type& type, MutableBytes message);

/// The inverse: a native message becomes one of the other byte order. Same rules.
Result<void> to_other_byte_order(const Type& type, MutableBytes message);

}  // namespace baton::message
