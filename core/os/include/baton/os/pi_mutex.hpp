// SPDX-License-Identifier: Apache-2.0
// A mutex inside one process. In a real-time process (after lock_memory()) the owner inherits the priority of a thread
// that waits for the mutex (pthread_mutexattr_setprotocol(3p)). So the background thread, which has ordinary priority,
// cannot delay a real-time thread by being preempted. In other processes it is a futex_lock.hpp.
// Thread rules: as std::mutex, a BasicLockable and Lockable.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "baton/os/futex_lock.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/lock_words.hpp"
#include "baton/os/real_time.hpp"

namespace baton::os {

class BATON_LOCK_CLASS PiMutex {
 public:
  PiMutex() noexcept : word_(memory_is_locked() ? kInherits : futex_lock::kFree) {
    if (!inherits()) return;
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    // Fails where the kernel has no FUTEX_LOCK_PI (in no Linux of the last decade): then it is an ordinary mutex.
    (void)::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (::pthread_mutex_init(&inheriting_, &attributes) != 0) ::pthread_mutex_init(&inheriting_, nullptr);
    ::pthread_mutexattr_destroy(&attributes);
  }
  ~PiMutex() {
    if (inherits()) ::pthread_mutex_destroy(&inheriting_);
  }
  PiMutex(const PiMutex&) = delete;
  PiMutex& operator=(const PiMutex&) = delete;

  void lock() noexcept BATON_ACQUIRES() {
    if (unlikely(!futex_lock::try_lock(word_))) lock_slowly();
  }
  bool try_lock() noexcept BATON_TRY_ACQUIRES(true) {
    return inherits() ? ::pthread_mutex_trylock(&inheriting_) == 0 : futex_lock::try_lock(word_);
  }
  void unlock() noexcept BATON_RELEASES() {
    if (unlikely(!futex_lock::try_unlock(word_))) unlock_slowly();
  }

 private:
  static constexpr std::uint32_t kInherits =
      futex_lock::kContended + 1;  ///< for good: the other functions are for such a word

  bool inherits() const noexcept { return word_.load(std::memory_order_relaxed) == kInherits; }  // never changes
  void lock_slowly() noexcept;
  void unlock_slowly() noexcept;

  std::atomic<std::uint32_t> word_;
  pthread_mutex_t inheriting_;  ///< made if inherits()
};

}  // namespace baton::os
