// SPDX-License-Identifier: Apache-2.0
// Says to the threads of a network that it ends, and ends their pauses.
// Thread rules: any thread.
#pragma once

#include <chrono>
#include <condition_variable>

#include "baton/os/lock.hpp"

namespace baton::link::stream {

class StopSignal {
 public:
  void stop() {
    {
      const os::Lock lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_all();
  }
  bool stopped() const {
    const os::Lock lock(mutex_);
    return stop_;
  }
  /// Returns after `duration`, or once stop() was called.
  void pause(std::chrono::milliseconds duration) {
    os::UniqueLock lock(mutex_);
    stopped_.wait_for(lock.standard(), duration, [this]() BATON_REQUIRES(mutex_) { return stop_; });
  }
  /// stopped() for os::tcp_connect(): `self` is a StopSignal.
  static bool stopped_of(void* self) { return static_cast<const StopSignal*>(self)->stopped(); }

 private:
  mutable os::Mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ BATON_GUARDED_BY(mutex_) = false;
};

}  // namespace baton::link::stream
