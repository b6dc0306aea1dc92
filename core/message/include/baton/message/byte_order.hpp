// SPDX-License-Identifier: Apache-2.0
// Turns a message of the other byte order into this machine's, in place, once, on a private copy. A chunk from another
// host keeps its byte order, and its reader repairs it (ChunkHeader::byte_order says whether that is needed).
//
// Costs: two walks over the control part, one swapping pass over the payload's 16, 32 and 64-bit scalars (bytes and
// strings are not touched), and a list of the contents, O(contents) of private memory.
// Thread rules: pure functions; no other thread may touch the bytes during the call.
#pragma once

#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

/// Turns `message` (skeleton first, aligned to 8) from the other byte order into the native one, and checks that it is
/// valid as docs/format/sfm.md demands: the bytes are untrusted. Refuses contents that overlap, since swapping one
/// would spoil the other; no honest publisher writes them. After an error the bytes are unchanged.
/// Errors: malformed_message, naming the field; invalid_argument (not aligned to 8).
Result<void> repair_byte_order(const Type& type, MutableBytes message);

/// The inverse: a native message becomes one of the other byte order. Same rules.
Result<void> to_other_byte_order(const Type& type, MutableBytes message);

}  // namespace baton::message
