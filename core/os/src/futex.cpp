// SPDX-License-Identifier: Apache-2.0
#include "baton/os/futex.hpp"
#include "baton/os/hot_path.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include "baton/os/environment.hpp"
#include "system_call.hpp"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

namespace baton::os {
namespace {

using detail::system_call;
using detail::word_of;

// struct futex_waitv of <linux/futex.h> 5.16, repeated so that older headers work (futex_waitv(2)).
struct WaitvEntry {
  std::uint64_t value;
  std::uint64_t address;
  std::uint32_t flags;
  std::uint32_t reserved;
};
static_assert(sizeof(WaitvEntry) == 24);
constexpr std::uint32_t kFutex32 = 2;  // FUTEX_32 / FUTEX2_SIZE_U32

/// FUTEX_PRIVATE_FLAG has the value of FUTEX2_PRIVATE.
constexpr std::uint32_t flag_of(FutexScope scope) noexcept {
  return scope == FutexScope::kProcess ? FUTEX_PRIVATE_FLAG : 0;
}

timespec to_timespec(std::int64_t ns) noexcept {
  if (ns < 0) ns = 0;
  timespec out{};
  out.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  out.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return out;
}

WaitOutcome outcome_of(long result) noexcept {
  if (likely(result >= 0)) return WaitOutcome::kWoken;
  switch (result) {
    case -EAGAIN:
    case -EINTR:
      return WaitOutcome::kWoken;
    case -ETIMEDOUT:
      return WaitOutcome::kTimedOut;
    default:
      return WaitOutcome::kUnsupported;
  }
}

bool probe_waitv() noexcept {
  const char* off = environment("BATON_NO_FUTEX_WAITV");
  if (off != nullptr && std::strcmp(off, "1") == 0) return false;
  // A value that differs returns at once with EAGAIN. A kernel without the call returns ENOSYS, seccomp EPERM.
  static const std::atomic<std::uint32_t> word{0};
  WaitvEntry entry{1, reinterpret_cast<std::uintptr_t>(&word), kFutex32, 0};
  const long rc = ::syscall(SYS_futex_waitv, &entry, 1U, 0U, nullptr, CLOCK_MONOTONIC);
  return rc >= 0 || errno == EAGAIN;
}

}  // namespace

bool futex_waits_available() noexcept {
  // Constant-initialized, as in page_bytes(). Relaxed: orders nothing, and every thread finds the same value.
  enum : int { kUnknown, kYes, kNo };
  static std::atomic<int> known{kUnknown};
  int answer = known.load(std::memory_order_relaxed);
  if (answer == kUnknown) {
    answer = probe_waitv() ? kYes : kNo;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == kYes;
}

WaitOutcome futex_waits(const FutexWait* waits, std::size_t count, std::int64_t deadline_ns) noexcept {
  timespec deadline = to_timespec(deadline_ns);
  timespec* limit = deadline_ns == INT64_MAX ? nullptr : &deadline;
  if (count == 1) {
    // FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time.
    return outcome_of(system_call(SYS_futex, word_of(waits[0].word), FUTEX_WAIT_BITSET | flag_of(waits[0].scope),
                                  waits[0].seen, word_of(limit), 0, FUTEX_BITSET_MATCH_ANY));
  }
  if (count == 0 || count > kFutexWaitMax || !futex_waits_available()) return WaitOutcome::kUnsupported;
  WaitvEntry entries[kFutexWaitMax];
  for (std::size_t i = 0; i < count; ++i) {
    entries[i] = {waits[i].seen, reinterpret_cast<std::uintptr_t>(waits[i].word), kFutex32 | flag_of(waits[i].scope),
                  0};
  }
  return outcome_of(
      system_call(SYS_futex_waitv, word_of(entries), static_cast<long>(count), 0, word_of(limit), CLOCK_MONOTONIC, 0));
}

bool futex_wait_counted(const FutexWait& wait, std::int64_t deadline_ns) noexcept {
  const timespec deadline = to_timespec(deadline_ns);
  return ::syscall(SYS_futex, wait.word, FUTEX_WAIT_BITSET | flag_of(wait.scope), wait.seen,
                   deadline_ns == INT64_MAX ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY) == 0;
}

int futex_wake(const std::atomic<std::uint32_t>* word, int count, FutexScope scope) noexcept {
  return static_cast<int>(system_call(SYS_futex, word_of(word), FUTEX_WAKE | flag_of(scope), count, 0, 0, 0));
}

}  // namespace baton::os
