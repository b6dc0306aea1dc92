// SPDX-License-Identifier: Apache-2.0
// Events of a server's or a client's calls, published on NAME/_service_event as by ROS 2's service introspection. Recorders and tools see the
// requests and responses there; without events only the two ends of a call get them. Off until a program asks for it.
// Thread rules: all functions by any thread.
// Invariant: a request or response is copied only while somebody has asked for contents.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "baton/message/definition.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

/// rcl_service_introspection_state_t.
enum class ServiceIntrospection : std::uint8_t {
  kOff,
  kMetadata,  ///< the client's id, the time, and the number of the request
  kContents   ///< also the request and the response, of which each event has a copy
};

namespace detail {

/// The canonical definition of the events (docs/format/type-hash.md) of the service with these halves.
std::string event_definition(const message::Type& request, const message::Type& response);

class ServiceEvents {
 public:
  struct Options {
    bool is_server = false;
    const message::Type* request = nullptr;  ///< must outlive the ServiceEvents, as the next
    const message::Type* response = nullptr;
    /// Makes the publisher of the events.
    std::function<std::shared_ptr<transport::Writer>(const message::Type&)> advertise;
    /// Gets the reason why an event is not published. Must not throw.
    std::function<void(const Error&)> on_lost;
  };
  explicit ServiceEvents(Options options) : options_(std::move(options)) {}
  ServiceEvents(const ServiceEvents&) = delete;
  ServiceEvents& operator=(const ServiceEvents&) = delete;

  /// Takes effect for messages that are sent and received afterwards. The first call that is not kOff makes the publisher, which stays.
  /// `event_hash`: the type hash of event_definition(). Throws what making a publisher throws.
  void configure(ServiceIntrospection what, const message::TypeHash& event_hash);
  bool is_on() const noexcept {
    // acquire: pairs with the release in configure(), before which the publisher was made.
    return what_.load(std::memory_order_acquire) != ServiceIntrospection::kOff;
  }
  /// A request of a client, or a response of a server, was published.
  void sent(const transport::PublishInfo& ids, const void* message, std::size_t bytes) noexcept {
    if (is_on()) publish(false, ids.correlation_client, ids.correlation_sequence, message, bytes);
  }
  /// A request came to the server, or its response to the client.
  void received(const transport::TakenSample& message) noexcept;

 private:
  void publish(bool received, const transport::Gid& client, std::uint64_t request, const void* message,
               std::size_t bytes) noexcept;
  Result<void> try_publish(bool received, const transport::Gid& client, std::uint64_t request, const void* message,
                           std::size_t bytes);

  const Options options_;
  os::Mutex mutex_;  // of configure()
  // Written once, before what_ is first not kOff.
  std::optional<message::Definition> definition_;
  std::shared_ptr<transport::Writer> writer_;
  std::atomic<ServiceIntrospection> what_{ServiceIntrospection::kOff};
};

}  // namespace detail
}  // namespace baton
