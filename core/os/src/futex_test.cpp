// SPDX-License-Identifier: Apache-2.0
#include "baton/os/futex.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

using namespace baton::os;

namespace {

using Word = std::atomic<std::uint32_t>;

/// Wakes until the sleeper has counted as woken: it may not sleep yet.
void wake_once(const Word* word, FutexScope scope) {
  while (futex_wake(word, 1, scope) == 0) std::this_thread::yield();
}

/// As the kernel says (proc(5), stat).
bool sleeps(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  const std::size_t name = text.rfind(") ");
  return name != std::string::npos && text[name + 2] == 'S';
}

TEST(Futex, AWordOfThisProcessMayLieInPrivateMemory) {
  const auto word = std::make_unique<Word>(0);
  std::thread sleeper([&] { EXPECT_TRUE(futex_wait_counted({word.get(), 0, FutexScope::kProcess}, INT64_MAX)); });
  wake_once(word.get(), FutexScope::kProcess);
  sleeper.join();
}

TEST(Futex, AForkedChildDoesNotTakeTheWordOfItsParentsThreads) {
  // The page becomes a copy on write while a thread sleeps on a word in it: that thread must be woken all the same.
  const auto word = std::make_unique<Word>(0);
  std::atomic<pid_t> sleeping{0};
  std::thread sleeper([&] {
    sleeping.store(static_cast<pid_t>(::gettid()), std::memory_order_release);
    EXPECT_TRUE(futex_wait_counted({word.get(), 0, FutexScope::kProcess}, INT64_MAX));
  });
  while (!sleeps(sleeping.load(std::memory_order_acquire))) std::this_thread::yield();
  int end[2];
  ASSERT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    ::close(end[1]);
    ::_exit(static_cast<int>(::read(end[0], &byte, 1)));  // until the parent closes its end
  }
  word->store(0, std::memory_order_relaxed);  // the write that makes the copy
  wake_once(word.get(), FutexScope::kProcess);
  sleeper.join();
  ::close(end[0]);
  ::close(end[1]);
  int status = 1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Futex, WordsOfThisProcessAndOfOthersAreWaitedForTogether) {
  if (!futex_waits_available()) GTEST_SKIP() << "this kernel has no futex_waitv";
  const auto own = std::make_unique<Word>(0), shared = std::make_unique<Word>(0);
  for (const bool wake_own : {true, false}) {
    std::thread sleeper([&] {
      const std::array<FutexWait, 2> waits{FutexWait{own.get(), 0, FutexScope::kProcess}, FutexWait{shared.get(), 0}};
      EXPECT_EQ(futex_waits(waits.data(), waits.size(), INT64_MAX), WaitOutcome::kWoken);
    });
    wake_once(wake_own ? own.get() : shared.get(), wake_own ? FutexScope::kProcess : FutexScope::kEveryone);
    sleeper.join();
  }
}

TEST(Futex, AWaitEndsAtItsDeadlineAndAtAChangedWord) {
  const auto word = std::make_unique<Word>(7);
  for (const FutexScope scope : {FutexScope::kProcess, FutexScope::kEveryone}) {
    FutexWait wait{word.get(), 7, scope};
    for (const std::int64_t long_ago : {std::int64_t{1}, std::int64_t{-1}, INT64_MIN})  // below the clock's zero, too
      EXPECT_EQ(futex_waits(&wait, 1, long_ago), WaitOutcome::kTimedOut);
    wait.seen = 8;
    EXPECT_EQ(futex_waits(&wait, 1, INT64_MAX), WaitOutcome::kWoken);
  }
}

}  // namespace
