// SPDX-License-Identifier: Apache-2.0
// The pages of a foreign segment that this process has found backed, so that the kernel is asked once per range and not
// per message. For each page in which a chunk begins: the number of backed pages from there on.
// Thread rules: known() from any thread, without a lock; remember() externally serialised.
// Invariants: (1) an entry stays true: a page of a sealed segment that was written once cannot become a hole
// (os/memory_file.hpp). So a lost or outdated entry costs one more query, never a wrong answer. (2) At most kMostPages
// entries of 16 bytes are kept; beyond that all are dropped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace baton::memory {

class BackedRanges {
 public:
  static constexpr std::size_t kMostPages = std::size_t{1} << 16;

  BackedRanges() = default;
  ~BackedRanges();
  BackedRanges(const BackedRanges&) = delete;
  BackedRanges& operator=(const BackedRanges&) = delete;

  /// How many pages from `page` on are known to be backed; 0: not known.
  std::uint32_t known(std::uint64_t page) const noexcept {
    const Table* table = table_.load(std::memory_order_acquire);  // pairs with the release in grow()
    if (table == nullptr) return 0;
    for (std::size_t i = place(page, table->shift);; i = (i + 1) & table->mask) {
      // relaxed: the word is complete in itself.
      const std::uint64_t word = table->words()[i].load(std::memory_order_relaxed);
      if (word >> kCountBits == page) return static_cast<std::uint32_t>(word & kCountMask);
      if (word == 0) return 0;
    }
  }
  /// Records that [page, page + count) is backed; drops the record if memory is short. REQUIRES: 0 < count < 2^21, page
  /// < 2^43.
  void remember(std::uint64_t page, std::uint32_t count) noexcept;

 private:
  static constexpr unsigned kCountBits = 21;  // 2 GiB and a header, in pages
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;

  /// Open addressing, at most half full. Replaced tables are not freed, because other threads may still read them.
  struct Table {
    Table* older;
    std::size_t mask;
    unsigned shift;
    std::size_t used;  // used by remember() only
    std::atomic<std::uint64_t>* words() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
    const std::atomic<std::uint64_t>* words() const noexcept {
      return reinterpret_cast<const std::atomic<std::uint64_t>*>(this + 1);
    }
  };
  static std::size_t place(std::uint64_t page, unsigned shift) noexcept {
    return static_cast<std::size_t>(page * 0x9e3779b97f4a7c15U >> shift);  // 2^64 / golden ratio
  }
  bool grow() noexcept;
  static void put(Table& table, std::uint64_t page, std::uint64_t count) noexcept;

  std::atomic<Table*> table_{nullptr};
};

}  // namespace baton::memory
