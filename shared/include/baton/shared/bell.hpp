// SPDX-License-Identifier: Apache-2.0
// How the objects of baton/shared sleep and wake: an event word to sleep on and a count of those who do. No system call while
// nobody sleeps. Whoever can write the memory is trusted.
//
//   sleeper S                                    ringer R
//   S1 sleepers += 1           (relaxed)         R1 change the state (in its own words)
//   S2 seen = event            (relaxed)         R2 fence            (seq_cst)
//   S3 fence                   (seq_cst)         R3 read sleepers    (relaxed): 0 -> done
//   S4 look at the state                         R4 event += 1       (relaxed)
//   S5 FUTEX_WAIT(event == seen)                 R5 n = FUTEX_WAKE(event)
//   S6 unless woken by a ringer:                 R6 sleepers -= n    (relaxed)
//      sleepers -= 1           (relaxed)
//   - If R2 precedes S3 in the order of fences, S4 sees the change. Otherwise S3 precedes R2, so R3 sees S1 and wakes.
//   - If S2 read what R4 wrote, S4 sees the change: the fence R2 before R4 releases it and the fence S3 acquires what S2 read. If it did not, the
//     kernel refuses in S5, or S sleeps already and R5 wakes it.
//   - Each S1 is taken back once: by the ringer that woke the sleeper, so that one ring wakes once however long the sleeper needs
//     to come, or by the sleeper that nobody woke. A count is never too low, and one that is too high costs a useless wake.
//
// Death. A sleeper that dies asleep, or a ringer between R5 and R6, leaves its count: useless wakes from then on, no more. A ringer that dies between R1
// and R5, or a sleeper that is woken as the only one and dies, takes a wake-up with it. Therefore the thread of each process that hears of deaths
// rings for the dead (hearing.hpp), and where none does, in a heap without a name, nobody sleeps longer than kLookAgainNs at a stretch (a timer costs
// about a tenth of a sleep). Such a wake-up is late, never lost; a wake-up of the living is never late.
// A sleeper that was woken and then throws instead of taking what it was woken for passes the wake-up on.
//
// Memory must be zero or constructed before its first use. Thread rules: everything is thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>

#include "baton/memory/platform.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/process.hpp"
#include "baton/shared/hearing.hpp"

namespace baton::shared {

/// Longest sleep at a stretch where nobody hears of deaths: what a wake-up that died with its process can be late.
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
struct BellWords {
  using Word = typename Platform::template atomic<std::uint32_t>;
  Word event;
  Word sleepers;

  /// S1 to S3; look at the state (S4) before sleeping with the value returned.
  std::uint32_t announce() noexcept {
    sleepers.fetch_add(1, std::memory_order_relaxed);  // ordered before S4 by the fence; pairs with R2, R3
    const std::uint32_t seen = event.load(std::memory_order_relaxed);  // becomes an acquire through the fence
    Platform::fence_seq_cst();                                         // pairs with the fence in must_wake
    return seen;
  }
  /// S6: for one that no ringer woke.
  void awake() noexcept { sleepers.fetch_add(~0U, std::memory_order_relaxed); }  // as S1
  /// R2 to R4: true if the caller must now wake sleepers on event (R5).
  [[nodiscard]] bool must_wake() noexcept {
    Platform::fence_seq_cst();                                        // pairs with the fence in announce
    if (sleepers.load(std::memory_order_relaxed) == 0) return false;  // ordered by the two fences
    BATON_CRASH_POINT("shared.bell.sleepers_seen");
    event.fetch_add(1, std::memory_order_relaxed);  // a release by the fence above; pairs with announce
    BATON_CRASH_POINT("shared.bell.event_counted");
    return true;
  }
  /// R6, with what the wake (R5) returned.
  void woke(int count) noexcept {
    if (count > 0) sleepers.fetch_add(~static_cast<std::uint32_t>(count) + 1, std::memory_order_relaxed);  // as S1
  }
};

class Bell {
 public:
  /// After a change of the state: wakes up to `count` of those who wait for it.
  void ring(int count) noexcept {
    if (!words_.must_wake()) return;
    ringer_cpu_.store(os::current_cpu(), std::memory_order_relaxed);  // a hint
    words_.woke(os::futex_wake(&words_.event, count));
  }

  /// What announce() leaves for the sleep.
  struct Announced {
    std::uint32_t seen;
    detail::Place place;
  };

  /// Until ready() is true (then true) or the absolute CLOCK_MONOTONIC time (then ready()'s last answer). ready() is asked
  /// first, after every wake-up, and after deaths or every kLookAgainNs. What it throws ends the wait.
  template <class Ready>
  bool wait(Ready&& ready, std::int64_t deadline_ns) noexcept(noexcept(ready())) {
    if (ready()) return true;
    if (deadline_ns != 0 && spin(ready)) return true;
    Waiting waiting{*this};
    for (bool in_time = true; in_time;) {
      if (ready()) return waiting.done();
      waiting.announce();
      if (ready()) return waiting.done();
      in_time = waiting.sleep(deadline_ns);
    }
    const bool there = ready();
    waiting.done();
    return there;
  }

  /// The same, for one who looks only and takes nothing of what he waits for: a wake-up that he got is passed on.
  template <class Ready>
  bool watch(Ready&& ready, std::int64_t deadline_ns) noexcept(noexcept(ready())) {
    const bool there = wait(ready, deadline_ns);
    if (there) ring(1);
    return there;
  }

  /// A look before sleeping. Sleep makes the ringer slow (a system call and an interrupt for each ring), so that the next sleep is due:
  /// a look that outlasts one ring ends that for both. It is given up as long as it does not pay, but for every kEvery-th time, and where
  /// the last ringer that had to wake somebody needs this very CPU.
  template <class Ready>
  bool spin(Ready&& ready) const noexcept(noexcept(ready())) {
    constexpr std::int64_t kMostNs = 20'000, kLeastNs = 50;
    constexpr unsigned kEvery = 32;
    thread_local std::int64_t look_ns = kMostNs;
    thread_local unsigned failed = 0;
    if (ringer_cpu_.load(std::memory_order_relaxed) == os::current_cpu() ||
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

  /// For those whose state lies under a lock: A1 and S1 to S3, then the lock is given up, then sleep_after().
  Announced announce() noexcept {
    const detail::Place place = detail::take_place(&words_);
    return {words_.announce(), place};
  }
  /// After announce(), instead of sleep_after().
  void stay_awake(const Announced& announced) noexcept {
    words_.awake();
    if (announced.place.hearing != nullptr) detail::leave_place(announced.place, &words_);
  }
  /// S5 and S6: one sleep. False: the time is over.
  bool sleep_after(const Announced& announced, std::int64_t deadline_ns) noexcept {
    BATON_CRASH_POINT("shared.bell.announced");
    const bool heard = announced.place.hearing != nullptr && announced.place.hearing->heard();  // A2
    const std::int64_t now = heard && deadline_ns == INT64_MAX ? 0 : os::monotonic_ns();
    const bool in_time = now < deadline_ns;
    const std::int64_t end_ns = heard ? deadline_ns : std::min(deadline_ns, now + kLookAgainNs);
    const bool woken = in_time && os::futex_wait_counted({&words_.event, announced.seen}, end_ns);
    BATON_CRASH_POINT("shared.bell.woken");
    if (!woken) words_.awake();
    if (announced.place.hearing != nullptr) detail::leave_place(announced.place, &words_);
    return in_time;
  }

 private:
  /// One wait(), also when a look throws: what was announced is taken back, and a wake-up that was got is passed on.
  class Waiting {
   public:
    explicit Waiting(Bell& bell) noexcept : bell_(bell) {}
    ~Waiting() {
      if (is_announced_) bell_.stay_awake(announced_);
      if (slept_) bell_.ring(1);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    void announce() noexcept {
      announced_ = bell_.announce();
      is_announced_ = true;
    }
    bool sleep(std::int64_t deadline_ns) noexcept {
      is_announced_ = false;
      slept_ = true;
      return bell_.sleep_after(announced_, deadline_ns);
    }
    /// No look threw.
    bool done() noexcept {
      slept_ = false;
      return true;
    }

   private:
    Bell& bell_;
    Announced announced_{};
    bool is_announced_ = false, slept_ = false;
  };

  BellWords<memory::StdPlatform> words_{};
  std::atomic<std::int32_t> ringer_cpu_{-1};
};

}  // namespace baton::shared
