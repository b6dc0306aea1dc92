// SPDX-License-Identifier: Apache-2.0
#include "round_trip.hpp"

#include <gtest/gtest.h>

namespace baton::link::stream {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kMicrosecond = 1000;

TEST(RoundTrip, IsNotKnownBeforeAnAnswer) {
  RoundTrip trip;
  EXPECT_EQ(trip.least_ns(), 0);
  EXPECT_NE(trip.ask(kSecond), 0U);
  EXPECT_EQ(trip.least_ns(), 0);
}

TEST(RoundTrip, OneQuestionAtATimeIsAskedAndOneWithoutAnAnswerAgainAfterThreeSeconds) {
  RoundTrip trip;
  const std::uint64_t first = trip.ask(kSecond);
  EXPECT_EQ(trip.ask(kSecond + kSecond / 2), 0U);
  EXPECT_EQ(trip.ask(3 * kSecond), 0U);
  const std::uint64_t second = trip.ask(4 * kSecond);
  EXPECT_NE(second, 0U);
  trip.answer(first, 4 * kSecond + 1);  // too late
  EXPECT_EQ(trip.least_ns(), 0);
  trip.answer(second, 4 * kSecond + 70 * kMicrosecond);
  EXPECT_EQ(trip.least_ns(), 70 * kMicrosecond);
  EXPECT_EQ(trip.ask(4 * kSecond + kSecond / 4), 0U);
  EXPECT_NE(trip.ask(5 * kSecond), 0U);
}

TEST(RoundTrip, AnAnswerCountsOnceAndOneToNoQuestionNever) {
  RoundTrip trip;
  trip.answer(0, kSecond);
  trip.answer(77, kSecond);
  const std::uint64_t asked = trip.ask(kSecond);
  trip.answer(asked + 1, kSecond);
  EXPECT_EQ(trip.least_ns(), 0);
  trip.answer(asked, kSecond + 500);
  trip.answer(asked, kSecond + 100);
  EXPECT_EQ(trip.least_ns(), 500);
}

TEST(RoundTrip, IsTheLeastOfTheLastEight) {
  RoundTrip trip;
  std::int64_t now = kSecond;
  const auto take = [&](std::int64_t taken) {
    trip.answer(trip.ask(now), now + taken);
    now += kSecond;
  };
  take(100);
  for (int i = 0; i < 7; ++i) take(300);
  EXPECT_EQ(trip.least_ns(), 100);
  take(200);  // the first one is not among the last eight any more
  EXPECT_EQ(trip.least_ns(), 200);
}

}  // namespace
}  // namespace baton::link::stream
