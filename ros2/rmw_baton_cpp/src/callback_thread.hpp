// SPDX-License-Identifier: Apache-2.0
// Calls the application's callbacks, for executors that use callbacks and not wait sets. One thread per context calls
// all callbacks.
//
// Thread rules: all functions from any thread, also from a callback. One background thread, which starts with the first
// callback and is joined by the destructor. No callback runs with a lock of this library held.
// Invariants: (1) a signal is not used after remove() has returned, except on the thread that called remove().
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"

namespace baton::rmw {

/// What the thread calls.
class Called {
 public:
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;
  /// Notifies the application's callback, if there is one, of everything that it was not notified of yet. False: the callback has destroyed
  /// this object.
  virtual bool call() = 0;

 protected:
  Called() = default;
  ~Called() = default;
};

class CallbackThread {
 public:
  CallbackThread() = default;
  ~CallbackThread();
  CallbackThread(const CallbackThread&) = delete;
  CallbackThread& operator=(const CallbackThread&) = delete;

  /// From now on calls `signal` after each wake-up. `signal` must live until it is removed.
  void add(Called& signal);
  void remove(Called& signal);

  /// Makes the thread call all signals once more.
  void wake() { wait_set_->wake(); }
  /// Acts as wake() at this time of os::monotonic_ns(), or earlier. INT64_MAX: never.
  void wake_at(std::int64_t time_ns);
  /// The wait set in which the thread sleeps.
  const std::shared_ptr<transport::WaitSet>& wait_set() const noexcept { return wait_set_; }

 private:
  void run();

  const std::shared_ptr<transport::WaitSet> wait_set_ = std::make_shared<transport::WaitSet>();
  os::Mutex mutex_;
  std::condition_variable called_;
  std::set<Called*> signals_ BATON_GUARDED_BY(mutex_);
  std::int64_t wake_at_ns_ BATON_GUARDED_BY(mutex_) = INT64_MAX;
  Called* calling_ BATON_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t calls_ BATON_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> stop_{false};
  std::optional<pthread_t> thread_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::rmw
