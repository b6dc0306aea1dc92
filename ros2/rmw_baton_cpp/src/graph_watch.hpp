// SPDX-License-Identifier: Apache-2.0
// The graph guard condition belongs to the underlying RMW and makes no callbacks. So a thread waits on it in the
// underlying RMW, and triggers the guard conditions of our nodes, on which our wait sets can sleep.
//
// Thread rules: add() and remove() from any thread; one background thread, ended and joined by the destructor.
// Invariants: (1) no guard is triggered after remove() has returned.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "baton/transport/transport.hpp"
#include "underlying.hpp"

namespace baton::rmw {

class GraphWatch {
 public:
  /// Watches `guard` of the underlying RMW, which lives while `context` has a node. Null, with the rcutils error set,
  /// if there is no memory for it. `on_change` runs on the background thread.
  static std::unique_ptr<GraphWatch> start(rmw_context_t* inner_context, const rmw_guard_condition_t* guard,
                                           std::function<void()> on_change);
  ~GraphWatch();
  GraphWatch(const GraphWatch&) = delete;
  GraphWatch& operator=(const GraphWatch&) = delete;

  void add(const std::shared_ptr<transport::GuardCondition>& guard);
  void remove(const std::shared_ptr<transport::GuardCondition>& guard);

 private:
  GraphWatch() = default;
  void run(const rmw_guard_condition_t* graph);

  std::function<void()> on_change_;
  std::mutex mutex_;
  std::set<std::shared_ptr<transport::GuardCondition>> guards_;
  std::atomic<bool> stop_{false};
  rmw_guard_condition_t* stop_guard_ = nullptr;
  rmw_wait_set_t* wait_set_ = nullptr;
  std::optional<pthread_t> thread_;
};

}  // namespace baton::rmw
