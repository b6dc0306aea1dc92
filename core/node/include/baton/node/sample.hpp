// SPDX-License-Identifier: Apache-2.0
// The result of a take: a received message that stays in the publisher's memory.
// Thread rules: a Sample is a value of one thread at a time; it may be moved to and released from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "baton/node/not_empty.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

/// Metadata of one received message.
struct MessageInfo {
  std::uint64_t sequence = 0;              ///< per publisher, from 1
  std::int64_t source_time_ns = 0;         ///< CLOCK_REALTIME of the publisher at publish
  std::int64_t source_monotonic_ns = 0;    ///< CLOCK_MONOTONIC at publish, as this process sees it (time namespaces)
  std::int64_t reception_time_ns = 0;      ///< CLOCK_REALTIME of the call of info(), or right before the callback
  transport::Gid publisher{};              ///< id of the publisher
  transport::Gid correlation_client{};     ///< services: id of the client, else zero
  std::uint64_t correlation_sequence = 0;  ///< services: number of the request, else zero
  memory::Selection selection = memory::Selection::kInPlace;  ///< how the publisher made the message; a hint
};

namespace detail {
/// Reads the clock for `reception_time_ns`.
MessageInfo message_info(const transport::TakenSample& taken) noexcept;
/// The ids that a response to this request carries: it reaches only the client that sent the request.
transport::PublishInfo answer_to(const MessageInfo& request) noexcept;
}  // namespace detail

/// A received message of type T, read-only, in shared memory. It keeps its chunk until it is destroyed, also after the
/// subscription, the node or the publisher's process is gone. A subscription may hold QoS::held samples per publisher.
/// Move-only; share() makes a std::shared_ptr for several owners (that allocates its control block).
template <class T>
class Sample {
 public:
  Sample() = default;
  explicit Sample(transport::TakenSample&& taken) noexcept : taken_(std::move(taken)) {}
  explicit operator bool() const noexcept { return static_cast<bool>(taken_); }
  /// Both throw invalid_argument if the sample is empty.
  const T& operator*() const { return detail::not_empty(get(), "sample"); }
  const T* operator->() const { return &**this; }
  /// Null for an empty sample.
  const T* get() const noexcept { return taken_ ? static_cast<const T*>(taken_.message()) : nullptr; }
  /// Metadata of the message. Each call reads the clock for `reception_time_ns`, since take() reads none: call info() right after take()
  /// to get the time of the take. The MessageInfo of a callback is made right before the callback.
  MessageInfo info() const noexcept { return detail::message_info(taken_); }
  /// Bytes of skeleton and contents.
  std::uint32_t size_bytes() const noexcept { return taken_.size_bytes(); }
  /// Gives the chunk back now; the sample is empty afterwards.
  void release() noexcept { taken_.release(); }
  /// Turns the sample into shared ownership; the message does not move. One allocation.
  std::shared_ptr<const T> share() && {
    if (!taken_) return nullptr;
    auto owner = std::make_shared<transport::TakenSample>(std::move(taken_));
    const T* message = static_cast<const T*>(owner->message());
    return std::shared_ptr<const T>(std::move(owner), message);
  }

 private:
  transport::TakenSample taken_;
};

}  // namespace baton
