// SPDX-License-Identifier: Apache-2.0
// What comes to a service or a client over Baton: requests or responses.
//
// Thread rules: all functions from any thread.
// Invariants: (1) with a callback, take() returns only messages of which the callback was, or is about to be, notified;
// (2) no callback runs after stop() has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "baton/message/bytes.hpp"
#include "baton_context.hpp"
#include "ready_signal.hpp"
#include "wait_set_member.hpp"

namespace baton::rmw {

class Inbox final : public WaitSetMember {
 public:
  /// `signal` outlives this object, or its use after stop().
  Inbox(std::shared_ptr<BatonContext> baton_context, std::shared_ptr<transport::Reader> reader, ReadySignal& signal)
      : baton_context_(std::move(baton_context)), reader_(std::move(reader)), signal_(signal) {}
  ~Inbox();

  struct Message {
    transport::TakenSample sample;      ///< the message, or empty: then it is the copy
    std::unique_ptr<std::byte[]> copy;  ///< made for a callback, which may leave many messages here
    std::size_t size_bytes = 0;
    transport::Gid client{};
    std::uint64_t sequence = 0;
    std::int64_t source_time_ns = 0, reception_time_ns = 0;
    message::Bytes bytes() const noexcept {
      return {copy ? static_cast<const void*>(copy.get()) : sample.message(), size_bytes};
    }
  };
  /// False: nothing has come.
  bool take(Message* message);
  /// Whether take() would take a message.
  bool ready();

  void wait_in(const std::shared_ptr<transport::WaitSet>& wait_set) override;
  void leave(const std::shared_ptr<transport::WaitSet>& wait_set) override;

  /// As ReadySignal::set_callback(). With a callback, Baton's reader wakes the callback thread only.
  void set_callback(rmw_event_callback_t callback, const void* user_data);
  void stop();

 private:
  // With mutex_
  bool take_from_reader(Message* message);
  void join(const std::shared_ptr<transport::WaitSet>& wait_set);
  bool is_full() const;

  void set_callback_wait_set(const std::shared_ptr<transport::WaitSet>& wait_set);
  std::size_t fetch_for_callback(std::size_t arrived);

  const std::shared_ptr<BatonContext> baton_context_;
  const std::shared_ptr<transport::Reader> reader_;
  ReadySignal& signal_;
  std::mutex mutex_;
  std::shared_ptr<transport::WaitSet> wait_set_;           // that the reader wakes
  std::shared_ptr<transport::WaitSet> callback_wait_set_;  // null: without a callback
  std::deque<Message> fetched_;                            // for a callback
  std::size_t fetched_bytes_ = 0;                          // of their copies
  std::size_t notified_ = 0;                               // of fetched_, the first ones: the callback was notified
};

}  // namespace baton::rmw
