// SPDX-License-Identifier: Apache-2.0
// The steady state, counted: the last 10,000 of 20,000 loans with sizes of a fixed mix allocate nothing on the heap, fault no
// page and make no system call. An executable of its own, since it replaces operator new and filters system calls.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/memory/pool.hpp"

namespace {

std::atomic<std::size_t> g_allocations{0};

}  // namespace

void* operator new(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace baton;
using namespace baton::memory;

namespace {

constexpr int kMessages = 20'000, kMeasured = 10'000, kHeld = 8;
// A robot's traffic: commands, poses, scans, a cloud, images.
constexpr std::array<std::size_t, 8> kMix{24, 100, 300, 4'000, 60'000, 400'000, 921'600, 2'000'000};

struct Traffic {
  std::unique_ptr<Pool> pool;
  std::vector<Handle> released;  // what readers gave back and nobody collected yet
  std::array<Handle, kHeld> held{};
  std::uint32_t random = 1;
  int sent = 0;

  explicit Traffic(const PoolOptions& options) {
    pool = std::move(*Pool::create(options, {}, {}));
    released.reserve(kHeld + 1);
    pool->set_collect([this] {
      for (Handle handle : released) pool->release(handle);
      released.clear();
    });
  }

  // Every second message is of known size; the others grow by two contents, the second of them step by step.
  void send() {
    random = random * 1'664'525 + 1'013'904'223;
    const std::size_t bytes = kMix[random >> 29];
    Chunk chunk = *(sent % 2 == 0 ? pool->loan_sized(bytes + 32, 16) : pool->loan_growing(16));
    auto* text = static_cast<char*>(content_allocate(chunk.message(), 8, 4));
    text[0] = 'x';
    if (sent % 2 == 0) {
      static_cast<char*>(content_allocate(chunk.message(), bytes, 1))[bytes - 1] = 1;
    } else {
      std::size_t have = bytes / 4 + 1;
      auto* data = static_cast<char*>(content_allocate(chunk.message(), have, 1));
      while (have < bytes) {
        have = std::min(bytes, have * 2);
        if (!content_resize_in_place(chunk.message(), data, have)) std::abort();
      }
      for (std::size_t at = 0; at < have; at += 4096) data[at] = 1;
    }
    pool->publish(chunk);
    // The readers: a handle is held for a while, then waits in the release table until the pool collects.
    Handle& place = held[static_cast<std::size_t>(sent++ % kHeld)];
    if (place != 0) {
      if (released.size() == kHeld) {
        for (Handle handle : released) pool->release(handle);
        released.clear();
      }
      released.push_back(place);
    }
    place = chunk.handle;
  }
};

PoolOptions options() {
  PoolOptions options;
  options.max_message_bytes = 4 << 20;
  options.slots = 64;
  options.memory_limit_bytes = std::size_t{256} << 20;
  return options;
}

long page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// From here on any system call but exit_group ends this process with SIGSYS.
void forbid_system_calls() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{4, filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(77);
}

template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST(SteadyState, AllocatesNothingAndFaultsNoPage) {
  Traffic traffic(options());
  for (int i = 0; i < kMessages - kMeasured; ++i) traffic.send();
  const std::size_t allocations = g_allocations.load();
  const std::size_t backed = traffic.pool->account().backed_bytes;
  const long faults = page_faults();
  for (int i = 0; i < kMeasured; ++i) traffic.send();
  EXPECT_EQ(page_faults() - faults, 0);
  EXPECT_EQ(g_allocations.load() - allocations, 0u);
  EXPECT_EQ(traffic.pool->account().backed_bytes, backed);
}

TEST(SteadyState, MakesNoSystemCall) {
  const int status = in_child([] {
    Traffic traffic(options());
    for (int i = 0; i < kMessages - kMeasured; ++i) traffic.send();
    forbid_system_calls();
    for (int i = 0; i < kMeasured; ++i) traffic.send();
    ::_exit(0);  // before the pool unmaps
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this kernel has no seccomp filters";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(SteadyState, TheFilterSeesASystemCall) {  // the test above would otherwise pass with a filter that filters nothing
  const int status = in_child([] {
    Traffic traffic(options());
    forbid_system_calls();
    traffic.send();  // the first loan makes the segment
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this kernel has no seccomp filters";
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << "status " << status;
}
