// SPDX-License-Identifier: Apache-2.0
// A condition variable of a PiMutex. std::condition_variable_any has an ordinary mutex inside, whose owner inherits no priority: a preempted
// thread that notifies would delay a real-time thread.
// Thread rules: every function is called with the mutex, which is the same in all calls.
#pragma once

#include <atomic>
#include <cstdint>

#include "baton/os/pi_mutex.hpp"

namespace baton::os {

class PiCondition {
 public:
  /// Unlocks, sleeps, and locks again: after a notify(), at the absolute CLOCK_MONOTONIC time `deadline_ns`, or for no reason.
  void wait_until(PiMutex& mutex, std::int64_t deadline_ns) noexcept BATON_REQUIRES(mutex);
  /// Wakes up to `most` threads that wait. No system call if none does.
  void notify(int most) noexcept {
    if (waiting_ != 0) wake(most);
  }

 private:
  void wake(int most) noexcept;

  std::atomic<std::uint32_t> word_{0};  // changes with each notify()
  std::uint32_t waiting_ = 0;
};

}  // namespace baton::os
