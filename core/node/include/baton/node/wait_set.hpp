// SPDX-License-Identifier: Apache-2.0
// Waiting for several subscriptions in a thread of the program's own, without an executor.
// Thread rules: wait() may be called by one thread at a time; everything else from any thread.
#pragma once

#include <chrono>

#include "baton/node/subscription.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

/// The unit of waiting. A subscription belongs to at most one wait set, and to none while it has a callback in an
/// executor or a pollable_fd().
class WaitSet {
 public:
  /// Throws already_exists if the subscription is in another wait set or polled.
  template <class T>
  void add(const Subscription<T>& subscription) {
    static_cast<void>(detail::not_empty(subscription.reader(), "subscription"));
    wait_set_.add(subscription.reader()).or_throw();
  }
  template <class T>
  void remove(const Subscription<T>& subscription) {
    static_cast<void>(detail::not_empty(subscription.reader(), "subscription"));
    wait_set_.remove(subscription.reader());
  }
  /// True when a subscription may have messages, or wake() was called. False on timeout, and when the process is asked
  /// to end meanwhile (ok()); after that it waits a second at most.
  bool wait(os::Nanoseconds timeout);
  /// Makes a running wait(), or the next one, return true.
  void wake() { wait_set_.wake(); }
  /// How long to look for messages before sleeping; 0 is the default.
  void set_spin(os::Nanoseconds budget) { wait_set_.set_spin(budget); }

 private:
  transport::WaitSet wait_set_;
};

}  // namespace baton
