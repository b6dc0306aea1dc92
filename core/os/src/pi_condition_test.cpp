// SPDX-License-Identifier: Apache-2.0
#include "baton/os/pi_condition.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <mutex>
#include <thread>
#include <vector>

#include "baton/os/clock.hpp"

namespace baton::os {
namespace {

constexpr std::int64_t kFar = std::int64_t{3600} * 1'000'000'000;

TEST(PiCondition, AWaitEndsAtItsDeadlineWithTheMutex) {
  PiMutex mutex;
  PiCondition condition;
  const std::lock_guard<PiMutex> lock(mutex);
  const std::int64_t deadline = monotonic_ns() + 2'000'000;
  while (monotonic_ns() < deadline) condition.wait_until(mutex, deadline);
  EXPECT_FALSE(mutex.try_lock());
  condition.notify(INT_MAX);  // nobody waits
}

TEST(PiCondition, OneNotifyOfAllWakesAll) {
  constexpr int kThreads = 4;
  PiMutex mutex;
  PiCondition condition;
  bool open = false;
  int waiting = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const std::lock_guard<PiMutex> lock(mutex);
      ++waiting;
      while (!open) condition.wait_until(mutex, monotonic_ns() + kFar);
    });
  }
  for (bool all = false; !all;) {
    const std::lock_guard<PiMutex> lock(mutex);
    all = open = waiting == kThreads;
    if (all) condition.notify(INT_MAX);
  }
  for (std::thread& each : threads) each.join();
}

TEST(PiCondition, ThreadsThatHandATurnToEachOtherLoseNone) {
  constexpr int kThreads = 3, kTurns = 3000;
  PiMutex mutex;
  PiCondition condition;
  int turn = 0;
  std::vector<std::thread> threads;
  for (int own = 0; own < kThreads; ++own) {
    threads.emplace_back([&, own] {
      const std::lock_guard<PiMutex> lock(mutex);
      while (turn < kTurns) {
        if (turn % kThreads != own) {
          condition.wait_until(mutex, monotonic_ns() + kFar);
          continue;
        }
        ++turn;
        condition.notify(INT_MAX);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(turn, kTurns);
}

}  // namespace
}  // namespace baton::os
