// SPDX-License-Identifier: Apache-2.0
// The events of an endpoint: differences between the counters of its writer or reader and what the application has seen of them.
//
// Thread rules: all functions from any thread.
// Invariants: (1) events live as long as their endpoint: rmw_event_fini() belongs to the rmw library, and would free nothing.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>

#include "baton/rosidl/ros2_version.hpp"
#include "rmw/event.h"
#include "source.hpp"

namespace baton::rmw {

/// A row of the table of this ROS 2's types of events, in endpoint_events.cpp.
struct EventType;
/// How many rows that table has. The numbers of rmw.h have holes.
inline constexpr std::size_t kEventTypes = BATON_ROS2_HUMBLE ? 7 : 11;

class Event final : public Source {
 public:
  using ReadStatuses = std::function<transport::Statuses()>;
  Event(std::shared_ptr<CallbackThread> thread, const EventType& type, ReadStatuses statuses)
      : Source(std::move(thread), nullptr), type_(type), statuses_(std::move(statuses)) {}

  /// Writes the struct that rmw.h has for this type of event to `info`.
  void take(void* info);
  using Source::happened;

 private:
  std::size_t unread() const override;

  const EventType& type_;
  const ReadStatuses statuses_;
  mutable std::mutex seen_mutex_;
  transport::Statuses seen_;  // by the application
};

class EndpointEvents {
 public:
  /// The types of events that a publisher, or a subscription, has.
  static bool exists(bool publisher, rmw_event_type_t type) noexcept;

  EndpointEvents(std::shared_ptr<CallbackThread> thread, Event::ReadStatuses statuses)
      : thread_(std::move(thread)), statuses_(std::move(statuses)) {}
  /// Made at the first call. Null: there is no such type.
  std::shared_ptr<Event> of(bool publisher, rmw_event_type_t type);
  /// An event of the transport.
  void happened(bool publisher, transport::Event event);
  void stop();

 private:
  const std::shared_ptr<CallbackThread> thread_;
  const Event::ReadStatuses statuses_;
  std::mutex mutex_;
  std::array<std::shared_ptr<Event>, kEventTypes> events_;
};

}  // namespace baton::rmw
