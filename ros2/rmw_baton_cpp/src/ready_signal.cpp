// SPDX-License-Identifier: Apache-2.0
#include "ready_signal.hpp"

#include <algorithm>
#include <utility>

#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"
#include "callback_thread.hpp"

namespace baton::rmw {

ReadySignal::~ReadySignal() {
  if (callback_thread_) callback_thread_->remove(*this);
  if (ended_ != nullptr) *ended_ = true;
}

BATON_HOT void ReadySignal::on_ready(const void* signal, std::size_t count) {
  auto* self = static_cast<ReadySignal*>(const_cast<void*>(signal));
  self->last_ns_.store(os::monotonic_ns(), std::memory_order_relaxed);  // a time: orders nothing
  const std::lock_guard<std::mutex> lock(self->mutex_);
  self->arrived_ += count;
  const bool calls = self->callback_ != nullptr;
  if (calls) self->begin_notifying();                        // before the entity counts as ready: see notified()
  self->count_.fetch_add(count, std::memory_order_release);  // pairs with the acquire in exchange_count() and count()
  self->dirty_.store(true, std::memory_order_release);       // pairs with the acquire in clear()
  if (calls)
    self->callback_thread_->wake();
  else if (self->wait_set_)
    self->wait_set_->wake();
}

bool ReadySignal::call() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (callback_ != nullptr) {
    std::size_t more = std::exchange(arrived_, 0);
    if (const Fetch fetch = fetch_) {
      lock.unlock();
      more = fetch(more);
      lock.lock();
    }
    to_notify_ += more;
  }
  if (callback_ != nullptr && to_notify_ != 0) {
    begin_notifying();
    const rmw_event_callback_t callback = callback_;
    const void* const user_data = user_data_;
    const std::size_t count = std::exchange(to_notify_, 0);
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
  // Data that came meanwhile has woken the CallbackThread again.
  if (notified() || (callback_ != nullptr && arrived_ != 0)) return true;
  notifying_.store(false, std::memory_order_release);  // pairs with notified()
  if (wait_set_) wait_set_->wake();
  return true;
}

void ReadySignal::set_callback(rmw_event_callback_t callback, const void* user_data, std::size_t limit, Fetch fetch) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    callback_ = callback;
    user_data_ = user_data;
    fetch_ = std::move(fetch);
    arrived_ = std::min(arrived_, limit);
  }
  callback_thread_->remove(*this);  // waits for a running call
  if (!call()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (callback != nullptr && callback_ != nullptr) callback_thread_->add(*this);
}

void ReadySignal::forget_fetch() {
  callback_thread_->remove(*this);  // waits for a running call
  const std::lock_guard<std::mutex> lock(mutex_);
  fetch_ = nullptr;
  if (callback_ != nullptr) callback_thread_->add(*this);
}

}  // namespace baton::rmw
