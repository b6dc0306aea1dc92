// SPDX-License-Identifier: Apache-2.0
#include "content_book.hpp"

#include <algorithm>
#include <limits>

namespace baton::memory {
namespace {

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMostLookedAt = 512;  // entries per search for a hole, so that no message is quadratic to build

}  // namespace

std::optional<std::uint32_t> ContentBook::allocate(std::uint32_t bytes, std::uint32_t alignment) {
  if (dead_ > 0 && bytes <= largest_) {
    if (const auto at = reuse(bytes, alignment)) return at;
  }
  const std::uint64_t at = align_up(end_, alignment);
  if (at + bytes > limit_) return std::nullopt;
  if (used_ == room_) grow();
  add(static_cast<std::uint32_t>(at), bytes);
  return static_cast<std::uint32_t>(at);
}

void ContentBook::copy(const ContentBook& other) {
  std::vector<Entry> more(other.entries_ == other.own_ ? 0 : other.room_);
  more_ = std::move(more);
  entries_ = more_.empty() ? own_ : more_.data();
  std::copy_n(other.entries_, other.used_, entries_);
  used_ = other.used_;
  room_ = other.room_;
  dead_ = other.dead_;
  first_ = other.first_;
  end_ = other.end_;
  limit_ = other.limit_;
  first_dead_ = other.first_dead_;
  largest_ = other.largest_;
}

void ContentBook::grow() {
  std::vector<Entry> more(2 * std::size_t{room_});
  std::copy_n(entries_, used_, more.begin());
  more_ = std::move(more);
  entries_ = more_.data();
  room_ *= 2;
}

ContentBook::Entry* ContentBook::find(std::uint32_t offset) const noexcept {
  // The newest block is looked up most: a vector that grows at the end.
  if (used_ > 0 && last().offset == offset) return &last();
  Entry* it = std::lower_bound(entries_, end_entry(), offset,
                               [](const Entry& entry, std::uint32_t value) { return entry.offset < value; });
  for (; it != end_entry() && it->offset == offset; ++it)
    if (it->bytes != 0) return it;
  return end_entry();
}

std::optional<std::uint32_t> ContentBook::reuse(std::uint32_t bytes, std::uint32_t alignment) noexcept {
  std::size_t i = std::min(first_dead_, used_);
  while (i < used_ && entries_[i].bytes != 0) ++i;
  first_dead_ = static_cast<std::uint32_t>(i);
  const std::size_t stop = std::min<std::size_t>(used_, i + kMostLookedAt);
  std::uint32_t hole_begin = i == 0 ? first_ : entries_[i - 1].offset + entries_[i - 1].bytes;
  std::size_t mark = used_;  // the hole's first mark, if it has one
  std::uint32_t largest = 0;
  for (; i < stop; ++i) {
    if (entries_[i].bytes == 0) {
      mark = std::min(mark, i);
      continue;
    }
    if (mark != used_) {
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
    mark = used_;
  }
  if (stop == used_) largest_ = largest;
  return std::nullopt;
}

std::uint32_t ContentBook::room(std::uint32_t offset) const noexcept {
  const Entry* it = find(offset);
  if (it == end_entry()) return 0;
  do ++it;
  while (it != end_entry() && it->bytes == 0);
  return (it == end_entry() ? limit_ : it->offset) - offset;
}

void ContentBook::resize(std::uint32_t offset, std::uint32_t new_bytes) noexcept {
  Entry* const it = find(offset);
  if (it + 1 == end_entry()) {
    end_ = offset + new_bytes;
  } else {
    largest_ = kUnknown;
  }
  it->bytes = new_bytes;
}

std::uint32_t ContentBook::size_of(std::uint32_t offset) const noexcept {
  const Entry* it = find(offset);
  return it == end_entry() ? 0 : it->bytes;
}

void ContentBook::free(std::uint32_t offset) noexcept {
  Entry* const it = find(offset);
  if (it == end_entry()) return;
  if (it + 1 != end_entry()) {
    it->bytes = 0;
    ++dead_;
    first_dead_ = std::min(first_dead_, static_cast<std::uint32_t>(it - entries_));
    largest_ = kUnknown;
    if (dead_ > 2 * blocks() + 64) drop_doubled_marks();
    return;
  }
  // The end moves back to the new last block; the hole before the freed block is no hole any more.
  --used_;
  for (; used_ > 0 && last().bytes == 0; --dead_) --used_;
  end_ = used_ == 0 ? first_ : last().offset + last().bytes;
}

// One mark is enough for a hole. Afterwards there are at most as many marks as blocks, so the cost is spread over as
// many frees.
void ContentBook::drop_doubled_marks() noexcept {
  const auto doubled = [](const Entry& a, const Entry& b) { return a.bytes == 0 && b.bytes == 0; };
  used_ = static_cast<std::uint32_t>(std::unique(entries_, end_entry(), doubled) - entries_);
  dead_ = static_cast<std::uint32_t>(std::count_if(entries_, end_entry(), [](const Entry& e) { return e.bytes == 0; }));
  first_dead_ = 0;
}

std::uint32_t ContentBook::gap_bytes() const noexcept {
  std::uint32_t gaps = 0, from = first_;
  for (const Entry* it = entries_; it != end_entry(); ++it) {
    if (it->bytes == 0) continue;
    gaps += it->offset - from;
    from = it->offset + it->bytes;
  }
  return gaps;
}

}  // namespace baton::memory
