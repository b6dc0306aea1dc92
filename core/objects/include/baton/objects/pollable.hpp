// SPDX-License-Identifier: Apache-2.0
// A descriptor that becomes readable when a queue of a shared heap has an element to pop, for programs that wait with
// poll or epoll. A descriptor cannot lie in shared memory. So each process that wants one has a thread that waits on
// the queue; push() and pop() cost nothing more. If a thread can wait itself, pop_for() is faster by one context
// switch.
//
//   pollable events(queue);
//   poll(events.descriptor()) -> while (auto element = queue->try_pop()) ...; events.rearm();
//
// Thread rules: descriptor() and rearm() may be called from any thread. Not for forked children.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "baton/objects/shared_ptr.hpp"
#include "baton/os/wake_socket.hpp"

namespace baton::objects {

template <class Queue>
class pollable {
 public:
  /// Keeps the queue alive. Throws baton::Exception (out_of_descriptors) and std::system_error (no thread).
  explicit pollable(shared_ptr<Queue> queue)
      : queue_(std::move(queue)), wake_(os::WakeSocket::create().or_throw()), thread_([this] { wait(); }) {}
  /// Waits for the thread's end, at most kSlice.
  ~pollable() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  pollable(const pollable&) = delete;
  pollable& operator=(const pollable&) = delete;

  /// Readable from the moment when an element can be popped until rearm(). Owned by this object; do not read from it.
  int descriptor() const noexcept { return wake_.wait_end.get(); }
  /// Call after the queue was found empty: readable again with the next element, or at once if there is one.
  void rearm() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      os::drain(wake_.wait_end.get());
      armed_ = true;
    }
    changed_.notify_one();
  }

 private:
  static constexpr std::chrono::milliseconds kSlice{50};
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ends_) {
      if (!armed_) {
        changed_.wait(lock);
        continue;
      }
      lock.unlock();
      const bool some = queue_->wait_not_empty_for(kSlice);
      lock.lock();
      if (some && armed_) {
        armed_ = false;
        (void)os::notify(wake_.notify_end.get());
      }
    }
  }

  const shared_ptr<Queue> queue_;
  os::WakeSocket wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool armed_ = true, ends_ = false;  // under mutex_
  std::thread thread_;
};

}  // namespace baton::objects
