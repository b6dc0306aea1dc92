// SPDX-License-Identifier: Apache-2.0
#include "region.hpp"

#include <algorithm>
#include <stdexcept>

namespace baton::perf::tzc {
namespace {

constexpr unsigned kAttempts = 16;

std::uint64_t word_of(std::uint32_t magic, std::uint32_t references) { return std::uint64_t{magic} << 32 | references; }
std::uint32_t magic_of(std::uint64_t age) { return static_cast<std::uint32_t>(age) | 1u << 31; }

}  // namespace

Region::Region(std::size_t mem_size)
    : segment_(os::create_segment("baton-perf-tzc", os::round_to_pages(mem_size), os::Writers::kBothEnds).or_throw()) {}

/// First fit.
bool Region::place(std::size_t bytes, std::size_t& offset) const {
  std::size_t free = 0;
  for (const Used& used : used_) {
    if (used.offset - free >= bytes) break;
    free = used.end;
  }
  offset = free;
  return segment_.mapping.size() - free >= bytes;
}

bool Region::release_oldest() {
  while (true) {
    auto oldest = used_.end();
    for (auto at = used_.begin(); at != used_.end(); ++at) {
      const auto* part = reinterpret_cast<const DataPart*>(segment_.mapping.base() + at->offset);
      const bool free = static_cast<std::uint32_t>(part->word.load(std::memory_order_acquire)) == 0;
      if (free && (oldest == used_.end() || at->age < oldest->age)) oldest = at;
    }
    if (oldest == used_.end()) return false;
    auto* part = reinterpret_cast<DataPart*>(segment_.mapping.base() + oldest->offset);
    std::uint64_t unreferenced = word_of(magic_of(oldest->age), 0);
    // acquire: pairs with the release in drop(): the readers have finished with the memory that will be overwritten.
    if (!part->word.compare_exchange_strong(unreferenced, 0, std::memory_order_acquire, std::memory_order_relaxed))
      continue;
    used_.erase(oldest);
    return true;
  }
}

DataPart& Region::allocate(std::size_t bytes, RegionHandle& handle) {
  const std::size_t whole = sizeof(DataPart) + ((bytes + 63) & ~std::size_t{63});
  std::size_t offset = 0;
  for (unsigned attempt = 0; !place(whole, offset); ++attempt)
    if (attempt == kAttempts || !release_oldest())
      throw std::runtime_error("no room in the shared memory region (mem_size)");
  const std::uint64_t age = count_++;
  const auto at = std::find_if(used_.begin(), used_.end(), [&](const Used& used) { return used.offset > offset; });
  used_.insert(at, {offset, offset + whole, age});
  auto* part = reinterpret_cast<DataPart*>(segment_.mapping.base() + offset);
  part->bytes = bytes;
  handle = {offset, bytes, magic_of(age)};
  part->word.store(word_of(handle.magic, 1), std::memory_order_release);  // pairs with the acquire in take()
  return *part;
}

DataPart* take(std::byte* base, std::size_t region_bytes, const RegionHandle& handle) noexcept {
  if (handle.offset % alignof(DataPart) != 0 || handle.offset + sizeof(DataPart) > region_bytes ||
      handle.bytes > region_bytes - handle.offset - sizeof(DataPart))
    return nullptr;
  auto* part = reinterpret_cast<DataPart*>(base + handle.offset);
  std::uint64_t word = part->word.load(std::memory_order_acquire);
  do {
    if (word >> 32 != handle.magic) return nullptr;
  } while (!part->word.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_acquire));
  return part;
}

void drop(DataPart& part) noexcept {
  part.word.fetch_sub(1, std::memory_order_release);
}  // pairs with release_oldest()

}  // namespace baton::perf::tzc
