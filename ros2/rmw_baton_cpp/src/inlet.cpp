// SPDX-License-Identifier: Apache-2.0
#include "inlet.hpp"

#include <algorithm>
#include <utility>

#include "listener.hpp"

namespace baton::rmw {

Inlet::~Inlet() {
  if (has_callback()) listener_->remove(*this);
}

void Inlet::came(std::size_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uncalled_ += count;
  if (wait_set_) wait_set_->wake();
  if (callback_ != nullptr) listener_->wake();
}

void Inlet::call(std::size_t more) {
  std::unique_lock<std::mutex> lock(mutex_);
  uncalled_ += more;
  if (more != 0 && wait_set_) wait_set_->wake();
  if (callback_ == nullptr || uncalled_ == 0) return;
  const rmw_event_callback_t callback = callback_;
  const void* const user_data = user_data_;
  const std::size_t count = std::exchange(uncalled_, 0);
  lock.unlock();
  callback(user_data, count);
}

void Inlet::set_callback(rmw_event_callback_t callback, const void* user_data, std::size_t limit) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    callback_ = callback;
    user_data_ = user_data;
    uncalled_ = std::min(uncalled_, limit);
  }
  listener_->remove(*this);  // waits
  if (callback != nullptr) listener_->add(*this);
}

}  // namespace baton::rmw
