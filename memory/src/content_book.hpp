// SPDX-License-Identifier: Apache-2.0
// Where the contents of one loan lie: the allocator behind arena.hpp, without any memory of its own in the chunk.
// Thread rules: one thread at a time.
// Invariants: (1) blocks are sorted by offset, do not overlap and lie in [first, end); (2) end is where the last block ends, or
// `first`; (3) gap_bytes is the sum of the holes between blocks (and before the first).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace baton::memory {

class ContentBook {
 public:
  /// Offsets count from the message's first byte; contents start at `first` (the skeleton's end). Keeps its capacity.
  void reset(std::uint32_t first) noexcept {
    blocks_.clear();
    first_ = end_ = first;
    gap_bytes_ = 0;
  }
  std::uint32_t end() const noexcept { return end_; }

  /// Place for `bytes` > 0: a gap of a freed block if one fits, else behind the last block, at most up to `limit`.
  std::optional<std::uint32_t> allocate(std::uint32_t bytes, std::uint32_t alignment, std::uint32_t limit);
  /// Undoes the newest allocate(), which returned `offset`.
  void cancel(std::uint32_t offset) noexcept { free(offset); }
  /// How far the block at `offset` could grow in place, 0 if there is no such block.
  std::uint32_t room(std::uint32_t offset, std::uint32_t limit) const noexcept;
  /// REQUIRES new_bytes <= room(offset).
  void resize(std::uint32_t offset, std::uint32_t new_bytes) noexcept;
  std::uint32_t size_of(std::uint32_t offset) const noexcept;  ///< 0 if there is no such block
  void free(std::uint32_t offset) noexcept;
  std::size_t blocks() const noexcept { return blocks_.size(); }
  std::uint32_t gap_bytes() const noexcept { return gap_bytes_; }

 private:
  struct Block {
    std::uint32_t offset, bytes;
  };
  std::vector<Block>::const_iterator find(std::uint32_t offset) const noexcept;

  std::vector<Block> blocks_;
  std::uint32_t first_ = 0, end_ = 0, gap_bytes_ = 0;
};

}  // namespace baton::memory
