// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/backed_ranges.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace baton::memory;

TEST(BackedRanges, NothingIsKnownAtFirst) {
  const BackedRanges ranges;
  EXPECT_EQ(ranges.known(0), 0U);
  EXPECT_EQ(ranges.known(12345), 0U);
}

TEST(BackedRanges, TheLongestRangeOfAPageIsKnownAndNoOtherPages) {
  BackedRanges ranges;
  ranges.remember(0, 1);
  ranges.remember(100, 7);
  ranges.remember(100, 3);
  EXPECT_EQ(ranges.known(0), 1U);
  EXPECT_EQ(ranges.known(100), 7U);
  EXPECT_EQ(ranges.known(101), 0U);
  ranges.remember(100, 524'289);                     // the largest message
  ranges.remember((std::uint64_t{1} << 36) - 1, 2);  // the last page that a handle can name
  EXPECT_EQ(ranges.known(100), 524'289U);
  EXPECT_EQ(ranges.known((std::uint64_t{1} << 36) - 1), 2U);
}

TEST(BackedRanges, ManyPagesAreKnownAndTooManyAreForgottenNotGrownFor) {
  BackedRanges ranges;
  // Slots of 256 MiB, as a publisher has them, and beside them every page, as none has.
  for (std::uint64_t i = 0; i < BackedRanges::kMostPages; ++i)
    ranges.remember(i << 16, static_cast<std::uint32_t>(1 + i % 100));
  for (std::uint64_t i = 0; i < BackedRanges::kMostPages; ++i) ASSERT_EQ(ranges.known(i << 16), 1 + i % 100) << i;
  std::uint64_t known = 0;
  for (std::uint64_t i = 1; i < 4 * BackedRanges::kMostPages; ++i) ranges.remember(i, 1);
  for (std::uint64_t i = 1; i < 4 * BackedRanges::kMostPages; ++i) known += ranges.known(i);
  EXPECT_LE(known, BackedRanges::kMostPages);
  EXPECT_EQ(ranges.known(4 * BackedRanges::kMostPages - 1), 1U) << "the newest are there";
}

// What the thread rules promise; TSan looks at it.
TEST(BackedRanges, OthersLookWhileOneRemembers) {
  BackedRanges ranges;
  std::atomic<bool> stop{false};
  std::thread looker([&] {
    std::uint64_t wrong = 0;
    while (!stop.load(std::memory_order_relaxed))
      for (std::uint64_t i = 0; i < 5000; ++i) {
        const std::uint32_t known = ranges.known(i * 3);
        wrong += known != 0 && known != i % 50 + 1;
        wrong += ranges.known(i * 3 + 1) != 0;
      }
    EXPECT_EQ(wrong, 0U);
  });
  for (std::uint64_t i = 0; i < 5000; ++i) ranges.remember(i * 3, static_cast<std::uint32_t>(i % 50 + 1));
  stop = true;
  looker.join();
}
