// SPDX-License-Identifier: Apache-2.0
#include "content_book.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

using baton::memory::ContentBook;

TEST(ContentBook, PlacesBlocksInCallOrderWithAlignmentOnly) {
  ContentBook book;
  book.reset(24, 1000);
  EXPECT_EQ(book.allocate(5, 1), 24u);
  EXPECT_EQ(book.allocate(8, 8), 32u);
  EXPECT_EQ(book.end(), 40u);
}

TEST(ContentBook, RefusesWhatDoesNotFitTheLimit) {
  ContentBook book;
  book.reset(0, 100);
  EXPECT_FALSE(book.allocate(101, 1));
  EXPECT_EQ(book.allocate(100, 1), 0u);
  EXPECT_FALSE(book.allocate(1, 1));
}

TEST(ContentBook, AppendsAsAllocateDoesWhileNothingWasFreed) {
  ContentBook book;
  book.reset(24, 100);
  std::uint32_t at = 0;
  ASSERT_TRUE(book.append(5, 1, 100, &at));
  EXPECT_EQ(at, 24u);
  ASSERT_TRUE(book.append(8, 8, 100, &at));
  EXPECT_EQ(at, 32u);
  EXPECT_FALSE(book.append(61, 1, 100, &at)) << "beyond the limit";
  EXPECT_FALSE(book.append(8, 1, 47, &at)) << "beyond the end";
  book.free(24);
  EXPECT_FALSE(book.append(1, 1, 100, &at)) << "the freed block comes first";
  EXPECT_EQ(book.allocate(1, 1), 24u);
  ASSERT_TRUE(book.append(60, 1, 100, &at));
  EXPECT_EQ(at, 40u);
  book.resize(40, 10);
  for (std::uint32_t blocks = 3; blocks < ContentBook::kOwn; ++blocks) ASSERT_TRUE(book.append(1, 1, 100, &at));
  EXPECT_FALSE(book.append(1, 1, 100, &at)) << "no room for one more entry";
  EXPECT_EQ(book.allocate(1, 1), at + 1);
  EXPECT_TRUE(book.append(1, 1, 100, &at));
  EXPECT_EQ(book.blocks(), ContentBook::kOwn + 2);
  EXPECT_EQ(book.size_of(40), 10u);
}

TEST(ContentBook, TheEndFallsBackWhenTheLastBlockIsFreed) {
  ContentBook book;
  book.reset(16, 1000);
  const auto a = *book.allocate(10, 1), b = *book.allocate(10, 1);
  book.free(b);
  EXPECT_EQ(book.end(), 26u);
  book.free(a);
  EXPECT_EQ(book.end(), 16u);
  EXPECT_EQ(book.gap_bytes(), 0u);
}

TEST(ContentBook, AlignmentPaddingIsNotUsedByLaterBlocks) {
  ContentBook book;
  book.reset(24, 1000);
  EXPECT_EQ(book.allocate(4, 4), 24u);
  EXPECT_EQ(book.allocate(16, 64), 64u);
  EXPECT_EQ(book.allocate(4, 4), 80u) << "a message built from front to back lies in call order";
}

TEST(ContentBook, AFreedBlockLeavesRoomThatMergesWithItsNeighbours) {
  ContentBook book;
  book.reset(0, 50);
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_EQ(book.allocate(10, 1), i * 10);
  book.free(10);
  book.free(20);
  EXPECT_FALSE(book.allocate(21, 1)) << "neither the hole nor what is left behind the end";
  EXPECT_EQ(book.room(0), 30u);
  EXPECT_EQ(book.allocate(15, 1), 10u);
  EXPECT_EQ(book.allocate(5, 1), 25u);
  EXPECT_EQ(book.size_of(10), 15u);
  EXPECT_EQ(book.room(10), 15u);
  EXPECT_EQ(book.gap_bytes(), 0u);
  EXPECT_EQ(book.blocks(), 4u);
}

TEST(ContentBook, AGrowingPairOfVectorsUsesItsDeadSpaceAgain) {
  ContentBook book;
  book.reset(0, 1 << 30);
  // Two vectors filled in turn: each that is not last moves behind the other, doubling.
  std::uint32_t at[2] = {*book.allocate(16, 1), *book.allocate(16, 1)}, size = 16;
  for (int round = 0; round < 12; ++round) {
    size *= 2;
    for (std::uint32_t& block : at) {
      if (size <= book.room(block)) {
        book.resize(block, size);
        continue;
      }
      const std::uint32_t moved = *book.allocate(size, 1);
      book.free(block);
      block = moved;
    }
  }
  EXPECT_LE(book.end(), 4 * 2 * size);
}

TEST(ContentBook, AHundredThousandBlocksAreBuiltAndTornDownInLinearTime) {  // the watchdog sees it otherwise
  ContentBook book;
  constexpr std::uint32_t kBlocks = 400'000;
  for (int round = 0; round < 2; ++round) {
    book.reset(0, 1 << 30);
    std::vector<std::uint32_t> offsets;
    for (std::uint32_t i = 0; i < kBlocks; ++i) offsets.push_back(*book.allocate(i % 2 ? 8 : 4, i % 2 ? 8 : 4));
    for (std::uint32_t i = 0; i + 1 < kBlocks; ++i) book.free(offsets[i]);
    EXPECT_EQ(book.blocks(), 1u);
    EXPECT_EQ(book.allocate(64, 64), 0u);
  }
}

// Against a plain model: blocks never overlap, gaps are counted exactly.
TEST(ContentBook, RandomOperationsKeepItsInvariants) {
  std::mt19937 random(1);
  for (int run = 0; run < 200; ++run) {
    ContentBook book;
    constexpr std::uint32_t kFirst = 40, kLimit = 4096;
    book.reset(kFirst, kLimit);
    std::map<std::uint32_t, std::uint32_t> model;
    for (int step = 0; step < 200; ++step) {
      const auto pick = [&] { return std::next(model.begin(), static_cast<long>(random() % model.size())); };
      switch (model.empty() ? 0 : random() % 3) {
        case 0: {
          const std::uint32_t bytes = static_cast<std::uint32_t>(random() % 200 + 1), alignment = 1u << random() % 7;
          std::uint32_t appended = 0;
          const bool simple = book.append(bytes, alignment, kLimit, &appended);
          if (auto at = simple ? std::optional(appended) : book.allocate(bytes, alignment)) {
            ASSERT_EQ(*at % alignment, 0u);
            model[*at] = bytes;
          }
          break;
        }
        case 1: {
          auto it = pick();
          book.free(it->first);
          model.erase(it);
          break;
        }
        default: {
          auto it = pick();
          const std::uint32_t bytes = static_cast<std::uint32_t>(random() % 300 + 1);
          if (bytes <= book.room(it->first)) {
            book.resize(it->first, bytes);
            it->second = bytes;
          }
        }
      }
      std::uint32_t end = kFirst, gaps = 0;
      for (auto [offset, bytes] : model) {
        ASSERT_GE(offset, end);
        gaps += offset - end;
        end = offset + bytes;
        ASSERT_EQ(book.size_of(offset), bytes);
      }
      ASSERT_EQ(book.end(), end);
      ASSERT_EQ(book.gap_bytes(), gaps);
      ASSERT_EQ(book.blocks(), model.size());
    }
  }
}
