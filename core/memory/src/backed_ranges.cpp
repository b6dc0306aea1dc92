// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/backed_ranges.hpp"
#include "baton/os/hot_path.hpp"

#include <cstring>
#include <new>

#include "baton/os/hot_memory.hpp"

namespace baton::memory {

BackedRanges::~BackedRanges() {
  for (std::uintptr_t table = table_.load(std::memory_order_relaxed); table != 0;) {
    const std::uintptr_t older = head_of(table).older;
    os::hot_free(&head_of(table), bytes_of(bits_of(table)));
    table = older;
  }
}

/// known(), where another page has the page's first place.
BATON_HOT_SELDOM std::uint32_t BackedRanges::search(std::uintptr_t table, std::uint64_t page) noexcept {
  const unsigned bits = bits_of(table);
  for (std::size_t i = place(page, bits);; i = (i + 1) & mask_of(bits)) {
    const std::uint64_t word = words_of(table)[i].load(std::memory_order_relaxed);  // as in known()
    if (word >> kCountBits == page) return static_cast<std::uint32_t>(word & kCountMask);
    if (word == 0) return 0;
  }
}

bool BackedRanges::grow() noexcept {
  const std::uintptr_t old = table_.load(std::memory_order_relaxed);  // only remember() stores it
  const unsigned bits = old != 0 ? bits_of(old) + 1 : kFirstBits;
  void* memory = nullptr;
  try {
    memory = os::hot_allocate(bytes_of(bits));
  } catch (const std::bad_alloc&) {
    return false;
  }
  std::memset(memory, 0, bytes_of(bits));  // zero words are empty entries
  auto* const head = static_cast<Head*>(memory);
  head->older = old;
  const std::uintptr_t table = reinterpret_cast<std::uintptr_t>(head + 1) | (bits - kFirstBits);
  if (old != 0) {
    for (std::size_t i = 0; i <= mask_of(bits_of(old)); ++i) {
      const std::uint64_t word = words_of(old)[i].load(std::memory_order_relaxed);
      if (word != 0) put(table, word >> kCountBits, word & kCountMask);
    }
  }
  table_.store(table, std::memory_order_release);  // pairs with the acquire in known()
  return true;
}

void BackedRanges::put(std::uintptr_t table, std::uint64_t page, std::uint64_t count) noexcept {
  const unsigned bits = bits_of(table);
  for (std::size_t i = place(page, bits);; i = (i + 1) & mask_of(bits)) {
    Word& place = words_of(table)[i];
    const std::uint64_t word = place.load(std::memory_order_relaxed);
    if (word != 0 && word >> kCountBits != page) continue;
    if (word == 0) ++head_of(table).used;
    if ((word & kCountMask) < count) place.store(page << kCountBits | count, std::memory_order_relaxed);
    return;
  }
}

void BackedRanges::remember(std::uint64_t page, std::uint32_t count) noexcept {
  std::uintptr_t table = table_.load(std::memory_order_relaxed);
  if (table == 0 || 2 * (head_of(table).used + 1) > mask_of(bits_of(table)) + 1) {
    if (table != 0 && head_of(table).used >= kMostPages) {
      // A concurrent known() finds fewer entries, and its caller asks the kernel.
      for (std::size_t i = 0; i <= mask_of(bits_of(table)); ++i) words_of(table)[i].store(0, std::memory_order_relaxed);
      head_of(table).used = 0;
    } else if (!grow()) {
      return;
    }
    table = table_.load(std::memory_order_relaxed);
  }
  put(table, page, count);
}

}  // namespace baton::memory
