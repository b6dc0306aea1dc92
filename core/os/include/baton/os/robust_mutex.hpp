// SPDX-License-Identifier: Apache-2.0
// A lock between processes that the kernel frees when the owner dies: pthread_mutex_t, shared, robust and on request
// with priority inheritance. The C library keeps a list of each thread's robust locks. The kernel walks the list when
// the thread ends, however it ends.
// Thread rules: one thread constructs the mutex before others know its address; then every call is thread-safe. Only
// the thread that locked may call unlock(). The memory must stay mapped in the owner's process while the mutex is
// owned. No destructor is needed.
// Limit: the word holds a thread number, so all users must be in one PID namespace.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "baton/os/clock.hpp"

namespace baton::os {

class RobustMutex {
 public:
  enum class Locked : std::uint8_t {
    kYes,
    kOwnerDied,  ///< yes, and the last owner ended without unlock(): call make_consistent(), or no thread can ever lock
                 ///< it again
    kNo,         ///< busy, timed out, or (kNo from lock()) an error of the caller such as a memory that holds no mutex
  };

  /// `inherit`: a thread that waits lends the owner its priority.
  explicit RobustMutex(bool inherit = false) noexcept {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (inherit) ::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    ::pthread_mutex_init(&mutex_, &attributes);
    ::pthread_mutexattr_destroy(&attributes);
  }
  RobustMutex(const RobustMutex&) = delete;
  RobustMutex& operator=(const RobustMutex&) = delete;

  Locked lock() noexcept { return outcome(::pthread_mutex_lock(&mutex_)); }
  Locked try_lock() noexcept { return outcome(::pthread_mutex_trylock(&mutex_)); }
  /// Waits until the absolute CLOCK_MONOTONIC time at most.
  Locked lock_until(std::int64_t deadline_ns) noexcept {
    timespec at = to_timespec(deadline_ns);
#if defined(__SANITIZE_THREAD__)
    int rc = EINVAL;  // gcc 12's ThreadSanitizer does not know pthread_mutex_clocklock
#else
    int rc = ::pthread_mutex_clocklock(&mutex_, CLOCK_MONOTONIC, &at);
#endif
    if (rc == EINVAL) {  // with inheritance, kernels before 5.14 accept CLOCK_REALTIME only
      at = to_timespec(deadline_ns - monotonic_ns() + realtime_ns());
      rc = ::pthread_mutex_timedlock(&mutex_, &at);
    }
    return outcome(rc);
  }
  void make_consistent() noexcept { ::pthread_mutex_consistent(&mutex_); }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

 private:
  static Locked outcome(int rc) noexcept {
    return rc == 0 ? Locked::kYes : rc == EOWNERDEAD ? Locked::kOwnerDied : Locked::kNo;
  }
  static timespec to_timespec(std::int64_t ns) noexcept {
    if (ns < 0) ns = 0;
    timespec out{};
    out.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    out.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    return out;
  }

  pthread_mutex_t mutex_;
};

}  // namespace baton::os
