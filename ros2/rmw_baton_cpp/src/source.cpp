// SPDX-License-Identifier: Apache-2.0
#include "source.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>
#include <utility>

#include "peer_faults.hpp"

namespace baton::rmw {

Source::Source(std::shared_ptr<CallbackThread> thread, std::shared_ptr<transport::Reader> reader)
    : thread_(std::move(thread)), waited_reader_(std::move(reader)) {}

Source::~Source() {
  if (joined_) joined_->remove(waited_reader_);
}

/// Sets the wait set that the reader wakes; null: none.
BATON_HOT void Source::join(const std::shared_ptr<transport::WaitSet>& wait_set) {
  if (joined_ == wait_set || !waited_reader_) return;
  if (joined_) joined_->remove(waited_reader_);
  joined_ = nullptr;
  if (!wait_set) return;
  if (Result<void> added = wait_set->add(waited_reader_); added)
    joined_ = wait_set;
  else
    warn_of_peer(added.error().code, added.error().message);
}

BATON_HOT bool Source::ready() {
  if (!counts_.load(std::memory_order_relaxed)) return has_data();
  const std::lock_guard<std::mutex> lock(mutex_);
  return callback_ == nullptr ? has_data() : !calling_ && notified_ != 0 && has_data();
}

BATON_HOT void Source::wait_in(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_ != wait_set) waiting_ = wait_set;
  if (callback_ == nullptr) join(wait_set);
}

void Source::leave(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_ == wait_set) waiting_ = nullptr;
  if (joined_ == wait_set) join(nullptr);
}

void Source::happened() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (callback_ != nullptr)
    thread_->wake();
  else if (waiting_)
    waiting_->wake();
}

BATON_HOT void Source::taken() {
  if (!counts_.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notified_ != 0) --notified_;
  const std::size_t left = unread();
  if (left == 0) notified_ = 0;
  if (callback_ == nullptr) return counts_.store(notified_ != 0, std::memory_order_relaxed);
  // Of messages that it knows already.
  if (left > notified_ && notified_ <= kMostNotified / 2) thread_->wake();
}

bool Source::call() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (callback_ == nullptr || calling_) return true;
  const std::size_t found = std::min(unread(), kMostNotified);
  if (found <= notified_) return true;
  const std::size_t more = found - std::exchange(notified_, found);
  calling_ = true;
  const rmw_event_callback_t callback = callback_;
  const void* const user_data = user_data_;
  const std::weak_ptr<Source> self = weak_from_this();
  lock.unlock();
  callback(user_data, more);
  const std::shared_ptr<Source> kept = self.lock();  // the callback may have ended this source
  if (!kept) return false;
  lock.lock();
  calling_ = false;
  if (callback_ != nullptr && std::min(unread(), kMostNotified) > notified_)
    thread_->wake();  // it may have passed over this source
  if (waiting_) waiting_->wake();
  return true;
}

void Source::set_callback(rmw_event_callback_t callback, const void* user_data) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    callback_ = callback;
    user_data_ = user_data;
    counts_.store(callback != nullptr || notified_ != 0, std::memory_order_relaxed);
    join(callback != nullptr ? thread_->wait_set() : waiting_);
  }
  thread_->remove(*this);  // waits for a running call
  if (callback != nullptr && call()) thread_->add(*this);
}

void Source::stop() {
  set_callback(nullptr, nullptr);
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_ = nullptr;
  join(nullptr);
}

}  // namespace baton::rmw
