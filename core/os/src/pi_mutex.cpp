// SPDX-License-Identifier: Apache-2.0
#include "baton/os/pi_mutex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace baton::os {

void PiMutex::lock_slowly() noexcept {
  if (inherits()) {
    ::pthread_mutex_lock(&inheriting_);
    return;
  }
  futex_lock::lock_contended(word_, [this](std::uint32_t seen) {
    ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  });
}

void PiMutex::unlock_slowly() noexcept {
  if (inherits()) {
    ::pthread_mutex_unlock(&inheriting_);
    return;
  }
  futex_lock::unlock_contended(word_,
                               [this] { ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); });
}

}  // namespace baton::os
