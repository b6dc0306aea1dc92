// SPDX-License-Identifier: Apache-2.0
#include "inbox.hpp"

#include <cstring>
#include <utility>

#include "baton/os/clock.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {
namespace {

constexpr std::size_t kMostFetched = 1000;  // more stay in the reader's queue, whose depth holds back the senders

}  // namespace

Inbox::~Inbox() {
  if (wait_set_) wait_set_->remove(reader_);
}

void Inbox::stop() {
  signal_.forget_fetch();  // the callback continues with messages of the underlying RMW
  set_callback_wait_set(nullptr);
}

bool Inbox::take_from_reader(Message* message) {
  for (;;) {
    Result<transport::TakenSample> sample = reader_->take();
    if (!sample) {
      if (sample.error().code == Errc::held_limit) return false;
      RCUTILS_LOG_WARN_NAMED(kLogger, "%s", sample.error().message.c_str());
      if (sample.error().code == Errc::forked) return false;
      continue;  // that sender's connection was ended
    }
    if (!*sample) return false;
    const memory::ChunkHeader& header = sample->header();
    std::memcpy(message->client.data(), header.correlation_client, message->client.size());
    message->sequence = header.correlation_sequence;
    message->source_time_ns = header.source_time_ns;
    message->reception_time_ns = os::realtime_ns();
    message->size_bytes = sample->size_bytes();
    message->copy.reset();
    message->sample = std::move(*sample);
    return true;
  }
}

bool Inbox::take(Message* message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (fetched_.empty()) return !callback_wait_set_ && take_from_reader(message);
  *message = std::move(fetched_.front());
  fetched_.pop_front();
  if (notified_ != 0) --notified_;
  if (callback_wait_set_ && !wait_set_) {  // there is room again
    join(callback_wait_set_);
    callback_wait_set_->wake();
  }
  return true;
}

bool Inbox::ready() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !fetched_.empty() || (!callback_wait_set_ && reader_->has_data());
}

/// Sets the wait set that Baton's reader wakes; null: none.
void Inbox::join(const std::shared_ptr<transport::WaitSet>& wait_set) {
  if (wait_set_ == wait_set) return;
  if (wait_set_) wait_set_->remove(reader_);
  wait_set_ = nullptr;
  if (!wait_set) return;
  if (Result<void> added = wait_set->add(reader_); added)
    wait_set_ = wait_set;
  else
    RCUTILS_LOG_WARN_NAMED(kLogger, "%s", added.error().message.c_str());
}

void Inbox::wait_in(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!callback_wait_set_) join(wait_set);
}

void Inbox::leave(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (wait_set_ == wait_set) join(nullptr);
}

void Inbox::set_callback_wait_set(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  callback_wait_set_ = wait_set;
  notified_ = 0;  // a new callback is notified of what came before it
  join(wait_set);
}

void Inbox::set_callback(rmw_event_callback_t callback, const void* user_data) {
  if (callback == nullptr) {
    signal_.set_callback(nullptr, nullptr, SIZE_MAX);
    set_callback_wait_set(nullptr);
  } else {
    set_callback_wait_set(baton_context_->callback_thread().wait_set());
    signal_.set_callback(callback, user_data, SIZE_MAX,
                         [this](std::size_t arrived) { return fetch_for_callback(arrived); });
  }
}

/// Returns how many messages the callback must be notified of. `arrived`: how many the underlying RMW has announced
/// since the last call.
std::size_t Inbox::fetch_for_callback(std::size_t arrived) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Message message; fetched_.size() < kMostFetched && take_from_reader(&message); message = {}) {
    message.copy.reset(new std::byte[message.size_bytes]);
    std::memcpy(message.copy.get(), message.sample.message(), message.size_bytes);
    message.sample.release();
    fetched_.push_back(std::move(message));
  }
  if (fetched_.size() == kMostFetched) join(nullptr);  // otherwise the callback thread would not sleep
  const std::size_t count = arrived + fetched_.size() - std::exchange(notified_, fetched_.size());
  if (count != 0) signal_.begin_notifying();
  return count;
}

}  // namespace baton::rmw
