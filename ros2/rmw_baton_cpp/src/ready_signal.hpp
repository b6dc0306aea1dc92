// SPDX-License-Identifier: Apache-2.0
// What the underlying RMW rings when something has come for one of its entities: a subscription, service, client or event. A wait
// set of ours sleeps in Baton, so it must be told.
//
// Thread rules: any thread. The underlying RMW calls rung() with locks of its own held, which the application's callback may want
// (it takes): rung() calls nobody, the CallbackThread's thread does, with no lock held.
// Invariants: (1) dirty() is true whenever the entity may have something that was not looked for since; (2) what came while the
// application had no callback is told to the callback that it sets; (3) one call at a time, and none of a former
// callback once set_callback() has returned; (4) a wait set is told of nothing that the callback does not know of: an application
// that waits for its callback to have run waits in a wait set (rclcpp: spin_until_future_complete()).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "baton/transport/transport.hpp"
#include "rmw/event_callback_type.h"

namespace baton::rmw {

class CallbackThread;

class ReadySignal {
 public:
  ReadySignal() = default;
  ~ReadySignal();
  ReadySignal(const ReadySignal&) = delete;
  ReadySignal& operator=(const ReadySignal&) = delete;

  /// The underlying RMW's callback; `signal` is this.
  static void rung(const void* signal, std::size_t count);

  bool dirty() const noexcept { return dirty_.load(std::memory_order_relaxed); }
  /// Before looking: what comes from here on sets it again. True if it was set.
  bool clear() noexcept {
    return dirty_.exchange(false, std::memory_order_acq_rel);
  }  // pairs with the release in rung()
  /// When it was last rung; 0: never.
  std::int64_t rang_at_ns() const noexcept { return rang_at_ns_.load(std::memory_order_relaxed); }
  /// What was rung since, of entities that are not asked whether they are ready (events).
  std::size_t rang() const noexcept {
    return rang_.load(std::memory_order_acquire);
  }  // pairs with rung(): told() is of it
  std::size_t exchange_rang() noexcept { return rang_.exchange(0, std::memory_order_acquire); }  // pairs with rung()
  void set() noexcept { dirty_.store(true, std::memory_order_release); }                         // pairs with clear()

  /// False while a callback does not know yet of something that has come, or runs. Looked at after clear(), rang() or
  /// SubscriptionPath::ready(): the wait set is woken when it becomes true.
  bool told() const noexcept {
    return !telling_.load(std::memory_order_acquire);
  }  // pairs with the releases in rung(), call()
  /// For who counts what came itself: call() will be told of it.
  void begin_telling() noexcept { telling_.store(true, std::memory_order_release); }  // pairs with told()

  /// From now on rings there.
  void ring_to(const std::shared_ptr<transport::WaitSet>& wait_set) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (wait_set_ != wait_set) wait_set_ = wait_set;
  }

  /// Whose thread calls the callback. Once, before anything else: until then there is no set_callback().
  void be_called_by(std::shared_ptr<CallbackThread> callback_thread) { callback_thread_ = std::move(callback_thread); }
  /// How much has come, of an entity that counts it itself; `rung`: how often it rang since.
  using Fetch = std::function<std::size_t(std::size_t rung)>;
  /// Also from within a callback; from its own, that call goes on after this has returned. Waits for a running call of the former
  /// callback otherwise. Calls the new one, in this thread, for what has come before. `limit`: the most that can still be waiting
  /// of it.
  void set_callback(rmw_event_callback_t callback, const void* user_data, std::size_t limit, Fetch fetch = {});
  /// For the CallbackThread: calls the callback, if there is one, for what it was not told. False: the callback has ended this object.
  bool call(const Fetch& fetch);
  bool has_callback() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return callback_ != nullptr;
  }

 private:
  std::atomic<bool> dirty_{true};
  std::atomic<bool> telling_{false};
  std::atomic<std::size_t> rang_{0};
  std::atomic<std::int64_t> rang_at_ns_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<CallbackThread> callback_thread_;
  std::shared_ptr<transport::WaitSet> wait_set_;
  rmw_event_callback_t callback_ = nullptr;
  const void* user_data_ = nullptr;
  std::size_t uncalled_ = 0;  // rang; not fetched, where that is done
  std::size_t fetched_ = 0;   // not told
  bool* ended_ = nullptr;     // of the thread that is in a callback, which may end this object
};

}  // namespace baton::rmw
