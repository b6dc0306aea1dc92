// SPDX-License-Identifier: Apache-2.0
// The signal that an entity (a subscription, service, client or event) may be ready. Wakes the application: its
// callback, or the wait set that waits for the entity.
//
//   the underlying RMW's threads     publishers' processes          deadline thread, take()   graph thread
//      |  new data, events              |  Baton's queues               |  Event::happened()     |
//      v                                |                               |                        |
//   ReadySignal::on_ready() <-----------|-------------------------------+                        |
//      |                  |             |                                                        |
//      | with a callback  | without     |                                                        |
//      v                  |             |                                                        v
//   CallbackThread <------|-------------+  with a callback                        GuardCondition::trigger()
//      |  fetches, calls the callback   |                                                        |
//      |                  |             |  without                                               |
//      v                  v             v                                                        v
//   transport::WaitSet, in which rmw_wait() sleeps <---------------------------------------------+
//
// take() and rmw_wait() wake the CallbackThread, too, when they find messages that the callback was not notified of.
//
// Thread rules: any thread. The underlying RMW calls on_ready() with its own locks held, and the application's callback
// may need these locks (for a take). So on_ready() calls no callback; CallbackThread does, with no lock held.
// Invariants:
// (1) dirty() is true whenever the entity may have data that was not searched for since.
// (2) When a callback is set, it is notified of the data that came before.
// (3) One call runs at a time. Once set_callback() has returned, no call of a former callback runs.
// (4) A wait set wakes for data only after the callback was notified of the data. An application that waits until its
//     callback has run waits in a wait set (rclcpp: spin_until_future_complete()).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "baton/transport/transport.hpp"
#include "callback_thread.hpp"
#include "rmw/event_callback_type.h"

namespace baton::rmw {

class ReadySignal final : public Called {
 public:
  ReadySignal() = default;
  ~ReadySignal();

  /// The underlying RMW's callback; `signal` is this.
  static void on_ready(const void* signal, std::size_t count);

  bool dirty() const noexcept { return dirty_.load(std::memory_order_relaxed); }
  /// Call before searching for data: later data sets it again. True if it was set. Pairs with the release in
  /// on_ready().
  bool clear() noexcept { return dirty_.exchange(false, std::memory_order_acq_rel); }
  /// Records that there may be more data. Pairs with clear().
  void set() noexcept { dirty_.store(true, std::memory_order_release); }
  /// When on_ready() was last called; 0: never.
  std::int64_t last_ns() const noexcept { return last_ns_.load(std::memory_order_relaxed); }
  /// The number of events since the last call, for entities that cannot be asked whether they are ready (events). Pairs
  /// with on_ready(): notified() is at least as new.
  std::size_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  std::size_t exchange_count() noexcept {
    return count_.exchange(0, std::memory_order_acquire);
  }  // pairs with on_ready()

  /// False while a callback runs, or while a notification of the callback is due. Call it after clear(), count() or
  /// SubscriptionPath::ready(): the wait set wakes when it becomes true. Pairs with the releases in on_ready() and
  /// call().
  bool notified() const noexcept { return !notifying_.load(std::memory_order_acquire); }
  /// For a Fetch that has found messages: call() will notify the callback of them. Pairs with notified().
  void begin_notifying() noexcept { notifying_.store(true, std::memory_order_release); }

  /// From now on wakes this wait set.
  void set_wait_set(const std::shared_ptr<transport::WaitSet>& wait_set) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (wait_set_ != wait_set) wait_set_ = wait_set;
  }

  /// Call once, before all other functions: set_callback() needs it.
  void set_callback_thread(std::shared_ptr<CallbackThread> thread) { callback_thread_ = std::move(thread); }
  /// Returns how many messages have come, for an entity that counts them itself. `count`: of on_ready() since the last
  /// call.
  using Fetch = std::function<std::size_t(std::size_t count)>;
  /// May be called from a callback; if it is the same entity's callback, that call continues after this function has
  /// returned. Otherwise waits for a running call of the former callback. Calls the new callback, in this thread, for
  /// the messages that came before. `limit`: the most of these that can still be waiting.
  void set_callback(rmw_event_callback_t callback, const void* user_data, std::size_t limit, Fetch fetch = {});
  /// From now on only on_ready() counts. Waits for a running call.
  void forget_fetch();
  bool call() override;

 private:
  std::atomic<bool> dirty_{true};
  std::atomic<bool> notifying_{false};
  std::atomic<std::size_t> count_{0};
  std::atomic<std::int64_t> last_ns_{0};
  std::mutex mutex_;
  std::shared_ptr<CallbackThread> callback_thread_;
  std::shared_ptr<transport::WaitSet> wait_set_;
  rmw_event_callback_t callback_ = nullptr;
  const void* user_data_ = nullptr;
  Fetch fetch_;
  std::size_t arrived_ = 0;    // counted by on_ready(); with a Fetch: not fetched yet
  std::size_t to_notify_ = 0;  // notifications that the callback must still get
  bool* ended_ = nullptr;      // set by the thread that is in a callback, which may destroy this object
};

}  // namespace baton::rmw
