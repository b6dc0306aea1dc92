// SPDX-License-Identifier: Apache-2.0
#include "baton/os/allowance.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace baton::os {
namespace {

using Time = Allowance::Clock::time_point;

TEST(Allowance, AllowsTheSameNumberInEachWindow) {
  Allowance allowance;
  for (int window = 0; window < 3; ++window) {
    const Time begin{std::chrono::seconds(11 * window)};
    for (int left = 2; left >= 0; --left) EXPECT_EQ(allowance.use(begin, 3, kSeldom), left);
    EXPECT_EQ(allowance.use(begin, 3, kSeldom), -1);
    EXPECT_EQ(allowance.use(begin + kSeldom, 3, kSeldom), -1) << "the window's last moment";
  }
}

TEST(Allowance, OnceIsOnceInItsWindow) {
  Allowance lines;
  EXPECT_TRUE(lines.once(std::chrono::hours(1)));
  EXPECT_FALSE(lines.once(std::chrono::hours(1)));
}

TEST(Allowance, ManyThreadsTogetherHaveNoMore) {
  Allowance allowance;
  std::atomic<int> allowed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10'000; ++k) allowed += allowance.use(Time{}, 1000, kSeldom) >= 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, 1000);
}

}  // namespace
}  // namespace baton::os
