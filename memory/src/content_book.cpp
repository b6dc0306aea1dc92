// SPDX-License-Identifier: Apache-2.0
#include "content_book.hpp"

#include <algorithm>
#include <limits>

namespace baton::memory {
namespace {

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMostLookedAt = 512;  // entries per search for a hole, so that no message is quadratic to build

}  // namespace

[[gnu::hot]] std::optional<std::uint32_t> ContentBook::allocate(std::uint32_t bytes, std::uint32_t alignment) {
  if (dead_ > 0 && bytes <= largest_) {
    if (const auto at = reuse(bytes, alignment)) return at;
  }
  const std::uint64_t at = align_up(end_, alignment);
  if (at + bytes > limit_) return std::nullopt;
  add(static_cast<std::uint32_t>(at), bytes);
  return static_cast<std::uint32_t>(at);
}

[[gnu::hot]] ContentBook::Iterator ContentBook::find(std::uint32_t offset) const noexcept {
  // The newest block is looked up most: a vector that grows at the end.
  if (!entries_.empty() && entries_.back().offset == offset) return entries_.end() - 1;
  auto it = std::lower_bound(entries_.begin(), entries_.end(), offset,
                             [](const Entry& entry, std::uint32_t value) { return entry.offset < value; });
  for (; it != entries_.end() && it->offset == offset; ++it)
    if (it->bytes != 0) return it;
  return entries_.end();
}

std::optional<std::uint32_t> ContentBook::reuse(std::uint32_t bytes, std::uint32_t alignment) noexcept {
  std::size_t i = std::min(first_dead_, entries_.size());
  while (i < entries_.size() && entries_[i].bytes != 0) ++i;
  first_dead_ = i;
  const std::size_t stop = std::min(entries_.size(), i + kMostLookedAt);
  std::uint32_t hole_begin = i == 0 ? first_ : entries_[i - 1].offset + entries_[i - 1].bytes;
  std::size_t mark = entries_.size();  // the hole's first mark, if it has one
  std::uint32_t largest = 0;
  for (; i < stop; ++i) {
    if (entries_[i].bytes == 0) {
      mark = std::min(mark, i);
      continue;
    }
    if (mark != entries_.size()) {
      const std::uint64_t at = align_up(hole_begin, alignment);
      if (at + bytes <= entries_[i].offset) {
        entries_[mark] = {static_cast<std::uint32_t>(at), bytes};
        --dead_;
        // The rest of the hole keeps its other marks; they stay sorted.
        for (std::size_t j = mark + 1; j < i; ++j)
          entries_[j].offset = std::max(entries_[j].offset, entries_[mark].offset);
        return entries_[mark].offset;
      }
      largest = std::max(largest, entries_[i].offset - hole_begin);
    }
    hole_begin = entries_[i].offset + entries_[i].bytes;
    mark = entries_.size();
  }
  if (stop == entries_.size()) largest_ = largest;
  return std::nullopt;
}

[[gnu::hot]] std::uint32_t ContentBook::room(std::uint32_t offset) const noexcept {
  auto it = find(offset);
  if (it == entries_.end()) return 0;
  do ++it;
  while (it != entries_.end() && it->bytes == 0);
  return (it == entries_.end() ? limit_ : it->offset) - offset;
}

[[gnu::hot]] void ContentBook::resize(std::uint32_t offset, std::uint32_t new_bytes) noexcept {
  const auto it = entries_.begin() + (find(offset) - entries_.cbegin());
  if (it + 1 == entries_.end()) {
    end_ = offset + new_bytes;
  } else {
    largest_ = kUnknown;
  }
  it->bytes = new_bytes;
}

[[gnu::hot]] std::uint32_t ContentBook::size_of(std::uint32_t offset) const noexcept {
  const auto it = find(offset);
  return it == entries_.end() ? 0 : it->bytes;
}

[[gnu::hot]] void ContentBook::free(std::uint32_t offset) noexcept {
  const auto it = entries_.begin() + (find(offset) - entries_.cbegin());
  if (it == entries_.end()) return;
  if (it + 1 != entries_.end()) {
    it->bytes = 0;
    ++dead_;
    first_dead_ = std::min(first_dead_, static_cast<std::size_t>(it - entries_.begin()));
    largest_ = kUnknown;
    if (dead_ > 2 * blocks() + 64) drop_doubled_marks();
    return;
  }
  // The end moves back to the new last block; the hole before the freed block is no hole any more.
  entries_.pop_back();
  for (; !entries_.empty() && entries_.back().bytes == 0; --dead_) entries_.pop_back();
  end_ = entries_.empty() ? first_ : entries_.back().offset + entries_.back().bytes;
}

// One mark is enough for a hole. Afterwards there are at most as many marks as blocks, so the cost is spread over as
// many frees.
void ContentBook::drop_doubled_marks() noexcept {
  const auto doubled = [](const Entry& a, const Entry& b) { return a.bytes == 0 && b.bytes == 0; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), doubled), entries_.end());
  dead_ = static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.bytes == 0; }));
  first_dead_ = 0;
}

std::uint32_t ContentBook::gap_bytes() const noexcept {
  std::uint32_t gaps = 0, from = first_;
  for (const Entry& entry : entries_) {
    if (entry.bytes == 0) continue;
    gaps += entry.offset - from;
    from = entry.offset + entry.bytes;
  }
  return gaps;
}

}  // namespace baton::memory
