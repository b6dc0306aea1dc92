// SPDX-License-Identifier: Apache-2.0
// Where a subscriber waits whose messages are delivered on a thread of the peer's.
#pragma once

#include <condition_variable>
#include <mutex>

#include "peer.hpp"

namespace baton::perf {

/// Thread rules: notify() from any thread, wait() from one.
class Arrivals {
 public:
  /// In a round trip somebody waits for every single message. Else nobody does, and waking the waiter would be a cost of the
  /// benchmark's, not of the peer's.
  explicit Arrivals(const Plan& plan) : every_(plan.round_trip) {}

  /// After a message was delivered.
  void notify() {
    if (!every_) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    arrived_ = true;
    condition_.notify_one();
  }

  /// Until a message was delivered since the last call, or `timeout` is over.
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
