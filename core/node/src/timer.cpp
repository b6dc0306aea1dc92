// SPDX-License-Identifier: Apache-2.0
#include "baton/node/timer.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

#include "baton/node/clock.hpp"
#include "baton/os/lock.hpp"

namespace baton {
namespace {

class TimerExecutable final : public detail::Executable, public detail::TimerControl {
 public:
  TimerExecutable(std::shared_ptr<CallbackGroup> group, std::chrono::nanoseconds period, std::function<void()> callback,
                  std::shared_ptr<Clock> clock)
      : Executable(std::move(group)),
        period_ns_(period.count()),
        callback_(std::move(callback)),
        clock_(std::move(clock)),
        next_ns_(after(clock_->now().count())) {}

  bool ready() const override {
    if (is_canceled()) return false;
    const std::int64_t now = clock_->now().count();
    std::int64_t next = next_ns_.load(std::memory_order_relaxed);
    // Simulated time went back by more than a period: a new period starts at the present time.
    if (now < next - period_ns_) next_ns_.compare_exchange_strong(next, after(now), std::memory_order_relaxed);
    return now >= next;
  }
  std::chrono::nanoseconds ready_in() const override {
    if (is_canceled()) return std::chrono::nanoseconds::max();
    return clock_->real_time_until(std::chrono::nanoseconds(next_ns_.load(std::memory_order_relaxed)));
  }
  bool execute() override {
    if (is_canceled()) return false;
    const std::int64_t now = clock_->now().count();
    std::int64_t next = next_ns_.load(std::memory_order_relaxed);
    if (now < next) return false;
    // The phase is kept and missed periods are skipped, as rclcpp's timers do.
    const std::int64_t last = next + period_ns_ * ((now - next) / period_ns_);
    // In a reentrant group several threads may find the timer ready; only one of them gets the period.
    if (!next_ns_.compare_exchange_strong(next, after(last), std::memory_order_relaxed)) return false;
    callback_();
    return true;
  }
  void set_wake(std::function<void()> wake) override {
    std::shared_ptr<void> jump = wake ? clock_->on_jump(wake) : nullptr;  // a clock has locks of its own
    const os::Lock lock(wake_mutex_);
    jump_.swap(jump);
    wake_.swap(wake);
  }

  void cancel() override { cancelled_.store(true, std::memory_order_relaxed); }
  void reset() override {
    next_ns_.store(after(clock_->now().count()), std::memory_order_relaxed);
    // release: pairs with the acquire in is_canceled(). A thread that sees the reset also sees the new period.
    cancelled_.store(false, std::memory_order_release);
    std::function<void()> wake;
    {
      const os::Lock lock(wake_mutex_);
      wake = wake_;
    }
    if (wake) wake();  // an executor may sleep past the new period; without wake_mutex_, since it locks its own
  }
  bool is_canceled() const override { return cancelled_.load(std::memory_order_acquire); }

 private:
  /// One period later; a timer whose period ends beyond all time is never called.
  std::int64_t after(std::int64_t time_ns) const noexcept {
    return os::saturated_sum(std::chrono::nanoseconds(time_ns), std::chrono::nanoseconds(period_ns_)).count();
  }

  const std::int64_t period_ns_;
  std::function<void()> callback_;
  std::shared_ptr<Clock> clock_;
  // One word read and written by the executor's threads, which order everything else by the executor's mutex.
  mutable std::atomic<std::int64_t> next_ns_;
  std::atomic<bool> cancelled_{false};  // a callback that has begun runs to its end
  os::Mutex wake_mutex_;                // innermost
  std::function<void()> wake_ BATON_GUARDED_BY(wake_mutex_);
  std::shared_ptr<void> jump_ BATON_GUARDED_BY(wake_mutex_);
};

}  // namespace

namespace detail {

MadeTimer make_timer(std::shared_ptr<CallbackGroup> group, std::chrono::nanoseconds period,
                     std::function<void()> callback, std::shared_ptr<Clock> clock) {
  auto made = std::make_shared<TimerExecutable>(std::move(group), period, std::move(callback), std::move(clock));
  return {made, made};
}

}  // namespace detail
}  // namespace baton
