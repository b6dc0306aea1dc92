// SPDX-License-Identifier: Apache-2.0
// Sleeping on words in shared memory (futex(2), futex_waitv from Linux 5.16).
// Thread rules: all functions are thread-safe. A word of other processes must be reached through a *shared* mapping (a read-only one
// will do for waiting): to the kernel a private copy of its page is another word.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace baton::os {

/// Whose threads sleep on a word. A word of this process alone may lie in any memory of it.
enum class FutexScope : std::uint8_t { kEveryone, kProcess };

/// A word to sleep on, and the value that the caller read from the word before the caller last checked for work.
struct FutexWait {
  const std::atomic<std::uint32_t>* word;
  std::uint32_t seen;
  FutexScope scope = FutexScope::kEveryone;
};

enum class WaitOutcome : std::uint8_t {
  kWoken,  ///< a wake, a changed word or a signal: look again
  kTimedOut,
  kUnsupported,  ///< the kernel refuses (no futex_waitv, seccomp, bad address); nothing was waited for
};

/// Words per futex_waits() call (FUTEX_WAITV_MAX).
inline constexpr std::size_t kFutexWaitMax = 128;

/// True if several words can be waited for at once: kernel 5.16 or later and BATON_NO_FUTEX_WAITV is not set to 1.
/// Probed once per process.
bool futex_waits_available() noexcept;

/// Sleeps until one of the `count` words differs from the value seen, until a wake on one of them, or until the
/// absolute CLOCK_MONOTONIC time `deadline_ns` (INT64_MAX: no limit). One word uses plain futex(2).
WaitOutcome futex_waits(const FutexWait* waits, std::size_t count, std::int64_t deadline_ns) noexcept;

/// Sleeps on one word until a wake, a changed word, a signal or the absolute CLOCK_MONOTONIC time. True exactly if a
/// futex_wake() counted this sleeper as woken.
bool futex_wait_counted(const FutexWait& wait, std::int64_t deadline_ns) noexcept;

/// Wakes up to `count` sleepers on `word`, which wait with the same scope; returns how many.
int futex_wake(const std::atomic<std::uint32_t>* word, int count, FutexScope scope = FutexScope::kEveryone) noexcept;

}  // namespace baton::os
