// SPDX-License-Identifier: Apache-2.0
#include "content_book.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

using baton::memory::ContentBook;

TEST(ContentBook, PlacesBlocksInCallOrderWithAlignmentOnly) {
  ContentBook book;
  book.reset(24);
  EXPECT_EQ(book.allocate(5, 1, 1000), 24u);
  EXPECT_EQ(book.allocate(8, 8, 1000), 32u);
  EXPECT_EQ(book.end(), 40u);
}

TEST(ContentBook, RefusesWhatDoesNotFitTheLimit) {
  ContentBook book;
  book.reset(0);
  EXPECT_FALSE(book.allocate(101, 1, 100));
  EXPECT_EQ(book.allocate(100, 1, 100), 0u);
  EXPECT_FALSE(book.allocate(1, 1, 100));
}

TEST(ContentBook, TheEndFallsBackWhenTheLastBlockIsFreed) {
  ContentBook book;
  book.reset(16);
  const auto a = *book.allocate(10, 1, 1000), b = *book.allocate(10, 1, 1000);
  book.free(b);
  EXPECT_EQ(book.end(), 26u);
  book.free(a);
  EXPECT_EQ(book.end(), 16u);
  EXPECT_EQ(book.gap_bytes(), 0u);
}

// Against a plain model: blocks never overlap, gaps are counted exactly.
TEST(ContentBook, RandomOperationsKeepItsInvariants) {
  std::mt19937 random(1);
  for (int run = 0; run < 200; ++run) {
    ContentBook book;
    constexpr std::uint32_t kFirst = 40, kLimit = 4096;
    book.reset(kFirst);
    std::map<std::uint32_t, std::uint32_t> model;
    for (int step = 0; step < 200; ++step) {
      const auto pick = [&] { return std::next(model.begin(), static_cast<long>(random() % model.size())); };
      switch (model.empty() ? 0 : random() % 3) {
        case 0: {
          const std::uint32_t bytes = static_cast<std::uint32_t>(random() % 200 + 1), alignment = 1u << random() % 7;
          if (auto at = book.allocate(bytes, alignment, kLimit)) {
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
          if (bytes <= book.room(it->first, kLimit)) {
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
