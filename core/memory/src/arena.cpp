// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/arena.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>
#include <string>

#include "baton/os/fork.hpp"
#include "baton/os/shortage.hpp"
#include "parse_size.hpp"
#include "pool_segment.hpp"
#include "window_table.hpp"

namespace baton::memory {
namespace {

// The loan that `owner` lies in, or the published message of which the program has an OwnCopy; null if `owner` lies in
// neither, or (`large_only`) in a packed slot.
BATON_HOT_INLINE Slot* find_loan(const void* owner, bool large_only = false) noexcept {
  const SegmentRecord* record = find_segment(owner);
  if (!record || !record->own) return nullptr;
  const PoolSegment& segment = *record->own;
  if (segment.generation != os::fork_generation()) return nullptr;
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(owner) - segment.base());
  if (large_only && offset < segment.packed_bytes) return nullptr;
  Slot* slot = large_only ? segment.find_large(offset) : segment.find_slot(offset);
  return slot && slot->book != nullptr ? slot : nullptr;
}

[[noreturn]] BATON_COLD void throw_no_loan(const void* owner) {
  const SegmentRecord* record = find_segment(owner);
  if (!record || !record->own)
    throw Exception({Errc::invalid_argument, "a received message is read-only; copy it to change it"});
  if (record->own->generation != os::fork_generation())
    throw Exception(
        {Errc::forked, "this loan belongs to the parent of this forked process; make a new Node in the child"});
  throw Exception(
      {Errc::invalid_argument, "this message was published or given back; a loan ends with its publication"});
}

// The same; throws if there is none.
BATON_HOT_INLINE Slot& loan_of(const void* owner) {
  Slot* slot = find_loan(owner);
  if (!slot) throw_no_loan(owner);
  return *slot;
}

[[noreturn]] void throw_too_large(const Slot& slot, std::size_t wanted) {
  throw Exception({Errc::message_too_large, "a message of " + format_size(slot.book->end()) +
                                                " cannot grow by a content of " + format_size(wanted) +
                                                ": its slot holds " + format_size(slot.book->limit()) +
                                                "; raise max_message_bytes (at most 2 GiB)"});
}

BATON_COLD void back_more(Slot& slot, std::size_t bytes) {
  const Result<void> backed = slot.segment->back_more(slot, sizeof(ChunkHeader) + bytes);
  if (backed.ok()) return;
  slot.starved = true;
  slot.segment->budget->missed.store(sizeof(ChunkHeader) + bytes, std::memory_order_relaxed);
  throw_shortage(
      {backed.error().code, "while growing a message to " + format_size(bytes) + ": " + backed.error().message});
}

// Backs the message's first `bytes`; throws if memory is short.
inline void back(Slot& slot, std::size_t bytes) {
  if (sizeof(ChunkHeader) + bytes > slot.backed) back_more(slot, bytes);
}

// New content, wherever there is room.
BATON_COLD void* place(Slot& slot, std::size_t bytes, std::size_t alignment) {
  if (bytes > slot.book->limit()) throw_too_large(slot, bytes);
  const auto offset = slot.book->allocate(static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(alignment));
  if (!offset) throw_too_large(slot, bytes);
  try {
    back(slot, *offset + bytes);
  } catch (...) {
    slot.book->cancel(*offset);
    throw;
  }
  return slot.message() + *offset;
}

// content_allocate() in a loan that was found.
BATON_HOT_INLINE void* allocate_in(Slot& slot, std::size_t bytes, std::size_t alignment) {
  bytes += bytes == 0;  // an address of its own
  std::uint32_t offset = 0;
  // The ordinary case: behind the last content, on memory that an earlier message had.
  const std::uint64_t end = std::min<std::uint64_t>(slot.book->limit(), slot.backed - sizeof(ChunkHeader));
  if (bytes > end ||
      !slot.book->append(static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(alignment), end, &offset))
    return place(slot, bytes, alignment);
  return slot.message() + offset;
}

BATON_HOT_SELDOM void* allocate_elsewhere(const void* owner, std::size_t bytes, std::size_t alignment) {
  return allocate_in(loan_of(owner), bytes, alignment);
}

std::uint32_t offset_in(const Slot& slot, const void* content) noexcept {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(content) - slot.message());
}

}  // namespace

void* content_allocate(const void* owner, std::size_t bytes, std::size_t alignment) {
  // A message that grows lies in a large slot. Without another call here, no register has to be saved.
  Slot* slot = find_loan(owner, true);
  return slot ? allocate_in(*slot, bytes, alignment) : allocate_elsewhere(owner, bytes, alignment);
}

bool content_resize_in_place(const void* owner, void* content, std::size_t new_bytes) {
  Slot& slot = loan_of(owner);
  const std::uint32_t offset = offset_in(slot, content);
  if (new_bytes == 0 || new_bytes > slot.book->room(offset)) return false;
  back(slot, offset + new_bytes);
  slot.book->resize(offset, static_cast<std::uint32_t>(new_bytes));
  return true;
}

std::size_t content_capacity(const void* owner, const void* content) {
  const Slot& slot = loan_of(owner);
  return slot.book->size_of(offset_in(slot, content));
}

bool content_free(const void* owner, void* content) noexcept {
  Slot* slot = find_loan(owner);
  if (!slot) return false;
  slot->book->free(offset_in(*slot, content));
  return true;
}

}  // namespace baton::memory
