// SPDX-License-Identifier: Apache-2.0
// std::mutex and the scopes that hold a mutex, under names that the checker of locks knows (lock_words.hpp).
// Thread rules: a Mutex as std::mutex; each scope belongs to one thread.
#pragma once

#include <mutex>

#include "baton/os/lock_words.hpp"

namespace baton::os {

/// Holds `mutex`.
template <class M>
class BATON_LOCK_SCOPE Lock {
 public:
  explicit Lock(M& mutex) BATON_ACQUIRES(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() BATON_RELEASES() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  M& mutex_;
};

/// Gives `mutex` back, which the caller holds, and takes it again at the end.
template <class M>
class BATON_LOCK_SCOPE Unlock {
 public:
  explicit Unlock(M& mutex) BATON_RELEASES(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlock() BATON_RELEASES() { mutex_.lock(); }
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;

 private:
  M& mutex_;
};

/// A mutex inside one process: std::mutex under a name that the checker knows.
class BATON_LOCK_CLASS Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() BATON_ACQUIRES() { mutex_.lock(); }
  bool try_lock() BATON_TRY_ACQUIRES(true) { return mutex_.try_lock(); }
  void unlock() BATON_RELEASES() { mutex_.unlock(); }

 private:
  friend class UniqueLock;
  std::mutex mutex_;
};

/// Holds a Mutex, and can give it back and take it again before its end.
class BATON_LOCK_SCOPE UniqueLock {
 public:
  explicit UniqueLock(Mutex& mutex) BATON_ACQUIRES(mutex) : lock_(mutex.mutex_) {}
  ~UniqueLock() BATON_RELEASES() = default;
  void lock() BATON_ACQUIRES() { lock_.lock(); }
  void unlock() BATON_RELEASES() { lock_.unlock(); }
  /// For std::condition_variable, which returns with the mutex held.
  std::unique_lock<std::mutex>& standard() noexcept { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace baton::os
