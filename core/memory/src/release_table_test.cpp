// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/release_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace baton::memory {
namespace {

class ReleaseTableTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kEntries = 4;
  std::atomic<std::uint64_t> words_[kEntries] = {};
  ReleaseTable<StdPlatform> table_{words_, kEntries};
  ReleaseWriter<StdPlatform> reader_{words_, kEntries};
  std::vector<std::uint64_t> released_;

  bool collect(std::uint64_t consumed = 1000) {
    return table_.collect(consumed, [this](std::uint64_t handle) { released_.push_back(handle); });
  }
};

TEST_F(ReleaseTableTest, GivesBackInAnyOrder) {
  const std::uint64_t a = table_.acquire(10, 0), b = table_.acquire(11, 1), c = table_.acquire(12, 2);
  EXPECT_TRUE(collect());
  EXPECT_TRUE(released_.empty());
  reader_.release(c);
  reader_.release(a);
  EXPECT_TRUE(collect());
  EXPECT_EQ(released_, (std::vector<std::uint64_t>{10, 12}));
  reader_.release(b);
  EXPECT_TRUE(collect());
  EXPECT_EQ(released_.back(), 11U);
  EXPECT_EQ(table_.outstanding(3), 0U);
  EXPECT_TRUE(collect());
  EXPECT_EQ(released_.size(), 3U) << "each handle comes back once";
}

TEST_F(ReleaseTableTest, LooksOnlyAtMessagesThatCanHaveBeenTaken) {
  const std::uint64_t a = table_.acquire(10, 0), b = table_.acquire(11, 1);
  reader_.release(a);
  reader_.release(b);
  EXPECT_TRUE(collect(1));
  EXPECT_EQ(released_, (std::vector<std::uint64_t>{10}));
}

TEST_F(ReleaseTableTest, LendsTheEntryThatCameBackLastWithAFreshToken) {
  const std::uint64_t a = table_.acquire(10, 0);
  table_.acquire(11, 1);
  reader_.release(a);
  collect();
  const std::uint64_t again = table_.acquire(12, 2);
  EXPECT_EQ(entry_index(again), entry_index(a));
  EXPECT_NE(again, a);
  collect();
  EXPECT_EQ(released_.size(), 1U) << "the old token in the word releases nothing";
}

TEST_F(ReleaseTableTest, HasNoMoreEntriesThanWords) {
  for (std::uint64_t i = 0; i < kEntries; ++i) EXPECT_NE(table_.acquire(i, i), kNoEntry);
  EXPECT_EQ(table_.acquire(9, 9), kNoEntry);
}

TEST_F(ReleaseTableTest, TakesBackTheEntryOfAnEvictedMessage) {
  table_.acquire(10, 0);
  EXPECT_EQ(table_.cancel(0), 10U);
  EXPECT_EQ(table_.outstanding(1), 0U);
  const std::uint64_t b = table_.acquire(11, 1);
  reader_.release(b);
  EXPECT_TRUE(collect());
  EXPECT_EQ(released_, (std::vector<std::uint64_t>{11}));
}

TEST_F(ReleaseTableTest, FindsUnreadMessagesBehindThoseThatAreHeld) {
  const std::uint64_t a = table_.acquire(10, 0), b = table_.acquire(11, 1);  // both are taken
  table_.acquire(12, 2);
  EXPECT_EQ(table_.handle_at(2), 12U);
  reader_.release(b);
  EXPECT_TRUE(collect(2));
  EXPECT_EQ(table_.cancel(2), 12U);
  table_.acquire(13, 5);
  table_.acquire(14, 7);
  EXPECT_EQ(table_.cancel(5), 13U);
  EXPECT_EQ(table_.handle_at(7), 14U);
  reader_.release(a);
  EXPECT_TRUE(collect(7));
  EXPECT_EQ(released_, (std::vector<std::uint64_t>{11, 10}));
  EXPECT_EQ(table_.cancel(7), 14U);
  EXPECT_EQ(table_.outstanding(5), 0U);
}

TEST_F(ReleaseTableTest, DropsEverythingWhenTheConnectionEnds) {
  const std::uint64_t a = table_.acquire(10, 0);
  table_.acquire(11, 1);
  table_.acquire(12, 2);
  reader_.release(a);
  collect();
  table_.drop_all([this](std::uint64_t handle) { released_.push_back(handle); });
  std::sort(released_.begin(), released_.end());
  EXPECT_EQ(released_, (std::vector<std::uint64_t>{10, 11, 12}));
  EXPECT_EQ(table_.outstanding(3), 0U);
}

TEST_F(ReleaseTableTest, CallsGarbageCorruptedAndReleasesNothingByIt) {
  for (std::uint64_t garbage : {~std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << kEntryBits}) {
    std::atomic<std::uint64_t> words[2] = {};
    ReleaseTable<StdPlatform> table(words, 2);
    const std::uint64_t token = table.acquire(10, 0);
    words[entry_index(token)].store(garbage == token ? garbage + 2 : garbage);
    EXPECT_FALSE(table.collect(10, [](std::uint64_t) { FAIL(); }));
    EXPECT_TRUE(table.corrupted());
    int dropped = 0;
    table.drop_all([&](std::uint64_t handle) { dropped += handle == 10 ? 1 : 100; });
    EXPECT_EQ(dropped, 1);
  }
}

TEST_F(ReleaseTableTest, AReleaseOfAnUnreadMessageDoesNotOutliveItsEviction) {
  const std::uint64_t a = table_.acquire(10, 0);
  reader_.release(a);  // a hostile reader: it was never taken
  table_.cancel(0);    // the publisher evicts it
  EXPECT_EQ(entry_index(table_.acquire(11, 1)), entry_index(a));
  EXPECT_FALSE(collect()) << "the word holds neither the former release nor the new token";
  EXPECT_TRUE(released_.empty());
}

TEST_F(ReleaseTableTest, ReaderRefusesTokensThatPointOutside) {
  EXPECT_TRUE(reader_.valid(table_.acquire(10, 0)));
  EXPECT_FALSE(reader_.valid(kNoEntry));
  EXPECT_FALSE(reader_.valid((std::uint64_t{7} << kEntryBits) | kEntries));
}

TEST_F(ReleaseTableTest, EveryHandleComesBackOnceUnderRandomOperations) {
  std::mt19937 random(1);
  std::deque<std::uint64_t> unread;  // positions
  std::vector<std::uint64_t> held;   // tokens of messages that were taken
  std::map<std::uint64_t, std::uint64_t> tokens;
  std::map<std::uint64_t, int> back;
  std::uint64_t next = 0;
  const auto handle_of = [](std::uint64_t position) { return 3 * position + 7; };
  const auto note = [&](std::uint64_t handle) { ++back[handle]; };
  for (int step = 0; step < 20000; ++step) {
    switch (random() % 5) {
      case 0:
      case 1: {
        const std::uint64_t token = table_.acquire(handle_of(next), next);
        if (token == kNoEntry) break;
        tokens[next] = token;
        unread.push_back(next++);
        break;
      }
      case 2:  // the reader takes, or the publisher evicts
        if (unread.empty()) break;
        ASSERT_EQ(table_.handle_at(unread.front()), handle_of(unread.front()));
        if (random() % 3 == 0) {
          note(table_.cancel(unread.front()));
        } else {
          held.push_back(tokens[unread.front()]);
        }
        unread.pop_front();
        break;
      case 3:
        if (held.empty()) break;
        std::swap(held[random() % held.size()], held.back());
        reader_.release(held.back());
        held.pop_back();
        break;
      default:
        ASSERT_TRUE(table_.collect(unread.empty() ? next : unread.front(), note));
        ASSERT_EQ(table_.outstanding(next), unread.size() + held.size());
    }
  }
  table_.collect(unread.empty() ? next : unread.front(), note);
  table_.drop_all(note);
  for (std::uint64_t position = 0; position < next; ++position) ASSERT_EQ(back[handle_of(position)], 1) << position;
}

}  // namespace
}  // namespace baton::memory
