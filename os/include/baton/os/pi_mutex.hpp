// SPDX-License-Identifier: Apache-2.0
// A mutex inside one process. In a real-time process (after lock_memory()) the owner inherits the priority of a thread
// that waits for the mutex (pthread_mutexattr_setprotocol(3p)). So the background thread, which has ordinary priority,
// cannot delay a real-time thread by being preempted. In other processes it is an ordinary mutex, which takes a third
// of the instructions.
// Thread rules: as std::mutex, a BasicLockable and Lockable.
#pragma once

#include <pthread.h>

#include "baton/os/real_time.hpp"

namespace baton::os {

class PiMutex {
 public:
  PiMutex() noexcept {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    // Fails where the kernel has no FUTEX_LOCK_PI (in no Linux of the last decade): then it is an ordinary mutex.
    if (memory_is_locked()) (void)::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (::pthread_mutex_init(&mutex_, &attributes) != 0) ::pthread_mutex_init(&mutex_, nullptr);
    ::pthread_mutexattr_destroy(&attributes);
  }
  ~PiMutex() { ::pthread_mutex_destroy(&mutex_); }
  PiMutex(const PiMutex&) = delete;
  PiMutex& operator=(const PiMutex&) = delete;

  void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
  bool try_lock() noexcept { return ::pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

}  // namespace baton::os
