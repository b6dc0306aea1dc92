// SPDX-License-Identifier: Apache-2.0
#include "ready_signal.hpp"

#include <algorithm>
#include <utility>

#include "baton/os/clock.hpp"
#include "callback_thread.hpp"

namespace baton::rmw {

ReadySignal::~ReadySignal() {
  if (callback_thread_) callback_thread_->remove(*this);
  if (ended_ != nullptr) *ended_ = true;
}

[[gnu::hot]] void ReadySignal::rung(const void* signal, std::size_t count) {
  auto* self = static_cast<ReadySignal*>(const_cast<void*>(signal));
  self->rang_at_ns_.store(os::monotonic_ns(), std::memory_order_relaxed);  // a time: orders nothing
  const std::lock_guard<std::mutex> lock(self->mutex_);
  self->uncalled_ += count;
  const bool calls = self->callback_ != nullptr;
  if (calls) self->begin_telling();                         // before what makes it ready: see told()
  self->rang_.fetch_add(count, std::memory_order_release);  // pairs with the acquire in exchange_rang() and rang()
  self->dirty_.store(true, std::memory_order_release);      // pairs with the acquire in clear()
  if (calls) {
    self->callback_thread_->wake();
  } else if (self->wait_set_) {
    self->wait_set_->wake();
  }
}

bool ReadySignal::call(const Fetch& fetch) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (callback_ != nullptr) {
    const std::size_t rung = std::exchange(uncalled_, 0);
    std::size_t more = rung;
    if (fetch) {
      lock.unlock();
      more = fetch(rung);
      lock.lock();
    }
    fetched_ += more;
  }
  if (callback_ != nullptr && fetched_ != 0) {
    begin_telling();
    const rmw_event_callback_t callback = callback_;
    const void* const user_data = user_data_;
    const std::size_t count = std::exchange(fetched_, 0);
    bool ended = false;
    bool* const outer = std::exchange(ended_, &ended);
    lock.unlock();
    callback(user_data, count);
    if (ended) {
      if (outer != nullptr) *outer = true;
      return false;
    }
    lock.lock();
    ended_ = outer;
  }
  // What came meanwhile has woken the CallbackThread again.
  if (told() || (callback_ != nullptr && uncalled_ != 0)) return true;
  telling_.store(false, std::memory_order_release);  // pairs with told()
  if (wait_set_) wait_set_->wake();
  return true;
}

void ReadySignal::set_callback(rmw_event_callback_t callback, const void* user_data, std::size_t limit, Fetch fetch) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    callback_ = callback;
    user_data_ = user_data;
    uncalled_ = std::min(uncalled_, limit);
  }
  callback_thread_->remove(*this);  // waits
  if (!call(fetch)) return;
  if (callback != nullptr && has_callback()) callback_thread_->add(*this, std::move(fetch));
}

}  // namespace baton::rmw
