// SPDX-License-Identifier: Apache-2.0
#include "content_book.hpp"

#include <algorithm>

namespace baton::memory {
namespace {

constexpr std::uint64_t align_up(std::uint64_t value, std::uint32_t alignment) noexcept {
  return (value + alignment - 1) & ~std::uint64_t{alignment - 1};
}

}  // namespace

std::vector<ContentBook::Block>::const_iterator ContentBook::find(std::uint32_t offset) const noexcept {
  // The newest block is asked for most: a vector that grows at the end.
  if (!blocks_.empty() && blocks_.back().offset == offset) return blocks_.end() - 1;
  auto it = std::lower_bound(blocks_.begin(), blocks_.end(), offset,
                             [](const Block& block, std::uint32_t value) { return block.offset < value; });
  return it != blocks_.end() && it->offset == offset ? it : blocks_.end();
}

std::optional<std::uint32_t> ContentBook::allocate(std::uint32_t bytes, std::uint32_t alignment, std::uint32_t limit) {
  if (gap_bytes_ >= bytes) {
    std::uint64_t free_from = first_;
    for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
      const std::uint64_t at = align_up(free_from, alignment);
      if (at + bytes <= it->offset) {
        blocks_.insert(it, {static_cast<std::uint32_t>(at), bytes});
        gap_bytes_ -= bytes;
        return static_cast<std::uint32_t>(at);
      }
      free_from = std::uint64_t{it->offset} + it->bytes;
    }
  }
  const std::uint64_t at = align_up(end_, alignment);
  if (at + bytes > limit) return std::nullopt;
  blocks_.push_back({static_cast<std::uint32_t>(at), bytes});
  // Padding in front of a block is no gap worth searching for; gap_bytes_ counts it all the same, so that the sum stays exact.
  gap_bytes_ += static_cast<std::uint32_t>(at - end_);
  end_ = static_cast<std::uint32_t>(at + bytes);
  return static_cast<std::uint32_t>(at);
}

std::uint32_t ContentBook::room(std::uint32_t offset, std::uint32_t limit) const noexcept {
  auto it = find(offset);
  if (it == blocks_.end()) return 0;
  const std::uint32_t until = it + 1 == blocks_.end() ? limit : (it + 1)->offset;
  return until - offset;
}

void ContentBook::resize(std::uint32_t offset, std::uint32_t new_bytes) noexcept {
  auto it = blocks_.begin() + (find(offset) - blocks_.cbegin());
  if (it + 1 == blocks_.end()) {
    end_ = offset + new_bytes;
  } else {
    gap_bytes_ += it->bytes;
    gap_bytes_ -= new_bytes;
  }
  it->bytes = new_bytes;
}

std::uint32_t ContentBook::size_of(std::uint32_t offset) const noexcept {
  auto it = find(offset);
  return it == blocks_.end() ? 0 : it->bytes;
}

void ContentBook::free(std::uint32_t offset) noexcept {
  auto it = find(offset);
  if (it == blocks_.end()) return;
  const bool last = it + 1 == blocks_.end();
  const std::uint32_t bytes = it->bytes;
  blocks_.erase(it);
  if (!last) {
    gap_bytes_ += bytes;
    return;
  }
  // The end falls back to the new last block; the hole before the freed one is no gap any more.
  const std::uint32_t end = blocks_.empty() ? first_ : blocks_.back().offset + blocks_.back().bytes;
  gap_bytes_ -= offset - end;
  end_ = end;
}

}  // namespace baton::memory
