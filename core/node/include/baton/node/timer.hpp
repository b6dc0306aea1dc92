// SPDX-License-Identifier: Apache-2.0
// The handle of a timer, which Node::create_timer() makes. Thread rules: all functions are thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "baton/node/clock.hpp"
#include "baton/node/executable.hpp"
#include "baton/node/not_empty.hpp"

namespace baton {
namespace detail {

/// How a Timer's owner stops and starts it. Thread-safe.
class TimerControl {
 public:
  virtual ~TimerControl() = default;
  virtual void cancel() = 0;
  virtual void reset() = 0;
  virtual bool is_canceled() const = 0;
};

/// A new timer, and the same object as its owner sees it.
struct MadeTimer {
  std::shared_ptr<Executable> executable;
  std::shared_ptr<TimerControl> control;
};
/// A timer of `period` (positive) by `clock`. No argument is null or empty.
MadeTimer make_timer(std::shared_ptr<CallbackGroup> group, std::chrono::nanoseconds period,
                     std::function<void()> callback, std::shared_ptr<Clock> clock);

}  // namespace detail

/// A running timer. It ends when the last copy is destroyed. An empty Timer throws invalid_argument.
class Timer {
 public:
  Timer() = default;
  Timer(std::shared_ptr<detail::Executable> executable, std::shared_ptr<detail::TimerControl> control)
      : executable_(std::move(executable)), control_(std::move(control)) {}
  explicit operator bool() const noexcept { return control_ != nullptr; }

  /// The callback is not called any more, until reset().
  void cancel() { detail::not_empty(control_, "timer").cancel(); }
  /// A new period begins now, also for a timer that was cancelled.
  void reset() { detail::not_empty(control_, "timer").reset(); }
  /// True after cancel(), until reset().
  bool is_canceled() const { return detail::not_empty(control_, "timer").is_canceled(); }

 private:
  std::shared_ptr<detail::Executable> executable_;
  std::shared_ptr<detail::TimerControl> control_;
};

}  // namespace baton
