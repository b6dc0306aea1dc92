// SPDX-License-Identifier: Apache-2.0
// What an executor runs, and which of it excludes each other. For Node and the endpoints; programs see CallbackGroup only.
// Thread rules: a CallbackGroup is thread-safe; an Executable is used by its executor's threads, one at a time in its group.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "baton/os/pi_mutex.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

namespace detail {

struct ExecutorState;

}  // namespace detail

/// Callbacks that exclude each other. Every node has one by default, as in rclcpp. Its callbacks may run in several
/// executors. Thread-safe.
class CallbackGroup {
 public:
  enum class Kind : std::uint8_t { kMutuallyExclusive, kReentrant };
  using SharedPtr = std::shared_ptr<CallbackGroup>;
  explicit CallbackGroup(Kind kind = Kind::kMutuallyExclusive) : kind_(kind) {}
  Kind kind() const noexcept { return kind_; }

 private:
  friend struct detail::ExecutorState;
  /// May a callback run? If not, leave() will wake `waiter`. Always true for a reentrant group.
  bool free_or_wait(const std::weak_ptr<detail::ExecutorState>& waiter);
  /// The same, and the caller then runs a callback: leave() must follow.
  bool enter(const std::weak_ptr<detail::ExecutorState>& waiter);
  void leave();
  // The slow paths of these.
  bool enter_or_wait(const std::weak_ptr<detail::ExecutorState>& waiter);
  void wake_waiting();
  void wait_locked(const std::weak_ptr<detail::ExecutorState>& waiter) BATON_REQUIRES(mutex_);

  // Every callback touches the first members, which share a cache line.
  const Kind kind_;
  std::atomic<bool> running_{false};
  os::PiMutex mutex_;  // innermost
  std::vector<std::weak_ptr<detail::ExecutorState>> waiting_ BATON_GUARDED_BY(mutex_);
};

namespace detail {

/// Something an executor can run: a subscription, a service, a client or a timer.
class Executable {
 public:
  explicit Executable(std::shared_ptr<CallbackGroup> group) : group_(std::move(group)) {}
  virtual ~Executable() = default;
  /// The endpoint that announces work, or null (timers).
  virtual const std::shared_ptr<transport::Reader>& reader() const noexcept;
  /// Is there work now?
  virtual bool ready() const = 0;
  /// Real time until ready() may become true without a message; max(): only a message can make it true.
  virtual std::chrono::nanoseconds ready_in() const { return std::chrono::nanoseconds::max(); }
  /// Does one piece of work. False if there was no work after all (an expired message, a request of another client).
  virtual bool execute() = 0;
  /// Gives the executor's wake function to an object that can make this ready (simulated clocks).
  virtual void set_wake(std::function<void()>) {}
  const std::shared_ptr<CallbackGroup>& group() const noexcept { return group_; }

 private:
  std::shared_ptr<CallbackGroup> group_;
};

/// An executable whose work is the messages of a reader: subscriptions, services and clients, in C++ and Python.
class ReaderExecutable : public Executable {
 public:
  ReaderExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> reader)
      : Executable(std::move(group)), reader_(std::move(reader)) {}
  const std::shared_ptr<transport::Reader>& reader() const noexcept override { return reader_; }
  bool ready() const override;
  bool execute() final;

 protected:
  /// Handles `message`, which is not empty, and which the caller releases if it is not moved. False if the message was not
  /// for this executable after all.
  virtual bool on_message(transport::TakenSample&& message) = 0;

 private:
  std::shared_ptr<transport::Reader> reader_;
};

}  // namespace detail

}  // namespace baton
