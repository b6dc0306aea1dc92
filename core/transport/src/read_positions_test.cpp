// SPDX-License-Identifier: Apache-2.0
#include "read_positions.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

using namespace baton;
using namespace baton::transport;

namespace {

Gid writer(std::size_t number) {
  Gid gid{};
  gid[0] = static_cast<std::uint8_t>(number);
  gid[1] = static_cast<std::uint8_t>(number >> 8);
  return gid;
}

// A writer whose connection ends and begins again, each time from a number that it chooses: from what was delivered and what was counted as
// missing follows that each message is one of the two, and none is both.
TEST(ReadPositions, EachMessageIsDeliveredOnceOrCountedOnce) {
  std::minstd_rand random(1);
  ReadPositions positions;
  positions.make_room(1);
  std::set<std::uint64_t> delivered;
  std::uint64_t next = 1, lost = 0;
  positions.ended(writer(1), 7, next);
  for (int connection = 0; connection < 300; ++connection) {
    // Replays some messages, or begins behind some that were published meanwhile.
    std::uint64_t at = random() % 2 == 0 ? next - std::min<std::uint64_t>(next - 1, random() % 5) : next + random() % 5;
    const auto gap = positions.begins(writer(1), 7, at);
    ASSERT_TRUE(gap.has_value());
    ASSERT_EQ(gap->missing, at > next ? at - next : 0);
    lost += gap->missing;
    for (std::uint64_t more = random() % 6; more > 0; --more, ++at)
      if (!positions.seen(writer(1), 7, at)) {
        ASSERT_TRUE(delivered.insert(at).second) << "delivered twice";
      }
    next = std::max(next, at);
    positions.ended(writer(1), 7, at);
  }
  EXPECT_EQ(delivered.size() + lost, next - 1);
}

TEST(ReadPositions, AnotherProcessIsAnotherWriter) {
  ReadPositions positions;
  positions.make_room(1);
  positions.ended(writer(1), 7, 100);
  EXPECT_FALSE(positions.begins(writer(1), 8, 1).has_value());
  EXPECT_FALSE(positions.begins(writer(2), 7, 1).has_value());
  EXPECT_FALSE(positions.seen(writer(1), 8, 5));
  EXPECT_TRUE(positions.seen(writer(1), 7, 99));
  positions.forget(writer(1), 8);
  EXPECT_TRUE(positions.seen(writer(1), 7, 99));
  positions.forget(writer(1), 7);
  EXPECT_FALSE(positions.seen(writer(1), 7, 99)) << "a later writer with this id counts from 1";
}

TEST(ReadPositions, WhatWasCountedIsSaidOnce) {
  ReadPositions positions;
  positions.make_room(1);
  positions.ended(writer(1), 7, 10);
  positions.count_next(writer(1));
  const auto first = positions.begins(writer(1), 7, 12);
  EXPECT_EQ(first->missing, 2U);
  EXPECT_EQ(first->counted, 1U);
  EXPECT_EQ(positions.begins(writer(1), 7, 12)->counted, 0U);
  EXPECT_EQ(positions.begins(writer(1), 7, std::numeric_limits<std::uint64_t>::max())->missing,
            std::numeric_limits<std::uint64_t>::max() - 10);
}

TEST(ReadPositions, TheOneThatIsKnownLongestIsForgottenFirst) {
  ReadPositions positions;
  for (std::size_t i = 0; i <= ReadPositions::kMostInterrupted; ++i) {
    positions.make_room(1);
    positions.ended(writer(i), 7, 10);
  }
  EXPECT_EQ(positions.all().size(), ReadPositions::kMostInterrupted);
  EXPECT_FALSE(positions.seen(writer(0), 7, 9));
  EXPECT_TRUE(positions.seen(writer(1), 7, 9));
  const auto* const before = positions.all().data();
  positions.make_room(1000);
  positions.ended(writer(999), 7, 10);
  EXPECT_EQ(positions.all().data(), before) << "no memory is needed beyond the bound";
}

}  // namespace
