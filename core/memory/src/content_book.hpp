// SPDX-License-Identifier: Apache-2.0
// Where the contents of one loan lie: the allocator behind arena.hpp. It keeps no record in the chunk itself.
// Thread rules: one thread at a time.
// Invariants: (1) blocks are sorted by offset, do not overlap and lie in [first, end); (2) end is where the last block
// ends, or `first`; (3) a message built from front to back, without freeing, lies in call order, and its only holes are
// those of alignment: only memory that was freed is used again.
// Cost: allocate, free and resize of the newest block O(1), of others O(log blocks) amortised; no heap allocation once
// the book has held as many blocks before, and none for the first kOwn blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "baton/os/hot_memory.hpp"

namespace baton::memory {

class ContentBook : public os::Hot {
 public:
  static constexpr std::uint32_t kOwn = 19;  ///< with them a book is three cache lines

  ContentBook() = default;
  ContentBook(const ContentBook&) = delete;
  ContentBook& operator=(const ContentBook&) = delete;

  ContentBook* below = nullptr;  ///< in the pool's stack of unused books

  /// Offsets count from the message's first byte; contents start at `first` (the skeleton's end). Keeps its capacity.
  /// `limit`: no content reaches beyond it.
  void reset(std::uint32_t first, std::uint32_t limit) noexcept {
    limit_ = limit;
    used_ = dead_ = 0;
    first_ = end_ = first;
  }
  /// Becomes as `other`. Throws std::bad_alloc.
  void copy(const ContentBook& other);
  std::uint32_t end() const noexcept { return end_; }
  std::uint32_t limit() const noexcept { return limit_; }

  /// Place for `bytes` > 0: a gap of a freed block if one fits, else behind the last block.
  std::optional<std::uint32_t> allocate(std::uint32_t bytes, std::uint32_t alignment);
  /// allocate() of a message from which nothing was freed, as long as there is room before `end` (at most the limit), and for the
  /// entry: then the offset is put into `*offset`. False: call allocate().
  bool append(std::uint32_t bytes, std::uint32_t alignment, std::uint64_t end, std::uint32_t* offset) noexcept {
    const std::uint64_t at = align_up(end_, alignment);
    if (dead_ > 0 || at + bytes > end || used_ == room_) return false;
    add(static_cast<std::uint32_t>(at), bytes);
    *offset = static_cast<std::uint32_t>(at);
    return true;
  }
  /// Undoes the newest allocate(), which returned `offset`.
  void cancel(std::uint32_t offset) noexcept { free(offset); }
  /// How far the block at `offset` could grow in place, 0 if there is no such block.
  std::uint32_t room(std::uint32_t offset) const noexcept;
  /// REQUIRES 0 < new_bytes <= room(offset).
  void resize(std::uint32_t offset, std::uint32_t new_bytes) noexcept;
  std::uint32_t size_of(std::uint32_t offset) const noexcept;  ///< 0 if there is no such block
  void free(std::uint32_t offset) noexcept;
  std::size_t blocks() const noexcept { return used_ - dead_; }
  /// Sum of all holes, alignment's included. O(blocks).
  std::uint32_t gap_bytes() const noexcept;

 private:
  // A block, or (bytes 0) the mark of a freed block: its hole reaches from the previous block to the next block. Marks
  // make freeing cheap: a message of a hundred thousand strings is destroyed without moving this list each time.
  struct Entry {
    std::uint32_t offset, bytes;
  };
  static constexpr std::uint64_t align_up(std::uint64_t value, std::uint32_t alignment) noexcept {
    return (value + alignment - 1) & ~std::uint64_t{alignment - 1};
  }
  Entry* end_entry() const noexcept { return entries_ + used_; }
  Entry& last() const noexcept { return entries_[used_ - 1]; }
  Entry* find(std::uint32_t offset) const noexcept;
  std::optional<std::uint32_t> reuse(std::uint32_t bytes, std::uint32_t alignment) noexcept;
  void drop_doubled_marks() noexcept;
  void grow();
  void add(std::uint32_t at, std::uint32_t bytes) noexcept {
    entries_[used_++] = {at, bytes};
    end_ = at + bytes;
  }

  // What a message touches that has up to three contents, in one line with the first of them.
  Entry* entries_ = own_;  // the last one is a block
  std::uint32_t used_ = 0, room_ = kOwn;
  std::uint32_t dead_ = 0;  // marks in entries_
  std::uint32_t first_ = 0, end_ = 0, limit_ = 0;
  Entry own_[kOwn];

  std::uint32_t first_dead_ = 0;  // entries before this one have no mark
  std::uint32_t largest_ = 0;     // while there are marks: no freed hole is larger
  std::vector<Entry> more_;       // when own_ was not enough
};

}  // namespace baton::memory
