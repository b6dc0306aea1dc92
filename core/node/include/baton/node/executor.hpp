// SPDX-License-Identifier: Apache-2.0
// Runs the callbacks of nodes: one wait set, one or several threads.
// Thread rules: every function may be called from any thread. One spin*() runs at a time; a second call throws
// already_exists.
// Invariants: (1) callbacks of one CallbackGroup never run at the same time (unless it is reentrant); (2) an exception
// thrown by a callback ends spin() and is rethrown from it, but for a Shortage of Baton's own memory, which is counted;
// (3) an idle executor sleeps in the kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "baton/node/not_empty.hpp"
#include "baton/os/pi_mutex.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

class Node;

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
  void wait_locked(const std::weak_ptr<detail::ExecutorState>& waiter);

  // Every callback touches the first members, which share a cache line.
  const Kind kind_;
  std::atomic<bool> running_{false};
  os::PiMutex mutex_;  // innermost
  std::vector<std::weak_ptr<detail::ExecutorState>> waiting_;
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

struct NodeCore;

}  // namespace detail

/// Runs the callbacks of its nodes on one or several threads.
class Executor {
 public:
  /// `threads` callbacks may run at the same time; 1 runs everything in the thread that spins.
  explicit Executor(unsigned threads = 1);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Adds a node. A node belongs to at most one executor: otherwise throws already_exists, also if a subscription of
  /// the node with a callback is polled or in a wait set.
  void add(Node& node);
  /// The same. The program keeps the pointer for as long as callbacks should run.
  template <class Made>
  void add(const std::shared_ptr<Made>& node) {
    add(static_cast<Node&>(detail::not_empty(node, "node pointer")));
  }
  /// A callback of the node that is running continues. Other callbacks of its group wait for it, also in the next
  /// executor.
  void remove(Node& node);
  template <class Made>
  void remove(const std::shared_ptr<Made>& node) {
    remove(static_cast<Node&>(detail::not_empty(node, "node pointer")));
  }
  /// How long to busy-wait before sleeping: a hand-over to a spinning thread costs 0.1 us instead of a futex wake.
  void set_spin(os::Nanoseconds budget);

  /// Runs callbacks until cancel(), shutdown(), request_shutdown(), or a signal after shutdown_on_signals().
  void spin();
  /// Runs at most one callback; false if none became ready in time.
  bool spin_once(os::Nanoseconds timeout = std::chrono::nanoseconds::max());
  /// Runs the callbacks that are ready now and returns their number.
  std::size_t spin_some();
  /// Makes the running spin*(), or the next one, return soon. Any thread or callback.
  void cancel() noexcept;
  /// How often a callback ended with a Shortage (os/shortage.hpp): Baton had no memory for a message that it built. The
  /// executor prints that at most every 10 s, and goes on.
  std::uint64_t shortages() const noexcept;

 private:
  friend void shutdown();
  void wake_for_shutdown();
  std::shared_ptr<detail::ExecutorState> state_;
};

/// SIGINT and SIGTERM then end every spin() of this process, and ok() returns false. A second signal takes its default
/// action. Call it once, early; it starts one sleeping thread.
void shutdown_on_signals();
/// The same with other signals. With none ({}) only request_shutdown() ends the spin() calls: for programs with their
/// own handlers.
void shutdown_on_signals(std::initializer_list<int> signal_numbers);
/// Has the effect of such a signal. For a signal handler of the program: async-signal-safe (signal-safety(7)), unlike
/// all other functions of Baton. Call shutdown_on_signals() before: without it ok() returns false, but a sleeping
/// spin() stays asleep.
void request_shutdown() noexcept;
/// False after a signal asked this process to end (after shutdown_on_signals()), or after request_shutdown() or
/// shutdown().
bool ok() noexcept;
/// Has the effect of such a signal. For ordinary code; in a signal handler use request_shutdown().
void shutdown();

}  // namespace baton
