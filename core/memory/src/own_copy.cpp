// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/own_copy.hpp"

#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "baton/os/fork.hpp"
#include "baton/os/private_mapping.hpp"
#include "baton/os/sparse_memory.hpp"
#include "parse_size.hpp"
#include "pool_segment.hpp"
#include "window_table.hpp"

namespace baton::memory {
namespace {

std::atomic<unsigned> g_alive{0};  // a count that orders nothing: relaxed

std::size_t message_bytes(const Slot& slot) { return sizeof(ChunkHeader) + slot.book->end(); }

/// The slot of `chunk`, a loan of this process that is large enough.
Result<Slot*> suitable_slot(const Chunk& chunk) {
  const SegmentRecord* const record = find_segment(chunk.header);
  PoolSegment* const segment = record != nullptr ? record->own : nullptr;
  if (segment == nullptr) return Error{Errc::invalid_argument, "the message lies in no loan of this process"};
  if (segment->generation != os::fork_generation())
    return Error{Errc::forked, "this loan belongs to the parent of this forked process"};
  Slot* const slot = segment->find_slot(handle_offset(chunk.handle));
  if (slot == nullptr || slot->state != Slot::State::kLoaned)
    return Error{Errc::invalid_argument, "the message lies in no loan of this process"};
  // A packed slot shares its pages with other messages; it is smaller than that in any case.
  if (message_bytes(*slot) < OwnCopy::kLeastBytes || slot->size_class != kLargeClass)
    return Error{Errc::unsupported, "a message of " + format_size(message_bytes(*slot)) + " is copied"};
  return slot;
}

Error too_many() {
  return {Errc::limit_reached, "the program keeps " + std::to_string(OwnCopy::kMostAlive) + " published objects"};
}

}  // namespace

Result<void> OwnCopy::possible(const Chunk& chunk) {
  if (const Result<Slot*> slot = suitable_slot(chunk); !slot) return slot.error();
  if (g_alive.load(std::memory_order_relaxed) >= kMostAlive) return too_many();
  if (os::future_mappings_are_locked()) return Error{Errc::unsupported, "this process locks its memory"};
  return {};
}

Result<std::unique_ptr<OwnCopy>> OwnCopy::make(const Chunk& chunk) try {
  const Result<Slot*> suitable = suitable_slot(chunk);
  if (!suitable) return suitable.error();
  Slot* const slot = *suitable;
  PoolSegment* const segment = slot->segment;
  const std::size_t page = os::page_bytes();
  std::unique_ptr<OwnCopy> made(new OwnCopy);
  made->book_ = std::make_unique<ContentBook>();
  made->book_->copy(*slot->book);
  if (g_alive.fetch_add(1, std::memory_order_relaxed) >= kMostAlive) {
    g_alive.fetch_sub(1, std::memory_order_relaxed);
    return too_many();
  }
  made->slot_ = slot;  // counted from now on
  made->bytes_ = (message_bytes(*slot) + page - 1) / page * page;
  made->at_ = reinterpret_cast<std::byte*>(slot->header());
  Result<std::byte*> aside = os::set_shared_aside(segment->fd.get(), slot->offset(), made->at_, made->bytes_);
  if (!aside) return aside.error();
  made->aside_ = *aside;
  made->shared_ = chunk;
  made->shared_.header = reinterpret_cast<ChunkHeader*>(*aside);
  made->shared_.capacity_bytes = made->bytes_ - sizeof(ChunkHeader);
  return made;
} catch (const std::bad_alloc&) {
  return Error{Errc::out_of_memory, ""};  // a text would need memory, too
}

OwnCopy::~OwnCopy() { end(); }

void OwnCopy::let_grow() noexcept {
  slot_->book = book_.get();
  // Pool::header_of() reads here. Where the program wrote this page before the publication, the page has no number and no size yet. The
  // page is the program's then, so nothing is copied for it.
  if (std::memcmp(at_, aside_, sizeof(ChunkHeader)) != 0) std::memcpy(at_, aside_, sizeof(ChunkHeader));
}

std::optional<OwnCopy::End> OwnCopy::end() noexcept {
  if (slot_ == nullptr) return std::nullopt;
  Slot* const slot = std::exchange(slot_, nullptr);
  g_alive.fetch_sub(1, std::memory_order_relaxed);
  if (slot->book == book_.get()) slot->book = nullptr;
  if (aside_ == nullptr) return std::nullopt;
  if (slot->segment->generation != os::fork_generation()) return std::nullopt;
  End end{bytes_ / os::page_bytes(), os::discard_private_changes(at_, bytes_)};
  if (!os::put_shared_back(at_, aside_, bytes_)) return std::nullopt;
  return end;
}

}  // namespace baton::memory
