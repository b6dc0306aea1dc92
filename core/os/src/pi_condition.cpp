// SPDX-License-Identifier: Apache-2.0
#include "baton/os/pi_condition.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace baton::os {

void PiCondition::wait_until(PiMutex& mutex, std::int64_t deadline_ns) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec deadline{deadline_ns / kSecond, deadline_ns % kSecond};
  ++waiting_;
  // relaxed: read and changed with the mutex. The kernel compares it under a lock of its own: a notify() since then is seen.
  const std::uint32_t seen = word_.load(std::memory_order_relaxed);
  mutex.unlock();
  ::syscall(SYS_futex, &word_, FUTEX_WAIT_BITSET_PRIVATE, seen, &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
  mutex.lock();
  --waiting_;
}

void PiCondition::wake(int most) noexcept {
  word_.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
  ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

}  // namespace baton::os
