// SPDX-License-Identifier: Apache-2.0
// The functions that a vector or string inside a chunk calls to get, grow and free the memory of its content. The
// message room's containers know only this header; arena.cpp implements it for the writable chunks (loans) of this
// process.
// Thread rules: one loan is used by one thread at a time (as any C++ object); different loans are independent.
// Invariants: (1) contents of one loan lie behind its skeleton, never overlap, all offsets fit i32; (2) bytes handed
// out are backed (fallocate), so writing them never raises SIGBUS; (3) bookkeeping (block list, free gaps) is private
// memory of the publisher, kept warm per slot so that the steady state allocates nothing; (4) ChunkHeader::size_bytes
// is set at publish.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/memory/window_range.hpp"

namespace baton::memory {

/// Content blocks of the loan that contains `owner` (an address inside its chunk: the vector itself). All these
/// functions throw baton::Exception: message_too_large, limit_reached, out_of_memory; or invalid_argument if `owner`
/// does not lie in a writable loan of this process (a received message is read-only).
///
/// Returns `bytes` bytes aligned to `alignment` (1..64), placed at the end of the used part or in a gap left by a freed
/// block that is big enough. Content is not zeroed. Blocks are placed in call order without gaps beyond alignment, so
/// that a message built once from front to back has exactly the documented bytes.
[[gnu::returns_nonnull]] void* content_allocate(const void* owner, std::size_t bytes, std::size_t alignment);

/// Grows or shrinks the block at `content` to `new_bytes` without moving it; false if it cannot stay (then allocate,
/// move elements, free). The last block grows in place up to the slot's end; a non-last block grows into a following
/// gap. `new_bytes` 0 is not allowed (free it instead).
bool content_resize_in_place(const void* owner, void* content, std::size_t new_bytes);

/// Bytes usable at `content` without a call (capacity), at least the size that was asked for.
std::size_t content_capacity(const void* owner, const void* content);

/// Gives the block back to its loan. Never throws. False: `owner` lies in no loan of this process (any more), so nothing was
/// done, and the words that name the block have to stay: readers see them.
bool content_free(const void* owner, void* content) noexcept;

}  // namespace baton::memory
