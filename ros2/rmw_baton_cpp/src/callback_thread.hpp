// SPDX-License-Identifier: Apache-2.0
// Calls the application's callbacks, for executors that use callbacks and not wait sets. One thread per context calls
// all callbacks.
//
// Thread rules: all functions from any thread, also from a callback. One background thread, which starts with the first
// callback and is joined by the destructor. No callback runs with a lock of this library held.
// Invariants: (1) a source is not used after remove() has returned, except on the thread that called remove().
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

class CallbackThread {
 public:
  /// What the thread calls: a source (source.hpp).
  class Called {
   public:
    /// Notifies the application's callback, if there is one, of everything that it was not notified of yet. False: the callback has ended
    /// this object.
    virtual bool call() = 0;

   protected:
    ~Called() = default;
  };
  CallbackThread() = default;
  ~CallbackThread();
  CallbackThread(const CallbackThread&) = delete;
  CallbackThread& operator=(const CallbackThread&) = delete;

  /// From now on calls `source.call()` after each wake-up. `source` must live until it is removed.
  void add(Called& source);
  void remove(Called& source);

  /// Makes the thread call all sources once more.
  void wake() { wait_set_->wake(); }
  /// The wait set in which the thread sleeps.
  const std::shared_ptr<transport::WaitSet>& wait_set() const noexcept { return wait_set_; }

 private:
  void run();

  const std::shared_ptr<transport::WaitSet> wait_set_ = std::make_shared<transport::WaitSet>();
  os::Mutex mutex_;
  std::condition_variable called_;
  std::set<Called*> sources_ BATON_GUARDED_BY(mutex_);
  Called* calling_ BATON_GUARDED_BY(mutex_) = nullptr;
  std::uint64_t calls_ BATON_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> stop_{false};
  std::optional<pthread_t> thread_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::rmw
