// SPDX-License-Identifier: Apache-2.0
#include "endpoint_events.hpp"

#include <algorithm>
#include <iterator>

#include "rmw/events_statuses/events_statuses.h"

namespace baton::rmw {
namespace {

using transport::Statuses;

rmw_qos_policy_kind_t kind_of(Policy policy) noexcept {
  switch (policy) {
    case Policy::kReliability:
      return RMW_QOS_POLICY_RELIABILITY;
    case Policy::kDurability:
      return RMW_QOS_POLICY_DURABILITY;
    case Policy::kLiveliness:
      return RMW_QOS_POLICY_LIVELINESS;
    case Policy::kDeadline:
      return RMW_QOS_POLICY_DEADLINE;
    case Policy::kLease:
      return RMW_QOS_POLICY_LIVELINESS_LEASE_DURATION;
    case Policy::kNone:
      break;
  }
  return RMW_QOS_POLICY_INVALID;
}

template <class To>
void assign(To& to, std::uint64_t from) noexcept {
  to = static_cast<To>(from);
}

using Counter = std::uint64_t Statuses::*;

template <class Status, Counter kTotal>
void fill_counts(void* info, const Statuses& now, const Statuses& seen) {
  auto& status = *static_cast<Status*>(info);
  assign(status.total_count, now.*kTotal);
  assign(status.total_count_change, now.*kTotal - seen.*kTotal);
}

template <class Status>
void fill_matched(void* info, const Statuses& now, const Statuses& seen) {
  fill_counts<Status, &Statuses::matched_total>(info, now, seen);
  auto& status = *static_cast<Status*>(info);
  assign(status.current_count, now.matched_now);
  assign(status.current_count_change, now.matched_now - seen.matched_now);  // may be negative
}

void fill_qos(void* info, const Statuses& now, const Statuses& seen) {
  using Status = rmw_qos_incompatible_event_status_t;
  fill_counts<Status, &Statuses::incompatible_qos_total>(info, now, seen);
  static_cast<Status*>(info)->last_policy_kind = kind_of(now.last_incompatible_policy);
}

void fill_liveliness(void* info, const Statuses& now, const Statuses& seen) {
  auto& status = *static_cast<rmw_liveliness_changed_status_t*>(info);
  assign(status.alive_count, now.alive_now);
  assign(status.not_alive_count, now.not_alive_now);
  assign(status.alive_count_change, now.alive_now - seen.alive_now);
  assign(status.not_alive_count_change, now.not_alive_now - seen.not_alive_now);
}

}  // namespace

struct EventType {
  rmw_event_type_t type;
  bool publisher;
  transport::Event event;
  Counter total;  ///< never decreases; null: the two numbers of liveliness
  /// Writes the struct that rmw.h has for this type: the present state, and how it differs from what was `seen`.
  void (*fill)(void* info, const Statuses& now, const Statuses& seen);
};

namespace {

template <class Status, Counter kTotal>
constexpr EventType counted(rmw_event_type_t type, bool publisher, transport::Event event) {
  return {type, publisher, event, kTotal, fill_counts<Status, kTotal>};
}

/// Those of this ROS 2.
constexpr EventType kTypes[] = {
    {RMW_EVENT_LIVELINESS_CHANGED, false, transport::Event::kLivelinessChanged, nullptr, fill_liveliness},
    counted<rmw_liveliness_lost_status_t, &Statuses::liveliness_lost_total>(RMW_EVENT_LIVELINESS_LOST, true,
                                                                            transport::Event::kLivelinessLost),
    counted<rmw_requested_deadline_missed_status_t, &Statuses::deadline_missed_total>(
        RMW_EVENT_REQUESTED_DEADLINE_MISSED, false, transport::Event::kDeadlineMissed),
    counted<rmw_offered_deadline_missed_status_t, &Statuses::deadline_missed_total>(
        RMW_EVENT_OFFERED_DEADLINE_MISSED, true, transport::Event::kDeadlineMissed),
    {RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE, false, transport::Event::kIncompatibleQos, &Statuses::incompatible_qos_total,
     fill_qos},
    {RMW_EVENT_OFFERED_QOS_INCOMPATIBLE, true, transport::Event::kIncompatibleQos, &Statuses::incompatible_qos_total,
     fill_qos},
    counted<rmw_message_lost_status_t, &Statuses::lost_total>(RMW_EVENT_MESSAGE_LOST, false,
                                                              transport::Event::kMessageLost),
#if !BATON_ROS2_HUMBLE
    {RMW_EVENT_SUBSCRIPTION_MATCHED, false, transport::Event::kMatched, &Statuses::matched_total,
     fill_matched<rmw_matched_status_t>},
    {RMW_EVENT_PUBLICATION_MATCHED, true, transport::Event::kMatched, &Statuses::matched_total,
     fill_matched<rmw_matched_status_t>},
    counted<rmw_incompatible_type_status_t, &Statuses::incompatible_type_total>(
        RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE, false, transport::Event::kIncompatibleType),
    counted<rmw_incompatible_type_status_t, &Statuses::incompatible_type_total>(
        RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE, true, transport::Event::kIncompatibleType),
#endif
};
static_assert(std::size(kTypes) == kEventTypes);

/// Null: ROS 2 has no such event, as for kMessageDropped.
template <class Is>
const EventType* find_type(Is is) noexcept {
  const EventType* const found = std::find_if(std::begin(kTypes), std::end(kTypes), is);
  return found == std::end(kTypes) ? nullptr : found;
}

const EventType* type_of(bool publisher, rmw_event_type_t type) noexcept {
  return find_type([&](const EventType& each) { return each.publisher == publisher && each.type == type; });
}

}  // namespace

std::size_t Event::unread() const {
  const Statuses now = statuses_();
  const std::lock_guard<std::mutex> lock(seen_mutex_);
  if (type_.total == nullptr)
    return (now.alive_now != seen_.alive_now ? 1U : 0U) + (now.not_alive_now != seen_.not_alive_now ? 1U : 0U);
  const std::uint64_t more = now.*type_.total - seen_.*type_.total;
  if (type_.event != transport::Event::kMatched) return more;
  const std::uint64_t gone = now.matched_total - now.matched_now, seen_gone = seen_.matched_total - seen_.matched_now;
  return more + std::max(gone, seen_gone) - std::min(gone, seen_gone);
}

void Event::take(void* info) {
  {
    const Statuses now = statuses_();
    const std::lock_guard<std::mutex> lock(seen_mutex_);
    type_.fill(info, now, seen_);
    seen_ = now;
  }
  taken();
}

bool EndpointEvents::exists(bool publisher, rmw_event_type_t type) noexcept {
  return type_of(publisher, type) != nullptr;
}

std::shared_ptr<Event> EndpointEvents::of(bool publisher, rmw_event_type_t type) {
  const EventType* const found = type_of(publisher, type);
  if (found == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Event>& event = events_[static_cast<std::size_t>(found - kTypes)];
  if (!event) event = std::make_shared<Event>(thread_, *found, statuses_);
  return event;
}

void EndpointEvents::happened(bool publisher, transport::Event event) {
  const EventType* const found =
      find_type([&](const EventType& each) { return each.publisher == publisher && each.event == event; });
  if (found == nullptr) return;
  std::shared_ptr<Event> made;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    made = events_[static_cast<std::size_t>(found - kTypes)];
  }
  if (made) made->happened();
}

void EndpointEvents::stop() {
  for (const std::shared_ptr<Event>& event : events_)
    if (event) event->stop();
}

}  // namespace baton::rmw
