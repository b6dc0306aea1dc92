// SPDX-License-Identifier: Apache-2.0
#include "baton/os/real_time.hpp"

#include <alloca.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>

#include "baton/os/process.hpp"

namespace baton::os {
namespace {

// Set once, before the process has a segment; orders nothing: relaxed.
std::atomic<bool> g_locked{false};

}  // namespace

Result<void> lock_memory() {
  if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    return system_error("mlockall; run with CAP_IPC_LOCK or a larger RLIMIT_MEMLOCK (ulimit -l)", errno);
  ::mallopt(M_TRIM_THRESHOLD, -1);
  ::mallopt(M_MMAP_MAX, 0);
  g_locked.store(true, std::memory_order_relaxed);
  return {};
}

bool memory_is_locked() noexcept { return g_locked.load(std::memory_order_relaxed); }

Result<void> run_fifo(int priority) {
  if (priority < 1 || priority > 99)
    return Error{Errc::invalid_argument, "a real-time priority is 1 to 99; got " + std::to_string(priority)};
  sched_param parameters{};
  parameters.sched_priority = priority;
  if (const int failed = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &parameters); failed != 0)
    return system_error("SCHED_FIFO at priority " + std::to_string(priority) +
                            "; run with CAP_SYS_NICE or a larger RLIMIT_RTPRIO (ulimit -r)",
                        failed);
  return {};
}

__attribute__((noinline)) void touch_stack(std::size_t bytes) noexcept {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  ::pthread_attr_getstack(&attributes, &lowest, &size);
  ::pthread_attr_destroy(&attributes);
  const std::size_t left = reinterpret_cast<std::uintptr_t>(&attributes) - reinterpret_cast<std::uintptr_t>(lowest);
  bytes = std::min(bytes, left / 2);
  // Downwards, a page at a time: the main thread's stack grows only near its end.
  auto* area = static_cast<volatile char*>(alloca(bytes));
  for (std::size_t at = bytes; at > 0; at -= std::min<std::size_t>(at, 4096)) area[at - 1] = 0;
}

}  // namespace baton::os
