// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/backed_ranges.hpp"

#include <cstdlib>

namespace baton::memory {
namespace {

constexpr unsigned kFirstBits = 6;

}  // namespace

BackedRanges::~BackedRanges() {
  for (Table* table = table_.load(std::memory_order_relaxed); table != nullptr;) {
    Table* const older = table->older;
    std::free(table);
    table = older;
  }
}

bool BackedRanges::grow() noexcept {
  Table* const old = table_.load(std::memory_order_relaxed);  // only remember() stores it
  const unsigned bits = old != nullptr ? 64 - old->shift + 1 : kFirstBits;
  const std::size_t places = std::size_t{1} << bits;
  // calloc: zero words are empty entries.
  auto* const table = static_cast<Table*>(std::calloc(1, sizeof(Table) + places * sizeof(std::uint64_t)));
  if (table == nullptr) return false;
  table->older = old;
  table->mask = places - 1;
  table->shift = 64 - bits;
  if (old != nullptr) {
    for (std::size_t i = 0; i <= old->mask; ++i) {
      const std::uint64_t word = old->words()[i].load(std::memory_order_relaxed);
      if (word != 0) put(*table, word >> kCountBits, word & kCountMask);
    }
  }
  table_.store(table, std::memory_order_release);  // pairs with the acquire in known()
  return true;
}

void BackedRanges::put(Table& table, std::uint64_t page, std::uint64_t count) noexcept {
  for (std::size_t i = place(page, table.shift);; i = (i + 1) & table.mask) {
    const std::uint64_t word = table.words()[i].load(std::memory_order_relaxed);
    if (word != 0 && word >> kCountBits != page) continue;
    if (word == 0) ++table.used;
    if ((word & kCountMask) < count) table.words()[i].store(page << kCountBits | count, std::memory_order_relaxed);
    return;
  }
}

void BackedRanges::remember(std::uint64_t page, std::uint32_t count) noexcept {
  Table* table = table_.load(std::memory_order_relaxed);
  if (table == nullptr || 2 * (table->used + 1) > table->mask + 1) {
    if (table != nullptr && table->used >= kMostPages) {
      // A concurrent known() finds fewer entries, and its caller asks the kernel.
      for (std::size_t i = 0; i <= table->mask; ++i) table->words()[i].store(0, std::memory_order_relaxed);
      table->used = 0;
    } else if (!grow()) {
      return;
    }
    table = table_.load(std::memory_order_relaxed);
  }
  put(*table, page, count);
}

}  // namespace baton::memory
