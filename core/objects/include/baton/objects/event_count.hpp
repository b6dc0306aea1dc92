// SPDX-License-Identifier: Apache-2.0
// How the objects of baton/shared sleep and wake: an event count, which is an event word to sleep on and a count of its
// sleepers. No system call while no thread sleeps. Every process that can write the memory is trusted.
//
//   sleeper S                                    notifier N
//   S1 sleepers += 1           (relaxed)         N1 change the state (in its own words)
//   S2 seen = event            (relaxed)         N2 fence            (seq_cst)
//   S3 fence                   (seq_cst)         N3 read sleepers    (relaxed): 0 -> done
//   S4 look at the state                         N4 event += 1       (relaxed)
//   S5 FUTEX_WAIT(event == seen)                 N5 n = FUTEX_WAKE(event)
//   S6 unless woken by a notifier:               N6 sleepers -= n    (relaxed)
//      sleepers -= 1           (relaxed)
//   - If N2 precedes S3 in the order of fences, S4 sees the change. Otherwise S3 precedes N2, so N3 sees S1 and wakes.
//   - If S2 read what N4 wrote, S4 sees the change: the fence N2 before N4 releases it and the fence S3 acquires what
//     S2 read. If S2 read an older value, the kernel refuses in S5, or S sleeps already and N5 wakes S.
// - Each S1 is undone once: by the notifier that woke the sleeper, or by a sleeper that was not woken. So one
//   notification wakes once, however late the sleeper runs. A count is never too low, and a count that is too high
//   costs a useless wake.
//
// Death:
//   1. A sleeper that dies asleep, or a notifier that dies between N5 and N6, leaves its count. This only causes
//      useless wakes.
//   2. If a notifier dies between N1 and N5, or the only woken sleeper dies, a wake-up is lost.
//   3. Therefore the background thread of each process notifies in place of dead processes (waiter_table.hpp). If no
//      thread watches deaths, as in a heap without a name, a sleep lasts at most kLookAgainNs (a timer costs about a
//      tenth of a sleep). The wake-up is then late, but not lost.
//   4. A wake-up sent by a living process is never late.
// A sleeper that is woken, and then throws instead of taking the element, passes the wake-up on.
//
// Memory must be zero or constructed before its first use. Thread rules: everything is thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>

#include "baton/memory/platform.hpp"
#include "baton/objects/waiter_table.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/process.hpp"

namespace baton::objects {

/// The longest sleep if no thread watches deaths: the most by which a dead process's wake-up can be late.
inline constexpr std::int64_t kLookAgainNs = 100'000'000;

namespace detail {
/// One step of a short spin.
inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
}  // namespace detail

/// The two words and the protocol's steps without system calls (tests/model runs these).
template <class Platform>
struct EventCountWords {
  using Word = typename Platform::template atomic<std::uint32_t>;
  Word event;
  Word sleepers;

  /// S1 to S3; look at the state (S4) before sleeping with the value returned.
  std::uint32_t prepare() noexcept {
    sleepers.fetch_add(1, std::memory_order_relaxed);  // ordered before S4 by the fence; pairs with N2, N3
    const std::uint32_t seen = event.load(std::memory_order_relaxed);  // becomes an acquire through the fence
    Platform::fence_seq_cst();                                         // pairs with the fence in must_wake
    return seen;
  }
  /// S6, for a sleeper that no notifier woke.
  void cancel() noexcept { sleepers.fetch_add(~0U, std::memory_order_relaxed); }  // as S1
  /// N2 to N4: true if the caller must now wake sleepers on event (N5).
  [[nodiscard]] bool must_wake() noexcept {
    Platform::fence_seq_cst();                                        // pairs with the fence in prepare
    if (sleepers.load(std::memory_order_relaxed) == 0) return false;  // ordered by the two fences
    BATON_CRASH_POINT("shared.event_count.sleepers_seen");
    event.fetch_add(1, std::memory_order_relaxed);  // a release by the fence above; pairs with prepare
    BATON_CRASH_POINT("shared.event_count.event_counted");
    return true;
  }
  /// N6, with the number that the wake (N5) returned.
  void woke(int count) noexcept {
    if (count > 0) sleepers.fetch_add(~static_cast<std::uint32_t>(count) + 1, std::memory_order_relaxed);  // as S1
  }
};

class EventCount {
 public:
  /// After a change of the state: wakes up to `count` sleepers.
  void notify(int count) noexcept {
    if (!words_.must_wake()) return;
    notifier_cpu_.store(os::current_cpu(), std::memory_order_relaxed);  // a hint
    words_.woke(os::futex_wake(&words_.event, count));
  }

  /// From prepare_wait() to commit_wait() or cancel_wait().
  struct Prepared {
    std::uint32_t seen;
    detail::Place place;
  };

  /// Waits until ready() is true (returns true) or until the absolute CLOCK_MONOTONIC time (returns ready()'s last
  /// answer). Calls ready() first, after every wake-up, and after deaths or every kLookAgainNs. An exception of ready()
  /// ends the wait.
  template <class Ready>
  bool wait(Ready&& ready, std::int64_t deadline_ns) noexcept(noexcept(ready())) {
    if (ready()) return true;
    if (deadline_ns != 0 && spin(ready)) return true;
    Waiting waiting{*this};
    for (bool in_time = true; in_time;) {
      if (ready()) return waiting.done();
      waiting.prepare();
      if (ready()) return waiting.done();
      in_time = waiting.sleep(deadline_ns);
    }
    const bool there = ready();
    waiting.done();
    return there;
  }

  /// The same for a caller that only looks and takes nothing: passes its wake-up on.
  template <class Ready>
  bool wait_and_pass_on(Ready&& ready, std::int64_t deadline_ns) noexcept(noexcept(ready())) {
    const bool there = wait(ready, deadline_ns);
    if (there) notify(1);
    return there;
  }

  /// Polls for a short time before a sleep. A sleep makes the notifier slow (a system call and an interrupt per
  /// notification), so that the next sleep follows. Polling for longer than one notification avoids both. Polling that
  /// does not pay is skipped, except every kEvery-th time. It is also skipped on the CPU on which the last notifier
  /// with a sleeper to wake ran.
  template <class Ready>
  bool spin(Ready&& ready) const noexcept(noexcept(ready())) {
    constexpr std::int64_t kMostNs = 20'000, kLeastNs = 50;
    constexpr unsigned kEvery = 32;
    thread_local std::int64_t look_ns = kMostNs;
    thread_local unsigned failed = 0;
    if (notifier_cpu_.load(std::memory_order_relaxed) == os::current_cpu() ||
        words_.sleepers.load(std::memory_order_relaxed) != 0) {
      return false;
    }
    const std::int64_t end = os::monotonic_ns() + look_ns;
    do {
      for (int i = 0; i < 4; ++i) {
        detail::pause();
        if (ready()) {
          look_ns = kMostNs;
          return true;
        }
      }
    } while (os::monotonic_ns() < end);
    look_ns = ++failed % kEvery == 0 ? kMostNs : std::max(kLeastNs, look_ns / 4);
    return false;
  }

  /// For a state under a lock: A1 and S1 to S3. The caller then unlocks and calls commit_wait().
  Prepared prepare_wait() noexcept {
    const detail::Place place = detail::take_place(&words_);
    return {words_.prepare(), place};
  }
  /// After prepare_wait(), instead of commit_wait().
  void cancel_wait(const Prepared& prepared) noexcept {
    words_.cancel();
    if (prepared.place.table != nullptr) detail::leave_place(prepared.place, &words_);
  }
  /// S5 and S6: one sleep. False: the time is over.
  bool commit_wait(const Prepared& prepared, std::int64_t deadline_ns) noexcept {
    BATON_CRASH_POINT("shared.event_count.prepared");
    const bool watched = prepared.place.table != nullptr && prepared.place.table->is_watched();  // A2
    const std::int64_t now = watched && deadline_ns == INT64_MAX ? 0 : os::monotonic_ns();
    const bool in_time = now < deadline_ns;
    const std::int64_t end_ns = watched ? deadline_ns : std::min(deadline_ns, now + kLookAgainNs);
    const bool woken = in_time && os::futex_wait_counted({&words_.event, prepared.seen}, end_ns);
    BATON_CRASH_POINT("shared.event_count.woken");
    if (!woken) words_.cancel();
    if (prepared.place.table != nullptr) detail::leave_place(prepared.place, &words_);
    return in_time;
  }

 private:
  friend struct detail::LayoutOf;
  /// One wait(). When ready() throws, the count is taken back and a received wake-up is passed on.
  class Waiting {
   public:
    explicit Waiting(EventCount& event_count) noexcept : event_count_(event_count) {}
    ~Waiting() {
      if (is_prepared_) event_count_.cancel_wait(prepared_);
      if (slept_) event_count_.notify(1);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    void prepare() noexcept {
      prepared_ = event_count_.prepare_wait();
      is_prepared_ = true;
    }
    bool sleep(std::int64_t deadline_ns) noexcept {
      is_prepared_ = false;
      slept_ = true;
      return event_count_.commit_wait(prepared_, deadline_ns);
    }
    /// Called after ready() returned without throwing.
    bool done() noexcept {
      slept_ = false;
      return true;
    }

   private:
    EventCount& event_count_;
    Prepared prepared_{};
    bool is_prepared_ = false, slept_ = false;
  };

  EventCountWords<memory::StdPlatform> words_{};
  std::atomic<std::int32_t> notifier_cpu_{-1};
};

}  // namespace baton::objects
