// SPDX-License-Identifier: Apache-2.0
// Runs the callbacks of nodes: one wait set, one or several threads.
// Thread rules: every function may be called from any thread; one spin*() runs at a time, a second is refused (already_exists).
// Invariants: (1) callbacks of one CallbackGroup never run at the same time (unless it is reentrant); (2) an exception thrown by
// a callback ends spin() and is rethrown from it; (3) an idle executor sleeps in the kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <vector>

#include "baton/transport/transport.hpp"

namespace baton {

class Node;

namespace detail {

/// A spinning executor, as those see it who make work for it.
class Wakeable {
 public:
  virtual ~Wakeable() = default;
  virtual void wake() = 0;
};

}  // namespace detail

/// Callbacks that exclude each other. Every node has one by default, as in rclcpp. Its callbacks may run in several executors.
/// Thread-safe.
class CallbackGroup {
 public:
  enum class Kind : std::uint8_t { kMutuallyExclusive, kReentrant };
  explicit CallbackGroup(Kind kind = Kind::kMutuallyExclusive) : kind_(kind) {}
  Kind kind() const noexcept { return kind_; }

 private:
  friend class Executor;
  /// May a callback run? If not, leave() will wake `waiter`. For ever "yes" when reentrant.
  bool free_or_wait(const std::shared_ptr<detail::Wakeable>& waiter);
  /// The same, and the caller runs one: leave() must follow.
  bool enter(const std::shared_ptr<detail::Wakeable>& waiter);
  void leave();
  bool free_or_wait_locked(const std::shared_ptr<detail::Wakeable>& waiter);

  const Kind kind_;
  std::mutex mutex_;  // innermost
  bool running_ = false;
  std::vector<std::weak_ptr<detail::Wakeable>> waiting_;
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
  /// Real time until ready() may become true by itself; max() = only by the reader.
  virtual std::chrono::nanoseconds ready_in() const { return std::chrono::nanoseconds::max(); }
  /// Does one piece of work; false if there was none after all (a message that had expired, a request of somebody else).
  virtual bool execute() = 0;
  /// Gives the executor's wake function to something that can make this ready (simulated clocks).
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
  bool ready() const override { return reader_->has_data(); }
  bool execute() final;

 protected:
  /// The message on which this executable works now. False if there was none for it after all.
  virtual bool on_message(transport::TakenSample message) = 0;

 private:
  std::shared_ptr<transport::Reader> reader_;
};

struct NodeCore;

}  // namespace detail

class Executor {
 public:
  /// `threads` callbacks may run at the same time; 1 runs everything in the thread that spins.
  explicit Executor(unsigned threads = 1);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// A node belongs to at most one executor (already_exists otherwise, also if one of its subscriptions with a callback is
  /// polled or in a wait set).
  void add(Node& node);
  /// A callback of the node that runs now goes on; its group's others wait for it, in the next executor too.
  void remove(Node& node);
  /// Busy-waits that long before sleeping: a hand-over to a spinning thread costs 0.1 us instead of a futex wake.
  void set_spin(std::chrono::nanoseconds budget);

  /// Runs callbacks until cancel(), shutdown(), request_shutdown(), or a signal after shutdown_on_signals().
  void spin();
  /// Runs at most one callback; false if none became ready in time.
  bool spin_once(std::chrono::nanoseconds timeout);
  /// Runs what is ready now and returns the number of callbacks run.
  std::size_t spin_some();
  /// Makes the spin*() that runs, or the next one, return soon, from any thread or callback.
  void cancel() noexcept;

 private:
  friend void shutdown();
  void wake_for_shutdown();
  struct State;
  std::shared_ptr<State> state_;
};

/// SIGINT and SIGTERM end every spin() of this process, and ok() turns false; a second one takes its default action. Call it once,
/// early; it starts one sleeping thread.
void shutdown_on_signals();
/// The same with other signals. Without any ({}) only request_shutdown() does so: for programs with handlers of their own.
void shutdown_on_signals(std::initializer_list<int> signals);
/// What such a signal does, for a signal handler of the program's own: async-signal-safe (signal-safety(7)), unlike everything else in Baton. Needs
/// shutdown_on_signals() before: without it ok() turns false, but a spin() that sleeps goes on sleeping.
void request_shutdown() noexcept;
/// False once a signal asked this process to end (after shutdown_on_signals()), request_shutdown() or shutdown() was called.
bool ok() noexcept;
/// What a signal does, by hand. Not for signal handlers: request_shutdown() is.
void shutdown();

}  // namespace baton
