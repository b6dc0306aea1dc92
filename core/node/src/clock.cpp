// SPDX-License-Identifier: Apache-2.0
#include "baton/node/clock.hpp"

#include <algorithm>
#include <ostream>
#include <string>
#include <thread>

#include "baton/node/shutdown.hpp"
#include "baton/node/time.hpp"
#include "end_of_wait.hpp"

namespace baton {
void detail::throw_duration_out_of_range(double seconds) {
  throw Exception(
      {Errc::invalid_argument, std::to_string(seconds) + " seconds are no duration: it has less than 292 years"});
}

namespace {

class SteadyClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  std::chrono::nanoseconds real_time_until(std::chrono::nanoseconds deadline) const override {
    return std::max(deadline - now(), std::chrono::nanoseconds::zero());
  }
  std::shared_ptr<void> on_jump(std::function<void()>) override { return nullptr; }  // it never jumps
};

}  // namespace

std::shared_ptr<Clock> steady_clock() {
  // Never destroyed: other threads may make timers while the process's static objects end.
  static const auto* const clock = new std::shared_ptr<Clock>(std::make_shared<SteadyClock>());
  return *clock;
}

// Made when the library is loaded: a child forked while another thread makes it would wait for that thread for ever.
[[maybe_unused]] static const bool g_made_early = steady_clock() != nullptr;

// The time itself is one word that orders nothing else: relaxed suffices. The wake that follows set() takes a mutex.
std::chrono::nanoseconds SimulatedClock::now() const {
  return std::chrono::nanoseconds(now_ns_.load(std::memory_order_relaxed));
}

std::chrono::nanoseconds SimulatedClock::real_time_until(std::chrono::nanoseconds deadline) const {
  return deadline <= now() ? std::chrono::nanoseconds::zero() : std::chrono::nanoseconds::max();
}

std::shared_ptr<void> SimulatedClock::on_jump(std::function<void()> wake) {
  auto token = std::make_shared<std::function<void()>>(std::move(wake));
  const os::Lock lock(mutex_);
  wakes_.erase(std::remove_if(wakes_.begin(), wakes_.end(), [](const auto& weak) { return weak.expired(); }),
               wakes_.end());
  wakes_.push_back(token);
  return token;
}

void SimulatedClock::set(os::Nanoseconds now) {
  now_ns_.store(now.count(), std::memory_order_relaxed);
  std::vector<std::shared_ptr<std::function<void()>>> wakes;  // called outside the lock: a wake may register timers
  {
    const os::Lock lock(mutex_);
    for (const auto& weak : wakes_)
      if (auto wake = weak.lock()) wakes.push_back(std::move(wake));
  }
  for (const auto& wake : wakes) (*wake)();
}

void detail::throw_time_out_of_range(std::int64_t nanoseconds) {
  throw Exception({Errc::invalid_argument, "the time " + std::to_string(nanoseconds) +
                                               " ns after 1970 has more seconds than the message's stamp can hold"});
}

namespace {

os::Nanoseconds period_of(double hertz) { return std::chrono::duration<double>(hertz > 0 ? 1 / hertz : 0); }

}  // namespace

Rate::Rate(double hertz) : Rate(period_of(hertz)) {}

Rate::Rate(os::Nanoseconds period) : period_(period) {
  if (period <= std::chrono::nanoseconds::zero())
    throw Exception({Errc::invalid_argument, "a rate must be positive, and its period at least a nanosecond"});
  reset();
}

void Rate::reset() { next_ = detail::deadline_after(period_); }

bool Rate::sleep() {
  const auto end = next_;
  if (end <= std::chrono::steady_clock::now()) {
    reset();
    return false;
  }
  const detail::EndOfWait wait(end);
  while (const auto pause = wait.next()) std::this_thread::sleep_for(*pause);
  next_ = std::chrono::steady_clock::time_point(os::saturated_sum(end.time_since_epoch(), period_));
  return true;
}

namespace {

std::ostream& print_seconds(std::ostream& out, std::int64_t nanoseconds) {
  const auto size =
      nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
  const std::string rest = std::to_string(size % 1'000'000'000);
  return out << (nanoseconds < 0 ? "-" : "") << std::to_string(size / 1'000'000'000) << '.'
             << std::string(9 - rest.size(), '0') << rest;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Duration& d) { return print_seconds(out, d.nanoseconds()); }
std::ostream& operator<<(std::ostream& out, const Time& time) { return print_seconds(out, time.nanoseconds()); }

bool Duration::sleep() const {
  if (count() > 0) Rate(*this).sleep();
  return ok();
}

std::chrono::steady_clock::time_point detail::deadline_after(os::Nanoseconds timeout) noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::steady_clock::time_point(
      os::saturated_sum(now, std::max<std::chrono::nanoseconds>(timeout, timeout.zero())));
}

}  // namespace baton
