// SPDX-License-Identifier: Apache-2.0
// AdvertiseOptions::subscribers_changed: a callback of the program in roscpp's callback queue.
//
// Thread rules: thread-safe. The callback never runs twice at the same time.
#pragma once

#include <ros/callback_queue_interface.h>

#include <boost/enable_shared_from_this.hpp>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "baton/os/lock.hpp"

namespace baton::ros1::detail {

class StatusCallback final : public ros::CallbackInterface, public boost::enable_shared_from_this<StatusCallback> {
 public:
  /// `changed` is called from `queue` if `count` then returns another number than at the call before; at first, than 0.
  StatusCallback(ros::CallbackQueueInterface& queue, std::function<std::uint32_t()> count,
                 std::function<void()> changed)
      : queue_(queue), count_(std::move(count)), changed_(std::move(changed)) {}

  /// The number may have changed. Callable with locks that `count` takes, since the queue's threads call `count`.
  void look() {
    const os::Lock lock(mutex_);
    if (!ended_) queue_.addCallback(shared_from_this(), id());
  }
  /// Neither function is called afterwards. Waits for a call in another thread, without the queue's other callbacks, unless it is
  /// called by `changed`.
  void end() {
    {
      const os::Lock lock(mutex_);
      ended_ = true;
    }
    queue_.removeByID(id());
    // removeByID() of Debian's roscpp does not wait for a call in another thread.
    const std::lock_guard<std::recursive_mutex> wait(calling_);
  }
  CallResult call() override {
    const std::lock_guard<std::recursive_mutex> lock(calling_);  // recursive: `changed` may run the queue
    if (has_ended()) return Invalid;                             // by `changed` in another thread, which did not wait
    const std::uint32_t now = count_();
    if (now == known_) return Success;
    known_ = now;
    changed_();
    return Success;
  }

 private:
  bool has_ended() {
    const os::Lock lock(mutex_);
    return ended_;
  }
  std::uint64_t id() const { return reinterpret_cast<std::uint64_t>(this); }

  ros::CallbackQueueInterface& queue_;
  const std::function<std::uint32_t()> count_;
  const std::function<void()> changed_;
  os::Mutex mutex_;
  bool ended_ BATON_GUARDED_BY(mutex_) = false;
  std::recursive_mutex calling_;
  std::uint32_t known_ = 0;  // with calling_
};

}  // namespace baton::ros1::detail
