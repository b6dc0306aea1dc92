// SPDX-License-Identifier: Apache-2.0
// The place where a subscriber waits if its messages are delivered on a thread of the peer's library.
#pragma once

#include <condition_variable>
#include <mutex>

#include "peer.hpp"

namespace baton::perf {

/// Thread rules: notify() from any thread, wait() from one.
class Arrivals {
 public:
  /// In a round trip the subscriber waits for every single message. Otherwise it does not, and waking it would be a
  /// cost of the benchmark, not of the peer.
  explicit Arrivals(const RunPlan& plan) : every_(plan.round_trip) {}

  /// Call after a message was delivered.
  void notify() {
    if (!every_) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    arrived_ = true;
    condition_.notify_one();
  }

  /// Waits until a message was delivered since the last call, or until `timeout` is over.
  void wait(std::chrono::nanoseconds timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait_for(lock, timeout, [&] { return arrived_; });
    arrived_ = false;
  }

 private:
  const bool every_;
  std::mutex mutex_;
  std::condition_variable condition_;
  bool arrived_ = false;
};

}  // namespace baton::perf
