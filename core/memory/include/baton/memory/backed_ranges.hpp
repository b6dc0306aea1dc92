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

#include "baton/os/hot_path.hpp"

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
    const std::uintptr_t table = table_.load(std::memory_order_acquire);  // pairs with the release in grow()
    if (unlikely(table == 0)) return 0;
    // relaxed: the word is complete in itself.
    const std::uint64_t word = words_of(table)[place(page, bits_of(table))].load(std::memory_order_relaxed);
    if (likely(word >> kCountBits == page)) return static_cast<std::uint32_t>(word & kCountMask);
    return search(table, page);
  }
  /// Records that [page, page + count) is backed; drops the record if memory is short. REQUIRES: 0 < count < 2^21, page
  /// < 2^43.
  void remember(std::uint64_t page, std::uint32_t count) noexcept;

 private:
  static constexpr unsigned kCountBits = 21;  // 2 GiB and a header, in pages
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;

  /// Open addressing, at most half full. Before the words lies what only remember() uses. Replaced tables are not freed, because other
  /// threads may still read them.
  struct alignas(16) Head {
    std::uintptr_t older;
    std::size_t used;
  };
  static_assert(sizeof(Head) % 16 == 0 && __STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);
  using Word = std::atomic<std::uint64_t>;

  // A table is named by the address of its words, which is a multiple of 16, plus its logarithmic size less kFirstBits: one word, so that
  // known() finds both at once.
  static constexpr unsigned kFirstBits = 6;
  static constexpr std::uintptr_t kBitsMask = 15;
  static_assert((std::size_t{1} << (kFirstBits + kBitsMask)) >= 2 * kMostPages);
  static unsigned bits_of(std::uintptr_t table) noexcept {
    return kFirstBits + static_cast<unsigned>(table & kBitsMask);
  }
  static Word* words_of(std::uintptr_t table) noexcept { return reinterpret_cast<Word*>(table & ~kBitsMask); }
  static Head& head_of(std::uintptr_t table) noexcept { return reinterpret_cast<Head*>(words_of(table))[-1]; }
  static std::size_t bytes_of(unsigned bits) noexcept { return sizeof(Head) + (std::size_t{1} << bits) * sizeof(Word); }
  static std::size_t mask_of(unsigned bits) noexcept { return (std::size_t{1} << bits) - 1; }
  static std::size_t place(std::uint64_t page, unsigned bits) noexcept {
    return static_cast<std::size_t>(page * 0x9e3779b97f4a7c15U >> (64 - bits));  // 2^64 / golden ratio
  }
  static std::uint32_t search(std::uintptr_t table, std::uint64_t page) noexcept;
  bool grow() noexcept;
  static void put(std::uintptr_t table, std::uint64_t page, std::uint64_t count) noexcept;

  std::atomic<std::uintptr_t> table_{0};
};

}  // namespace baton::memory
