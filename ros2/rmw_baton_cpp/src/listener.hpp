// SPDX-License-Identifier: Apache-2.0
// Tells callbacks of the application what Baton brought for their subscriptions: executors that are driven by callbacks and not by
// wait sets. A thread waits in Baton for all such subscriptions of a context.
//
// Thread rules: add() and remove() from any thread but out of a callback; one background thread, which starts with the first
// subscription and is joined by the destructor.
// Invariants: (1) no callback runs after remove() has returned.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "baton/transport/transport.hpp"

namespace baton::rmw {

class SubscriptionPath;

class Listener {
 public:
  Listener() = default;
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void add(const std::shared_ptr<SubscriptionPath>& path);
  void remove(const std::shared_ptr<SubscriptionPath>& path);

 private:
  void run();

  std::shared_ptr<transport::WaitSet> wait_set_ = std::make_shared<transport::WaitSet>();
  std::mutex mutex_;
  std::set<std::shared_ptr<SubscriptionPath>> paths_;
  std::atomic<bool> stop_{false};
  std::optional<pthread_t> thread_;
};

}  // namespace baton::rmw
