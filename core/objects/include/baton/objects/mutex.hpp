// SPDX-License-Identifier: Apache-2.0
// mutex and timed_mutex in a shared heap. Every process that can write the heap is trusted: a process that overwrites a
// mutex breaks it for all. If a process ends while it owns a mutex, a waiter takes the lock over within kLookAgainNs,
// and lock() reports the death.
//
//   switch (m.lock()) { case ownership::acquired: ...; case ownership::previous_owner_died: repair; m.consistent(); }
//   std::lock_guard lock(m);  if (m.owner_died()) { repair; m.consistent(); }
//
// Otherwise the semantics of std::mutex and std::timed_mutex ([thread.mutex.class], [thread.timedmutex.class]), so
// std::lock_guard, std::unique_lock, std::scoped_lock and std::lock work. Undefined (it hangs): to lock twice in one
// thread, and to end a thread that owns a mutex in a process that lives on.
// inheriting_mutex and inheriting_timed_mutex lend the owner the priority of the waiters (real-time scheduling). They
// use the kernel's locks (robust, PTHREAD_PRIO_INHERIT), whose words hold thread numbers: **all processes of the heap
// must be in one PID namespace**. If they are not, the constructor throws unsupported. After the construction, opening
// the heap from another namespace fails with unsupported.
// Thread rules: one thread constructs it in an open heap (else baton::Exception, invalid_argument) before others know
// its address. It is used in place by any thread of any process that has the heap open. While an inheriting mutex is
// owned, it must not be unmapped (the heap must not be closed). No destructor runs.
//
// Invariant: only consistent() clears the mark that an owner died. An owner that ignores the mark, or dies too, leaves
// it to the next owner. The mark is a bit of the lock's word (process_lock.hpp). In the inheriting mutexes, which the
// kernel frees, it is a member that is stored before the lock is made usable again, so that a second death in between
// is reported as well.
#pragma once

#include <chrono>
#include <cstdint>
#include <system_error>

#include "baton/objects/deadline.hpp"
#include "baton/objects/process_lock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/robust_mutex.hpp"

namespace baton::objects {

/// The result of lock(): how the previous owner ended.
enum class ownership : std::uint8_t {
  acquired,
  previous_owner_died,  ///< acquired, too; the protected state may be half changed, and the lock stays marked until
                        ///< consistent()
};

namespace detail {

/// The lock with a kernel word; see mutex.hpp. Same functions as ProcessLock.
class InheritingLock {
 public:
  InheritingLock() : lock_((confine_to_namespace(this), true)) {}
  Locked try_lock() noexcept { return settle(lock_.try_lock()); }
  Locked lock() noexcept { return settle(lock_.lock()); }
  Locked lock_until(std::int64_t deadline_ns) noexcept {
    return settle(deadline_ns == kForever ? lock_.lock() : lock_.lock_until(deadline_ns));
  }
  void make_consistent() noexcept { died_ = false; }
  bool owner_died() const noexcept { return died_; }
  void unlock() noexcept { lock_.unlock(); }

 private:
  /// From now on all users of the heap must be in one PID namespace; throws baton::Exception (unsupported,
  /// invalid_argument).
  static void confine_to_namespace(const void* address);
  Locked settle(os::RobustMutex::Locked locked) noexcept {
    if (locked == os::RobustMutex::Locked::kNo) return Locked::kNo;
    if (locked == os::RobustMutex::Locked::kOwnerDied) {
      died_ = true;  // first, see the invariant
      BATON_CRASH_POINT("shared.mutex.marked");
      lock_.make_consistent();
      BATON_CRASH_POINT("shared.mutex.taken_over");
    }
    return died_ ? Locked::kOwnerDied : Locked::kYes;
  }

  os::RobustMutex lock_;
  bool died_ = false;  // read and written by owners only
};

/// The interface of std::mutex on a lock of this library.
template <class Lock>
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  /// Blocks until this thread owns the lock. The owner's death ends the wait.
  ownership lock() {
    switch (lock_.lock()) {
      case Locked::kYes:
        return ownership::acquired;
      case Locked::kOwnerDied:
        return ownership::previous_owner_died;
      default:
        throw std::system_error(std::make_error_code(std::errc::invalid_argument));  // no lock lies there
    }
  }
  /// True if this thread owns the lock now; check owner_died() then.
  bool try_lock() noexcept { return lock_.try_lock() != Locked::kNo; }
  void unlock() noexcept {
    BATON_CRASH_POINT("shared.mutex.unlock");
    lock_.unlock();
  }

  /// For the owner: a former owner died, and consistent() was not called since.
  bool owner_died() const noexcept { return lock_.owner_died(); }
  /// For the owner: the protected state is whole again.
  void consistent() noexcept { lock_.make_consistent(); }

 protected:
  bool lock_until(std::int64_t deadline_ns) noexcept { return lock_.lock_until(deadline_ns) != Locked::kNo; }

 private:
  Lock lock_;
};

template <class Lock>
class TimedMutex : public Mutex<Lock> {
 public:
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return this->lock_until(deadline_after(duration));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& point) noexcept {
    do {
      if (this->lock_until(deadline_at(point))) return true;
    } while (!has_passed(point));  // another clock than CLOCK_MONOTONIC may be adjusted meanwhile
    return false;
  }
};

}  // namespace detail

class mutex : public detail::Mutex<detail::ProcessLock> {};
class timed_mutex : public detail::TimedMutex<detail::ProcessLock> {};
class inheriting_mutex : public detail::Mutex<detail::InheritingLock> {};
class inheriting_timed_mutex : public detail::TimedMutex<detail::InheritingLock> {};

}  // namespace baton::objects
