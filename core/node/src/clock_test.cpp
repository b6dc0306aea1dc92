// SPDX-License-Identifier: Apache-2.0
#include "baton/node/clock.hpp"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

TEST(SimulatedClock, StandsStillUntilItIsSet) {
  baton::SimulatedClock clock;
  EXPECT_EQ(clock.now(), 0ns);
  clock.set(5s);
  EXPECT_EQ(clock.now(), 5s);
}

TEST(SimulatedClock, AFutureDeadlineIsReachedOnlyByAJump) {
  baton::SimulatedClock clock;
  clock.set(1s);
  EXPECT_EQ(clock.real_time_until(1s), 0ns);
  EXPECT_EQ(clock.real_time_until(2s), std::chrono::nanoseconds::max());
}

TEST(SimulatedClock, WakesTheRegisteredOnEveryJumpUntilTheTokenDies) {
  baton::SimulatedClock clock;
  int wakes = 0;
  std::shared_ptr<void> token = clock.on_jump([&] { ++wakes; });
  clock.set(1s);
  clock.set(2s);
  EXPECT_EQ(wakes, 2);
  token.reset();
  clock.set(3s);
  EXPECT_EQ(wakes, 2);
}

TEST(SteadyClock, CountsDownToADeadlineAndStopsAtZero) {
  const std::shared_ptr<baton::Clock> clock = baton::steady_clock();
  const auto left = clock->real_time_until(clock->now() + 1h);
  EXPECT_GT(left, 0ns);
  EXPECT_LE(left, 1h);
  EXPECT_EQ(clock->real_time_until(0ns), 0ns);
}
