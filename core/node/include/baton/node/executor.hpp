// SPDX-License-Identifier: Apache-2.0
// Runs the callbacks of nodes: one wait set, one or several threads.
// Thread rules: every function may be called from any thread. One spin*() runs at a time; a second call throws
// already_exists.
// Invariants: (1) callbacks of one CallbackGroup never run at the same time (unless it is reentrant); (2) an exception
// thrown by a callback ends spin() and is rethrown from it, but for a Shortage of Baton's own memory, which is counted;
// (3) an idle executor sleeps in the kernel.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "baton/node/executable.hpp"
#include "baton/node/not_empty.hpp"
#include "baton/node/shutdown.hpp"

namespace baton {

class Node;

namespace detail {

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
  void add_core(const std::shared_ptr<detail::NodeCore>& node);
  void remove_core(const std::shared_ptr<detail::NodeCore>& node);
  void wake_for_shutdown();
  std::shared_ptr<detail::ExecutorState> state_;
};

}  // namespace baton
