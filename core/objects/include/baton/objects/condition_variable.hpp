// SPDX-License-Identifier: Apache-2.0
// condition_variable in a shared heap, with baton::objects::mutex or any lockable of the heap.
// Every process that can write the memory is trusted. A process that is killed while it waits, or just as it is
// notified, consumes no other process's wake-up.
//
// Semantics of std::condition_variable_any ([thread.condition.condvarany]) without stop tokens. Two differences, which
// the standard allows as spurious wake-ups:
// 1. notify_one() may wake every waiter, so the death of one waiter does no harm.
// 2. wait() returns after deaths, or at least every kLookAgainNs. This replaces the notification of a process that died
//    after its change and before it notified (event_count.hpp).
// Wait with a predicate, and check owner_died() of the mutex in it: the wait may take the lock over from a dead owner.
// Thread rules: as mutex. All waiters of one condition_variable use the same lock. A wait that times out costs nothing.
// Protocol: event_count.hpp. The state looked at in S4 is the user's, under the lock: a change after the waiter's
// unlock happens after
// S1 and S2, so its notifier sees the count and the kernel sees the new event.
#pragma once

#include <chrono>
#include <climits>
#include <condition_variable>

#include "baton/objects/deadline.hpp"
#include "baton/objects/event_count.hpp"

namespace baton::objects {

class condition_variable {
 public:
  condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  void notify_one() noexcept { event_count_.notify(INT_MAX); }
  void notify_all() noexcept { event_count_.notify(INT_MAX); }

  template <class Lock>
  void wait(Lock& lock) {
    wait_ns(lock, detail::kForever);
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }
  template <class Lock, class Clock, class Duration>
  std::cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& point) {
    wait_ns(lock, detail::deadline_at(point));
    return detail::has_passed(point) ? std::cv_status::timeout : std::cv_status::no_timeout;
  }
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& point, Predicate predicate) {
    while (!predicate()) {
      if (wait_until(lock, point) == std::cv_status::timeout) return predicate();
    }
    return true;
  }
  template <class Lock, class Rep, class Period>
  std::cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& duration) {
    const std::int64_t deadline = detail::deadline_after(duration);
    wait_ns(lock, deadline);
    return os::monotonic_ns() < deadline ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& duration, Predicate predicate) {
    const std::int64_t deadline = detail::deadline_after(duration);
    while (!predicate()) {
      wait_ns(lock, deadline);
      if (os::monotonic_ns() >= deadline) return predicate();
    }
    return true;
  }

 private:
  template <class Lock>
  void wait_ns(Lock& lock, std::int64_t deadline_ns) {
    const EventCount::Prepared prepared =
        event_count_.prepare_wait();  // under the lock: every later change of the state sees it
    try {
      lock.unlock();
    } catch (...) {  // the lock was not owned
      event_count_.cancel_wait(prepared);
      throw;
    }
    event_count_.commit_wait(prepared, deadline_ns);
    lock.lock();
  }

  EventCount event_count_;
};

}  // namespace baton::objects
