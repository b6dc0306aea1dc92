// SPDX-License-Identifier: Apache-2.0
// Limits how often something may happen: at most a given number of times in a window of time, which begins with its first use. Whatever
// other processes can cause at any rate (lines, answers) has an Allowance, and its numbers stand in docs/format/bounds.md.
// Thread rules: any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace baton::os {

/// For a line about what lasts or comes again: so often.
inline constexpr std::chrono::seconds kSeldom{10};

class Allowance {
 public:
  using Clock = std::chrono::steady_clock;

  /// Uses one of `most` in `window`. Returns how many are left afterwards, or -1 if none was left. REQUIRES: most < 2^16.
  int use(Clock::time_point now, unsigned most, std::chrono::milliseconds window) noexcept {
    const auto now_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count());
    std::uint64_t seen = state_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t since_ms = seen >> kCountBits, used = seen & kCountMask;
      // Another thread may have read its clock later: then the window is that thread's.
      if (used == 0 || (now_ms > since_ms && now_ms - since_ms > static_cast<std::uint64_t>(window.count()))) {
        since_ms = now_ms;
        used = 0;
      }
      if (used >= most) return -1;
      if (state_.compare_exchange_weak(seen, since_ms << kCountBits | (used + 1), std::memory_order_relaxed))
        return static_cast<int>(most - used - 1);
    }
  }
  /// True once in each window.
  bool once(std::chrono::milliseconds window = kSeldom) noexcept { return use(Clock::now(), 1, window) >= 0; }

 private:
  static constexpr unsigned kCountBits = 16;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
  /// The window's begin in milliseconds, then the uses since. Relaxed: orders nothing.
  std::atomic<std::uint64_t> state_{0};
};

}  // namespace baton::os
