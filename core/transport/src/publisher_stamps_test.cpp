// SPDX-License-Identifier: Apache-2.0
#include "publisher_stamps.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>

using namespace baton::transport;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// What a reader does with the stamp of the message at `position`, which is the newest.
std::int64_t order(PublisherStamps& stamps, std::int64_t stamp, std::int64_t now, std::uint64_t position) {
  if (!stamps.in_future(stamp, now)) return stamps.order_ns(stamp, position);
  stamps.found_ahead(stamp - now, position + 1);
  return INT64_MIN;
}

TEST(PublisherStamps, HonestStampsAreTheOrder) {
  PublisherStamps stamps;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto stamp = static_cast<std::int64_t>(i) * kSecond;
    EXPECT_EQ(order(stamps, stamp, stamp + 5, i), stamp);
    EXPECT_EQ(stamps.published_ns(stamp), stamp);
  }
  EXPECT_FALSE(stamps.ahead());
}

TEST(PublisherStamps, AClockThatIsAlwaysEarlyIsCorrectedFromTheSecondMessageOn) {
  constexpr std::int64_t kAhead = 3600 * kSecond;
  PublisherStamps stamps;
  std::int64_t now = kSecond;
  EXPECT_EQ(order(stamps, now + kAhead, now, 0), INT64_MIN);
  EXPECT_TRUE(stamps.ahead());
  for (std::uint64_t i = 1; i < 10; ++i) {
    now += kSecond;
    EXPECT_EQ(order(stamps, now + kAhead - 7, now, i), now - 7);
    EXPECT_EQ(stamps.published_ns(now + kAhead - 7), now - 7);
  }
  EXPECT_EQ(stamps.order_ns(now + kAhead, 0), INT64_MIN) << "pushed before the correction was known";
}

TEST(PublisherStamps, AClockThatRunsAwaySaysNothing) {
  PublisherStamps stamps;
  std::int64_t now = kSecond, stamp = now + 10;
  std::uint64_t position = 0;
  for (; position < 5; ++position, now += 1, stamp += kSecond / 2) order(stamps, stamp, now, position);
  for (; position < 10; ++position, ++now) {
    EXPECT_EQ(order(stamps, INT64_MAX, now, position), INT64_MIN);
    EXPECT_EQ(order(stamps, now, now, position), INT64_MIN);
  }
  EXPECT_EQ(stamps.published_ns(now), now) << "no stamp shortens a lifespan, or extends it, by a lie of earlier stamps";
}

// A message may say what it will: its place is never in the future, and no arithmetic overflows (the sanitizers look).
TEST(PublisherStamps, NoPlaceIsInTheFuture) {
  std::minstd_rand random(1);
  for (int run = 0; run < 200; ++run) {
    PublisherStamps stamps;
    std::int64_t now = kSecond;
    for (std::uint64_t position = 0; position < 50; ++position, now += random()) {
      const std::int64_t near = now + static_cast<std::int64_t>(random()) - static_cast<std::int64_t>(random());
      const std::int64_t choices[] = {INT64_MIN, INT64_MAX, near, near, near, 0};
      ASSERT_LE(order(stamps, choices[random() % std::size(choices)], now, position), now);
    }
  }
}

TEST(PublisherStamps, WhatWasPushedAfterAKnownMomentIsNoOlder) {
  PublisherStamps stamps;
  EXPECT_TRUE(stamps.unknown(0));
  stamps.know(100, 4);  // messages 0 to 3 were there at 100
  EXPECT_EQ(stamps.floor_ns(), INT64_MIN) << "they may be of any time before";
  EXPECT_FALSE(stamps.unknown(3));
  EXPECT_TRUE(stamps.unknown(4));
  stamps.know(200, 9);
  EXPECT_EQ(stamps.floor_ns(), 100) << "messages 4 to 8 came after 100";
  EXPECT_FALSE(stamps.unknown(8));
}

}  // namespace
