// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/wake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace baton::memory {
namespace {

using Word = WakeWord<StdPlatform>;

std::vector<int> g_rung;

bool signal_to(Word& event, std::vector<Word*> flags) {
  g_rung.clear();
  return signal<StdPlatform>(
      event, flags, [](Word* flag) -> Word& { return *flag; },
      [&](Word* flag) {
        g_rung.push_back(static_cast<int>(std::find(flags.begin(), flags.end(), flag) - flags.begin()));
      });
}

TEST(Wake, NobodyIsWokenWhileEverybodyIsAwake) {
  Word event{7}, a{0}, b{0};
  EXPECT_FALSE(signal_to(event, {&a, &b}));
  EXPECT_TRUE(g_rung.empty());
  EXPECT_EQ(event.load(), 8U) << "the event counts publishes whether or not somebody sleeps";
}

TEST(Wake, OneSleeperMakesOneWake) {
  Word event{0}, a{0}, b{static_cast<std::uint32_t>(Sleeping::kFutex)};
  EXPECT_TRUE(signal_to(event, {&a, &b}));
  EXPECT_EQ(b.load(), 1U) << "only the waiter clears its flag";
}

TEST(Wake, AReaderInPollIsRungAndNeedsNoFutexWake) {
  Word event{0}, a{0}, b{static_cast<std::uint32_t>(Sleeping::kDescriptor)};
  EXPECT_FALSE(signal_to(event, {&a, &b}));
  EXPECT_EQ(g_rung, (std::vector<int>{1}));
}

TEST(Wake, AnUnknownFlagCountsAsAwake) {
  Word event{0}, a{3}, b{0xFFFFFFFFU};
  EXPECT_FALSE(signal_to(event, {&a, &b}));
  EXPECT_TRUE(g_rung.empty());
}

TEST(Wake, TheEventWrapsFreely) {
  Word event{0xFFFFFFFFU};
  EXPECT_FALSE(signal_to(event, {}));
  EXPECT_EQ(event.load(), 0U);
}

/// Stands in for the kernel's futex: compare and sleep under one lock.
struct FakeFutex {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t wakes = 0;
  void wake_all() {
    const std::lock_guard<std::mutex> lock(mutex);
    ++wakes;
    changed.notify_all();
  }
  bool wait(const Word& word, std::uint32_t seen) {
    std::unique_lock<std::mutex> lock(mutex);
    if (word.load() != seen) return true;
    const std::uint64_t before = wakes;
    return changed.wait_for(lock, std::chrono::seconds(20), [&] { return wakes != before; });
  }
};

struct Sources {
  Word& event;
  Word& flag;
  std::atomic<std::uint64_t>& pushed;
  std::uint64_t taken = 0;
  FakeFutex& futex;
  std::uint32_t seen = 0;
  bool lost = false;
  template <class F>
  void for_each_event(F&& f) {
    f(event, seen);
  }
  template <class F>
  void for_each_sleeping(F&& f) {
    f(flag, Sleeping::kFutex);
  }
  bool ready() { return pushed.load(std::memory_order_acquire) != taken; }
  void sleep() { lost = lost || !futex.wait(event, seen); }
};

TEST(Wake, ARoundSleepsOnlyWhenThereIsNothingAndLeavesItsFlagClear) {
  Word event{0}, flag{0};
  std::atomic<std::uint64_t> pushed{1};
  FakeFutex futex;
  Sources sources{event, flag, pushed, 0, futex};
  EXPECT_TRUE(wait_round<StdPlatform>(sources));
  EXPECT_EQ(flag.load(), 0U);
}

TEST(Wake, NoWakeUpIsLostBetweenRealThreads) {
  Word event{0}, flag{0};
  std::atomic<std::uint64_t> pushed{0};
  FakeFutex futex;
  constexpr std::uint64_t kMessages = 20000;
  std::thread waiter([&] {
    Sources sources{event, flag, pushed, 0, futex};
    while (sources.taken < kMessages && !sources.lost) {
      sources.taken = pushed.load(std::memory_order_acquire);
      if (sources.taken < kMessages) wait_round<StdPlatform>(sources);
    }
    EXPECT_FALSE(sources.lost);
  });
  for (std::uint64_t i = 1; i <= kMessages; ++i) {
    pushed.store(i, std::memory_order_release);
    Word* const flags[] = {&flag};
    if (signal<StdPlatform>(
            event, flags, [](Word* f) -> Word& { return *f; }, [](Word*) {}))
      futex.wake_all();
    if (i % 16 == 0) std::this_thread::yield();
  }
  waiter.join();
}

}  // namespace
}  // namespace baton::memory
