// SPDX-License-Identifier: Apache-2.0
#include "inbox.hpp"

#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "baton/os/clock.hpp"
#include "peer_faults.hpp"

namespace baton::rmw {
namespace {

// Copies for a callback. More messages stay in the reader's queue, whose depth holds back the senders.
constexpr std::size_t kMostFetched = 1000;
constexpr std::size_t kMostFetchedBytes = std::size_t{64} << 20;  // one message more may begin below it
/// Lost messages that one take passes over, as in Reader::take_next(): they may come faster than they are lost.
constexpr int kMostPassedOver = 64;

}  // namespace

Inbox::~Inbox() {
  if (wait_set_) wait_set_->remove(reader_);
}

void Inbox::stop() {
  signal_.forget_fetch();  // the callback continues with messages of the underlying RMW
  set_callback_wait_set(nullptr);
}

bool Inbox::take_from_reader(Message* message) {
  for (int passed = 0; passed < kMostPassedOver; ++passed) {
    Result<transport::TakenSample> sample = reader_->take();
    if (!sample) {
      if (!may_take_again(sample.error())) return false;
      continue;
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
  return false;  // the reader has more: whoever waits for it wakes at once
}

bool Inbox::take(Message* message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (fetched_.empty()) return !callback_wait_set_ && take_from_reader(message);
  *message = std::move(fetched_.front());
  fetched_.pop_front();
  fetched_bytes_ -= message->size_bytes;
  if (notified_ != 0) --notified_;
  if (callback_wait_set_ && !wait_set_) {  // there is room again
    join(callback_wait_set_);
    callback_wait_set_->wake();
  }
  return true;
}

bool Inbox::is_full() const { return fetched_.size() >= kMostFetched || fetched_bytes_ >= kMostFetchedBytes; }

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
    warn_of_peer(added.error().code, added.error().message);
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
  for (Message message; !is_full() && take_from_reader(&message); message = {}) {
    message.copy.reset(new (std::nothrow) std::byte[message.size_bytes]);
    if (!message.copy) {
      warn_of_peer(Errc::out_of_memory, "a request or response of " + std::to_string(message.size_bytes) +
                                            " bytes was dropped: no memory for a copy");
      continue;
    }
    std::memcpy(message.copy.get(), message.sample.message(), message.size_bytes);
    message.sample.release();
    fetched_bytes_ += message.size_bytes;
    fetched_.push_back(std::move(message));
  }
  if (is_full()) join(nullptr);  // otherwise the callback thread would not sleep
  const std::size_t count = arrived + fetched_.size() - std::exchange(notified_, fetched_.size());
  if (count != 0) signal_.begin_notifying();
  return count;
}

}  // namespace baton::rmw
