// SPDX-License-Identifier: Apache-2.0
#include "wait_set.hpp"

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/wake_socket.hpp"
#include "baton/transport/whose.hpp"
#include "endpoint_context.hpp"

namespace baton::transport {
namespace {

inline void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

std::int64_t deadline_after(std::chrono::nanoseconds timeout) noexcept {
  if (timeout == kInfinite) return INT64_MAX;  // spares the look at the clock
  return os::saturated_sum(std::chrono::nanoseconds(os::monotonic_ns()), std::max(timeout, timeout.zero())).count();
}

}  // namespace

void WaitSet::Impl::look_again() {
  if (generation != os::fork_generation()) return;
  memory::announce_event<Platform>(futex.own());
  switch (memory::who_sleeps<Platform>(sleeping)) {
    case memory::Sleeping::kAwake:
      break;
    case memory::Sleeping::kFutex:
      futex.notify();
      break;
    case memory::Sleeping::kDescriptor:
      descriptor.notify();
      break;
  }
}

/// has_work() for connections, with `once`: whether a word has changed since the last call. Whoever sees its new value sees what was done
/// before, too: the acquire pairs with the release in announce_event().
BATON_COLD bool WaitSet::Impl::has_news() {
  bool any = false;
  for (std::size_t i = 0; i <= connections.size(); ++i) {
    const std::uint32_t event =
        (i == 0 ? futex.own() : connections[i - 1]->line->event).load(std::memory_order_acquire);
    any = std::exchange(told[i], event) != event || any;
  }
  return any;
}

// Plain loops: std::any_of is unrolled to four times the code, and most wait sets have one publisher.
inline bool WaitSet::Impl::has_work() {
  for (const GuardCondition::Impl* guard : watched) {
    if (guard->triggered.load(std::memory_order_acquire)) return true;  // pairs with the release in trigger()
  }
  if (unlikely(once)) return has_news();
  for (const ConnectionRef& ref : connections) {
    if (ref->readable()) {
      with_message = ref.get();
      return true;
    }
  }
  return false;
}

BATON_HOT_SELDOM bool WaitSet::Impl::ready() {
  // The waiter must not sleep past a call. answer_calls() answers it.
  return calls.load(std::memory_order_relaxed) != 0 || has_work();
}

/// Answers all calls. True if one was wake().
BATON_COLD Result<bool> WaitSet::Impl::answer_calls() {
  const std::uint32_t reasons = calls.exchange(0, std::memory_order_acquire);  // pairs with the release in call()
  struct Unanswered {
    ~Unanswered() { calls.fetch_or(reasons, std::memory_order_relaxed); }
    std::atomic<std::uint32_t>& calls;
    std::uint32_t reasons;
  } unanswered{calls, reasons};  // if rebuild() fails or throws: the next wait() tries again
  if ((reasons & kChanged) != 0) {
    Result<void> built;
    try {
      built = rebuild();
    } catch (const std::bad_alloc&) {
      built = no_memory();
    }
    if (!built) {
      if (whose(built.error().code) == Whose::kProgram) return built.error();
      pause_for(built.error());
      return true;  // some reader may have data
    }
  }
  unanswered.reasons = 0;
  return (reasons & kWoken) != 0;
}

/// True if there is work or a call. False: the time is over.
BATON_HOT_SELDOM bool WaitSet::Impl::spin_until(std::int64_t end_ns) {
  // The clock is read only now and then: reading it takes as long as a dozen looks.
  for (unsigned round = 1;; ++round) {
    if (ready()) return true;
    if (round % 32 == 0 && os::monotonic_ns() >= end_ns) return false;
    pause_cpu();
  }
}

BATON_HOT_INLINE void WaitSet::Impl::sleep() {
  BATON_CRASH_POINT("wait.before_sleep");
  if (likely(how == memory::Sleeping::kFutex)) {
    timed_out = !futex.sleep(deadline_ns);
  } else {
    sleep_on_descriptor();
  }
  BATON_CRASH_POINT("wait.after_sleep");
}

BATON_HOT_SELDOM void WaitSet::Impl::sleep_on_descriptor() noexcept {
  timed_out = !descriptor.sleep(deadline_ns);
  if (descriptor.lacks_sockets) calls.fetch_or(kChanged, std::memory_order_relaxed);  // rebuild() tries again
}

BATON_HOT_INLINE Result<bool> WaitSet::Impl::wait(std::chrono::nanoseconds timeout) {
  if (unlikely(generation != os::fork_generation())) {
    return out_of_line([] {
      return Error{Errc::forked, "this wait set belongs to the parent process; make a new node in the child"};
    });
  }
  deadline_ns = deadline_after(timeout);
  timed_out = false;
  with_message = nullptr;
  const std::int64_t spin = spin_ns.load(std::memory_order_relaxed);
  std::int64_t spin_end = spin > 0 ? std::min(deadline_after(std::chrono::nanoseconds(spin)), deadline_ns) : 0;
  for (;;) {
    if (unlikely(calls.load(std::memory_order_relaxed) != 0)) {
      Result<bool> woken = answer_calls();
      if (!woken || *woken) return woken;
    }
    if (has_work()) return true;
    if (timed_out || timeout.count() <= 0) return false;
    if (unlikely(spin_end != 0)) {
      if (spin_until(spin_end)) continue;
      spin_end = 0;
    }
    if (unlikely(how == memory::Sleeping::kDescriptor)) {
      out_of_line([this] { descriptor.begin_round(broke_wake_socket); });
    }
    BATON_CRASH_POINT("wait.before_announce");
    memory::wait_round<Platform>(*this);
    // Orders revoking the announcement before reading the calls. Pairs with the fence in look_again(), which remove()
    // makes between its two counterparts: if we revoked another wait set's announcement, we see that the reader left.
    Platform::fence_seq_cst();
  }
}

WaitSet::WaitSet() : impl_(os::make_hot_shared<Impl>()) {}

void WaitSet::wake_once_for_each_message() { impl_->once = true; }

void WaitSet::set_spin(os::Nanoseconds budget) { impl_->spin_ns.store(budget.count(), std::memory_order_relaxed); }

Result<bool> WaitSet::wait(os::Nanoseconds timeout) { return impl_->wait(timeout); }

const Reader::Impl* WaitSet::reader_with_work() const noexcept {
  return impl_->with_message != nullptr ? impl_->with_message->reader : nullptr;
}

void WaitSet::wake() {
  impl_->call(Impl::kWoken);
  impl_->look_again();
}

GuardCondition::GuardCondition() : impl_(std::make_shared<Impl>()) {}
GuardCondition::~GuardCondition() = default;

void GuardCondition::trigger() {
  impl_->triggered.store(true, std::memory_order_release);  // pairs with the acquire in WaitSet::Impl::has_work
  const os::Lock lock(impl_->mutex);
  for (const auto& entry : impl_->wait_sets) {
    if (const auto wait_set = entry.lock()) wait_set->look_again();
  }
}

bool GuardCondition::is_triggered() const {
  return impl_->triggered.load(std::memory_order_acquire);  // pairs with the release in trigger()
}

bool GuardCondition::exchange_triggered() { return impl_->triggered.exchange(false, std::memory_order_acq_rel); }

}  // namespace baton::transport
