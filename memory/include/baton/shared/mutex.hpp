// SPDX-License-Identifier: Apache-2.0
// mutex and timed_mutex for memory that several processes write. Whoever can write the memory is trusted: a process that
// scribbles over a mutex breaks it for all. What is survived is death: the kernel frees the lock of a process (or thread) that
// ends while it owns one, and the next owner learns of it.
//
//   switch (m.lock()) { case ownership::acquired: ...; case ownership::previous_owner_died: repair; m.consistent(); }
//   std::lock_guard lock(m);  if (m.owner_died()) { repair; m.consistent(); }
//
// Semantics of std::mutex and std::timed_mutex ([thread.mutex.class], [thread.timedmutex.class]) otherwise, so that
// std::lock_guard, std::unique_lock, std::scoped_lock and std::lock work. Locking twice in one thread is undefined (it hangs).
// lock() throws std::system_error where std::mutex would.
// Thread rules: placed in shared memory and constructed by one thread before others know its address; used in place by
// any thread of any process of one PID namespace; not unmapped in the owner's process while owned. No destructor runs.
//
// Invariants: (1) the dead owner's mark is stored before the lock is made usable again, so that a second death in between is
// reported as well; (2) only consistent() takes it back: an owner that ignores it, or dies too, leaves it to the next;
// (3) the mark is read and written by owners only: plain memory, ordered by the lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <system_error>

#include "baton/os/crash_point.hpp"
#include "baton/os/robust_mutex.hpp"
#include "baton/shared/deadline.hpp"

namespace baton::shared {

/// What lock() says about the owner before.
enum class ownership : std::uint8_t {
  acquired,
  previous_owner_died,  ///< acquired, too; what the lock protects may be half done, and stays marked until consistent()
};

/// Asked for at construction: a thread that waits lends the owner its priority (real-time scheduling). Costs a system call
/// only under contention.
struct priority_inheritance_t {};
inline constexpr priority_inheritance_t priority_inheritance{};

class mutex {
 public:
  mutex() noexcept = default;
  explicit mutex(priority_inheritance_t) noexcept : lock_(true) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Blocks until owned. Death of the owner ends the wait.
  ownership lock() {
    const os::RobustMutex::Locked locked = lock_.lock();
    if (__builtin_expect(locked != os::RobustMutex::Locked::kYes, 0)) settle(locked);
    return state();
  }
  /// True if owned now; ask owner_died() then.
  bool try_lock() noexcept {
    const os::RobustMutex::Locked locked = lock_.try_lock();
    if (locked == os::RobustMutex::Locked::kOwnerDied) take_over();
    return locked != os::RobustMutex::Locked::kNo;
  }
  void unlock() noexcept {
    BATON_CRASH_POINT("shared.mutex.unlock");
    lock_.unlock();
  }

  /// For the owner: an owner before died and nobody called consistent() since.
  bool owner_died() const noexcept { return died_; }
  /// For the owner: what the lock protects is whole again.
  void consistent() noexcept { died_ = false; }

 protected:
  bool lock_until(std::int64_t deadline_ns) noexcept {
    const os::RobustMutex::Locked locked =
        deadline_ns == detail::kForever ? lock_.lock() : lock_.lock_until(deadline_ns);
    if (locked == os::RobustMutex::Locked::kOwnerDied) take_over();
    return locked != os::RobustMutex::Locked::kNo;
  }

 private:
  ownership state() const noexcept { return died_ ? ownership::previous_owner_died : ownership::acquired; }
  void settle(os::RobustMutex::Locked locked) {
    if (locked == os::RobustMutex::Locked::kNo) throw std::system_error(std::make_error_code(std::errc::invalid_argument));
    take_over();
  }
  void take_over() noexcept {
    died_ = true;  // first, see invariant 1
    BATON_CRASH_POINT("shared.mutex.marked");
    lock_.make_consistent();
    BATON_CRASH_POINT("shared.mutex.taken_over");
  }

  os::RobustMutex lock_;
  bool died_ = false;
};

class timed_mutex : public mutex {
 public:
  using mutex::mutex;

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept {
    return lock_until(detail::deadline_after(duration));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& point) noexcept {
    do {
      if (lock_until(detail::deadline_at(point))) return true;
    } while (Clock::now() < point);  // another clock than ours may be adjusted meanwhile
    return false;
  }
};

}  // namespace baton::shared
