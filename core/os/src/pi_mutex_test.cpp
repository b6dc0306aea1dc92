// SPDX-License-Identifier: Apache-2.0
#include "baton/os/pi_mutex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using baton::os::PiMutex;

TEST(PiMutex, KeepsOthersOutWhileManyThreadsWantIt) {
  PiMutex mutex;
  std::uint64_t count = 0;  // not atomic: a thread sanitizer sees what gets in
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20'000; ++k) {
        const std::lock_guard<PiMutex> lock(mutex);
        ++count;
        if (k % 1000 == 0) std::this_thread::yield();  // the others come to sleep
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4U * 20'000U);
}

TEST(PiMutex, AThreadThatSleepsForItGetsItWhenItIsFree) {
  PiMutex mutex;
  mutex.lock();
  bool got = false;
  std::thread sleeper([&] {
    const std::lock_guard<PiMutex> lock(mutex);
    got = true;
  });
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50));  // so that it has come to sleep; if not, the test proves less
  EXPECT_FALSE(got);
  mutex.unlock();
  sleeper.join();
  EXPECT_TRUE(got);
}

TEST(PiMutex, TryLockFailsWhileAnotherThreadHasIt) {
  PiMutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  bool second = true;
  std::thread([&] { second = mutex.try_lock(); }).join();
  EXPECT_FALSE(second);
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

}  // namespace
