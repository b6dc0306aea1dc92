// SPDX-License-Identifier: Apache-2.0
// What a program does with objects that it publishes by reference, and what its next object gets: a hand-over or a copy.
//
// A handed-over object costs a few system calls, and a page fault for each page that the program writes afterwards. A
// program that leaves its objects alone gains; one that fills the same object again would pay several copies. So each
// publisher learns: after an object that was written or published again, the next objects are copied, and after enough
// objects that were left alone, handed over. The number of these doubles with each object that was used again, so the
// page faults of a program with both kinds of objects become rare.
//
// Thread rules: all functions are thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace baton::detail {

class ReferenceHabit {
 public:
  /// Objects that have to be left alone before the next hand-over, at most.
  static constexpr std::uint32_t kMostPatience = 1024;

  bool hands_over() const noexcept { return to_copy_.load(std::memory_order_relaxed) == 0; }
  /// For a program that did not ask for shared memory: its first object shows whether it uses its objects again.
  void copy_first() noexcept { to_copy_.store(1, std::memory_order_relaxed); }
  /// A copied object ended and was published once.
  void copied_once() noexcept {
    std::uint32_t left = to_copy_.load(std::memory_order_relaxed);
    while (left > 0 && !to_copy_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
  }
  /// A handed-over object ended, of whose `pages` the program wrote `changed` after the publication. A few are those of
  /// the message's own fields, which its destructor clears.
  void ended(std::size_t pages, std::size_t changed) noexcept {
    if (changed > pages / 8) return used_again();
    const std::uint32_t now = patience_.load(std::memory_order_relaxed);
    patience_.store(std::max(now / 2, 1U), std::memory_order_relaxed);
  }
  /// A handed-over object was written or published again.
  void used_again() noexcept {
    const std::uint32_t now = patience_.load(std::memory_order_relaxed);
    to_copy_.store(now, std::memory_order_relaxed);
    patience_.store(std::min(now * 2, kMostPatience), std::memory_order_relaxed);
  }

 private:
  // Estimates, relaxed: they order nothing, and one that another thread's estimate overwrites costs a copy or a hand-over
  // more.
  std::atomic<std::uint32_t> to_copy_{0}, patience_{1};
};

}  // namespace baton::detail
