// SPDX-License-Identifier: Apache-2.0
// Apart from disposal_test.cpp: ThreadSanitizer starts no threads in a child that was forked beside other threads.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "baton/os/disposal.hpp"

namespace baton::os {
namespace {

template <class Predicate>
bool eventually(Predicate&& predicate) {
  for (int i = 0; i < 60000 && !predicate(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return predicate();
}

TEST(Disposal, WorksInAForkedChild) {
  dispose([] {});
#if defined(__SANITIZE_ADDRESS__)
  // A child that is forked while another thread is in AddressSanitizer's allocator waits for that allocator's lock for ever.
  ASSERT_TRUE(eventually([] {
    const std::filesystem::directory_iterator threads("/proc/self/task");
    return std::distance(begin(threads), end(threads)) == 1;
  }));
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::atomic<bool> ended{false};
    dispose([&] { ended.store(true); });
    ::_exit(eventually([&] { return ended.load(); }) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace baton::os
