// SPDX-License-Identifier: Apache-2.0
#include "baton/os/fork.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>

namespace baton::os {
namespace {

struct Counter {
  std::mutex mutex;
  int value = 0;
};

TEST(OfThisProcess, IsOneObjectInAProcessAndAnotherOneInItsChild) {
  Counter& mine = of_this_process<Counter>();
  mine.value = 7;
  EXPECT_EQ(&of_this_process<Counter>(), &mine);
  mine.mutex.lock();  // as another thread may have at the moment of the fork
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Counter& fresh = of_this_process<Counter>();
    const std::lock_guard<std::mutex> lock(fresh.mutex);
    ::_exit(&fresh != &mine && fresh.value == 0 ? 0 : 1);
  }
  mine.mutex.unlock();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(of_this_process<Counter>().value, 7);
}

}  // namespace
}  // namespace baton::os
