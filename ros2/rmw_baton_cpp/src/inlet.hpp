// SPDX-License-Identifier: Apache-2.0
// What the underlying RMW rings when something has come for one of its entities: a subscription, service, client or event. A wait
// set of ours sleeps in Baton, so it must be told.
//
// Thread rules: any thread. The underlying RMW calls rung() with locks of its own held, which the application's callback may want
// (it takes): rung() calls nobody, the Listener's thread does, with no lock held.
// Invariants: (1) dirty() is true whenever the entity may have something that was not looked for since; (2) what came while the
// application had no callback is counted, and told to the callback that it sets; (3) one call at a time, and none of a former
// callback once set_callback() has returned.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "baton/os/clock.hpp"
#include "baton/transport/transport.hpp"
#include "rmw/event_callback_type.h"

namespace baton::rmw {

class Listener;

class Inlet {
 public:
  Inlet() = default;
  ~Inlet();
  Inlet(const Inlet&) = delete;
  Inlet& operator=(const Inlet&) = delete;

  /// The underlying RMW's callback; `inlet` is this.
  static void rung(const void* inlet, std::size_t count) {
    auto* self = static_cast<Inlet*>(const_cast<void*>(inlet));
    self->rang_at_ns_.store(os::monotonic_ns(), std::memory_order_relaxed);  // a time: orders nothing
    self->rang_.fetch_add(count, std::memory_order_release);  // pairs with the acquire in exchange_rang()
    self->dirty_.store(true, std::memory_order_release);      // pairs with the acquire in clear()
    self->came(count);
  }

  /// As rung(), for what came by Baton: there is nothing to look for below.
  void came(std::size_t count);

  bool dirty() const noexcept { return dirty_.load(std::memory_order_relaxed); }
  /// Before looking: what comes from here on sets it again. True if it was set.
  bool clear() noexcept {
    return dirty_.exchange(false, std::memory_order_acq_rel);
  }  // pairs with the release in rung()
  /// When it was last rung; 0: never.
  std::int64_t rang_at_ns() const noexcept { return rang_at_ns_.load(std::memory_order_relaxed); }
  /// What was rung since, of entities that are not asked whether they are ready (events).
  std::size_t rang() const noexcept { return rang_.load(std::memory_order_relaxed); }
  std::size_t exchange_rang() noexcept { return rang_.exchange(0, std::memory_order_acquire); }  // pairs with rung()
  void set() noexcept { dirty_.store(true, std::memory_order_release); }                         // pairs with clear()

  /// From now on rings there.
  void ring_to(const std::shared_ptr<transport::WaitSet>& wait_set) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (wait_set_ != wait_set) wait_set_ = wait_set;
  }

  /// Whose thread calls the callback. Once, before anything else: until then there is no set_callback().
  void be_called_by(std::shared_ptr<Listener> listener) { listener_ = std::move(listener); }
  /// Also from within a callback; from its own, that call goes on after this has returned. Waits for a running call of the former
  /// callback otherwise. `limit`: the most that can still be waiting of what came before.
  void set_callback(rmw_event_callback_t callback, const void* user_data, std::size_t limit);
  /// For the Listener: calls the callback, if there is one, for what it was not told. `more` has come just now, by Baton.
  void call(std::size_t more);
  bool has_callback() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return callback_ != nullptr;
  }

 private:
  std::atomic<bool> dirty_{true};
  std::atomic<std::size_t> rang_{0};
  std::atomic<std::int64_t> rang_at_ns_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<transport::WaitSet> wait_set_;
  rmw_event_callback_t callback_ = nullptr;
  const void* user_data_ = nullptr;
  std::size_t uncalled_ = 0;
};

}  // namespace baton::rmw
