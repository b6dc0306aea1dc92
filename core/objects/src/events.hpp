// SPDX-License-Identifier: Apache-2.0
// HeapOptions::on_event of one heap: called on any thread, one call at a time, without a lock of the heap. During a
// recovery events are collected; they are reported after the recovery has released its locks.
// Thread rules: everything is thread-safe. A Deferred belongs to the thread that made it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "baton/objects/heap.hpp"

namespace baton::objects::detail {

class Events {
 public:
  using Function = std::function<void(const HeapEvent&)>;
  explicit Events(const Function& on_event)
      : on_event_(on_event ? std::make_shared<const Function>(on_event) : nullptr) {}

  /// Calls on_event, at the end of a Deferred of this thread if there is one.
  void report(const HeapEvent& event) noexcept;
  /// No calls from now on. Waits for a call that runs on another thread.
  void silence() noexcept;

  /// While it lives, this thread's events of the heap are collected.
  class Deferred {
   public:
    explicit Deferred(Events& events) noexcept : events_(events), outer_(std::exchange(innermost, this)) {}
    ~Deferred() {
      innermost = outer_;
      for (const HeapEvent& event : collected_) events_.report(event);
    }
    Deferred(const Deferred&) = delete;
    Deferred& operator=(const Deferred&) = delete;

   private:
    friend class Events;
    static thread_local Deferred* innermost;
    Events& events_;
    Deferred* const outer_;  // of another heap, whose objects' destructors caused this recovery
    std::vector<HeapEvent> collected_;
  };
  /// This thread has a Deferred of this heap: it is in a recovery.
  bool is_deferred() const noexcept { return deferred() != nullptr; }

 private:
  Deferred* deferred() const noexcept;

  std::recursive_mutex mutex_;                // held during calls, which may end the Heap object
  std::shared_ptr<const Function> on_event_;  // under mutex_; may be null
};

}  // namespace baton::objects::detail
