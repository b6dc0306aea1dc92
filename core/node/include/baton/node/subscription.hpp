// SPDX-License-Identifier: Apache-2.0
// The typed subscription: callbacks through an executor, or polling with take().
// Thread rules: take() may be called by several threads; everything else is thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "baton/message/type.hpp"
#include "baton/node/executor.hpp"
#include "baton/node/not_empty.hpp"
#include "baton/node/sample.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

/// Receives messages of type T from a topic. Copies refer to the same endpoint. A default-made or moved-from
/// Subscription is empty: its functions then throw invalid_argument, try_take() returns it, topic() is empty, and
/// reader() is null.
template <class T>
class Subscription {
 public:
  Subscription() = default;
  Subscription(std::shared_ptr<transport::Reader> reader, std::shared_ptr<detail::Executable> executable,
               std::string topic)
      : reader_(std::move(reader)), executable_(std::move(executable)), topic_(std::move(topic)) {}
  explicit operator bool() const noexcept { return reader_ != nullptr; }

  /// The oldest unread message, or an empty sample. Throws held_limit when this subscription already holds QoS::held
  /// samples of the publisher. A message that cannot be delivered (malformed, too large, no memory) is passed over:
  /// losses() counts it. Also empty after a bounded number of messages that were passed over; then has_data() stays true.
  Sample<T> take() { return Sample<T>(std::move(endpoint().take_next()).or_throw()); }
  /// A take() that returns errors instead of throwing.
  Result<Sample<T>> try_take() {
    if (!reader_) return detail::empty_error("subscription");
    Result<transport::TakenSample> taken = endpoint().take_next();
    if (!taken.ok()) return taken.error();
    return Result<Sample<T>>(Sample<T>(std::move(*taken)));
  }
  bool has_data() const { return endpoint().has_data(); }
  /// Readable for poll(2)/epoll(7) while has_data() may be true; owned by the subscription. Not usable together with an
  /// executor.
  int pollable_fd() { return std::move(endpoint().pollable_fd()).or_throw(); }

  const std::string& topic() const noexcept { return topic_; }
  /// How many publishers serve this subscription: their messages from now on can be taken at once.
  std::uint32_t matched() const { return endpoint().matched(); }
  transport::Statuses statuses() const { return endpoint().statuses(); }
  /// Messages that did not arrive, by reason.
  transport::Losses losses() const { return endpoint().losses(); }
  /// Called on Baton's background thread; must not block or throw.
  void on_event(std::function<void(transport::Event)> callback) { endpoint().on_event(std::move(callback)); }
  const transport::Gid& gid() const { return endpoint().gid(); }
  /// For wait sets.
  const std::shared_ptr<transport::Reader>& reader() const noexcept { return reader_; }

 private:
  transport::Reader& endpoint() const { return detail::not_empty(reader_, "subscription"); }

  std::shared_ptr<transport::Reader> reader_;
  std::shared_ptr<detail::Executable> executable_;  // keeps the callback registered
  std::string topic_;
};

namespace detail {

/// Calls `callback` with the supported signature that it has, and with a sample that is not empty.
template <class T, class F>
void call_with_sample(F& callback, transport::TakenSample&& taken) {
  if constexpr (std::is_invocable_v<F&, Sample<T>&&>) {
    callback(Sample<T>(std::move(taken)));
  } else if constexpr (std::is_invocable_v<F&, Sample<T>&&, const MessageInfo&>) {
    const MessageInfo info = message_info(taken);
    callback(Sample<T>(std::move(taken)), info);
  } else if constexpr (std::is_invocable_v<F&, const T&, const MessageInfo&>) {
    const MessageInfo info = message_info(taken);
    callback(*static_cast<const T*>(taken.message()), info);
  } else if constexpr (std::is_invocable_v<F&, const T&>) {
    callback(*static_cast<const T*>(taken.message()));
  } else {
    constexpr bool shared = std::is_invocable_v<F&, std::shared_ptr<const T>>;
    constexpr bool writes = std::is_invocable_v<F&, std::shared_ptr<T>> || std::is_invocable_v<F&, std::unique_ptr<T>>;
    static_assert(shared || !writes,
                  "received messages are read-only: let the callback take T::ConstSharedPtr instead of T::SharedPtr or "
                  "T::UniquePtr, and copy the message if it must change");
    static_assert(shared || writes,
                  "a callback takes one of: Sample<T>, const Sample<T>&, const T&, T::ConstSharedPtr, "
                  "(const T&, const MessageInfo&), (Sample<T>, const MessageInfo&)");
    if constexpr (shared) callback(Sample<T>(std::move(taken)).share());
  }
}

/// Takes one message per execute() and hands it to the callback.
template <class T, class F>
class SubscriptionExecutable final : public ReaderExecutable {
 public:
  SubscriptionExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> reader, F callback)
      : ReaderExecutable(std::move(group), std::move(reader)), callback_(std::move(callback)) {}

 private:
  bool on_message(transport::TakenSample&& message) override {
    call_with_sample<T>(callback_, std::move(message));
    return true;
  }
  F callback_;
};

}  // namespace detail
}  // namespace baton
