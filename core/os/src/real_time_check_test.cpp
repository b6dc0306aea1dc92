// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "baton/os/real_time_check.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace baton {
namespace {

// In a thread of its own: its filter ends with it.
template <class... Allowed>
RealTimeReport watched(const std::function<void()>& body, Allowed... allowed) {
  RealTimeReport report;
  std::thread thread([&] {
    body();  // once unwatched, so that what happens the first time only (binding of functions, stack) is over
    const RealTimeCheck check(allowed...);
    body();
    report = check.report();
  });
  thread.join();
  return report;
}

TEST(RealTimeCheck, AThreadThatOnlyComputesIsClean) {
  volatile int sum = 0;
  const RealTimeReport report = watched([&] {
    for (int i = 0; i < 1000; ++i) sum = sum + i;
  });
  EXPECT_TRUE(report.clean()) << report.text();
}

TEST(RealTimeCheck, EveryHeapCallIsCounted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring their own allocator";
#endif
  const RealTimeReport report = watched([] {
    void* volatile a = std::malloc(10);
    a = std::realloc(a, 20);
    std::free(a);
    std::free(nullptr);
    void* volatile b = std::calloc(3, 7);
    std::free(b);
    void* c = nullptr;
    ASSERT_EQ(::posix_memalign(&c, 64, 100), 0);
    std::free(c);
    void* volatile d = std::aligned_alloc(64, 128);
    std::free(d);
    delete new volatile int(3);
  });
  EXPECT_EQ(report.heap_calls, 11U) << report.text();
}

TEST(RealTimeCheck, PageFaultsAreCounted) {
  char* memory = nullptr;
  const RealTimeReport report = watched([&] {
    if (!memory) {
      memory = static_cast<char*>(::mmap(nullptr, 40960, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      ::madvise(memory, 40960, MADV_NOHUGEPAGE);
      return;
    }
    for (int i = 0; i < 40960; i += 4096) memory[i] = 1;
  });
  EXPECT_GE(report.minor_faults, 1U);
  EXPECT_LE(report.minor_faults, 10U);
  ::munmap(memory, 40960);
}

TEST(RealTimeCheck, SystemCallsAreCountedNamedAndMade) {
  pid_t parent = 0;
  int fd = 0, error = 0;
  const RealTimeReport report = watched([&] {
    parent = static_cast<pid_t>(::syscall(SYS_getppid));
    fd = ::open("/there/is/no/such/file", O_RDONLY);
    error = errno;
  });
  EXPECT_EQ(parent, ::getppid());
  EXPECT_EQ(fd, -1);
  EXPECT_EQ(error, ENOENT);
  EXPECT_EQ(report.system_calls, 2U);
  EXPECT_EQ(report.first_calls[0], SYS_getppid);
  EXPECT_EQ(report.first_calls[1], SYS_openat);
  EXPECT_NE(report.text().find("2 system calls (first: " + std::to_string(SYS_getppid) + ", " +
                               std::to_string(SYS_openat) + ")"),
            std::string::npos)
      << report.text();
}

TEST(RealTimeCheck, CallsWithSixArgumentsArriveWhole) {
  void* memory = nullptr;
  const RealTimeReport report = watched([&] {
    if (memory) ::munmap(memory, 8192);
    memory = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  });
  ASSERT_NE(memory, MAP_FAILED);
  static_cast<char*>(memory)[8191] = 1;
  ::munmap(memory, 8192);
  EXPECT_EQ(report.system_calls, 2U);
}

TEST(RealTimeCheck, AllowedCallsAreNotCounted) {
  const auto body = [] {
    const timespec moment{0, 1000};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
    ::syscall(SYS_getppid);
  };
  EXPECT_EQ(watched(body).system_calls, 1U);
  EXPECT_EQ(watched(body, std::initializer_list<long>{SYS_getppid, SYS_clock_nanosleep}).system_calls, 0U);
  EXPECT_EQ(watched(body, std::initializer_list<long>{}).system_calls, 2U);
}

TEST(RealTimeCheck, WhatOtherThreadsDoIsNotCounted) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      void* volatile memory = std::malloc(100);
      std::free(memory);
      ::syscall(SYS_getppid);
    }
  });
  volatile int sum = 0;
  const RealTimeReport report = watched([&] {
    for (int i = 0; i < 1000000; ++i) sum = sum + 1;
  });
  stop = true;
  busy.join();
  EXPECT_TRUE(report.clean()) << report.text();
}

TEST(RealTimeCheck, AThreadThatWasWatchedGoesOnUncounted) {
  RealTimeReport second;
  std::thread thread([&] {
    { const RealTimeCheck check; }
    EXPECT_EQ(::syscall(SYS_getppid), ::getppid());
    const RealTimeCheck check;
    second = check.report();
  });
  thread.join();
  EXPECT_TRUE(second.clean()) << second.text();
}

}  // namespace
}  // namespace baton
