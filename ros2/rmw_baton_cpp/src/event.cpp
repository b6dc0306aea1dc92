// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: events of publishers and subscriptions.
// Thread rules: those of rmw/event.h.
#include "event.hpp"

#include <algorithm>

#include "handles.hpp"

namespace baton::rmw {
namespace {

using transport::Statuses;

/// The counter of each type, which never decreases.
std::uint64_t total_of(rmw_event_type_t type, const Statuses& statuses) noexcept {
  switch (type) {
    case RMW_EVENT_SUBSCRIPTION_MATCHED:
    case RMW_EVENT_PUBLICATION_MATCHED:
      return statuses.matched_total;
    case RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE:
    case RMW_EVENT_OFFERED_QOS_INCOMPATIBLE:
      return statuses.incompatible_qos_total;
    case RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE:
    case RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE:
      return statuses.incompatible_type_total;
    case RMW_EVENT_REQUESTED_DEADLINE_MISSED:
    case RMW_EVENT_OFFERED_DEADLINE_MISSED:
      return statuses.deadline_missed_total;
    case RMW_EVENT_LIVELINESS_LOST:
      return statuses.liveliness_lost_total;
    case RMW_EVENT_MESSAGE_LOST:
      return statuses.lost_total;
    default:
      return 0;
  }
}

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

template <class Status>
void fill_counts(void* info, std::uint64_t total, std::uint64_t change) noexcept {
  auto& status = *static_cast<Status*>(info);
  assign(status.total_count, total);
  assign(status.total_count_change, change);
}

bool is_of_publisher(rmw_event_type_t type) noexcept {
  switch (type) {
    case RMW_EVENT_LIVELINESS_LOST:
    case RMW_EVENT_OFFERED_DEADLINE_MISSED:
    case RMW_EVENT_OFFERED_QOS_INCOMPATIBLE:
    case RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE:
    case RMW_EVENT_PUBLICATION_MATCHED:
      return true;
    default:
      return false;
  }
}

rmw_event_type_t type_of(bool publisher, transport::Event event) noexcept {
  switch (event) {
    case transport::Event::kMatched:
      return publisher ? RMW_EVENT_PUBLICATION_MATCHED : RMW_EVENT_SUBSCRIPTION_MATCHED;
    case transport::Event::kIncompatibleQos:
      return publisher ? RMW_EVENT_OFFERED_QOS_INCOMPATIBLE : RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE;
    case transport::Event::kIncompatibleType:
      return publisher ? RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE : RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE;
    case transport::Event::kDeadlineMissed:
      return publisher ? RMW_EVENT_OFFERED_DEADLINE_MISSED : RMW_EVENT_REQUESTED_DEADLINE_MISSED;
    case transport::Event::kLivelinessLost:
      return RMW_EVENT_LIVELINESS_LOST;
    case transport::Event::kLivelinessChanged:
      return RMW_EVENT_LIVELINESS_CHANGED;
    case transport::Event::kMessageLost:
      return RMW_EVENT_MESSAGE_LOST;
    case transport::Event::kMessageDropped:
      break;  // ROS 2 has no such event
  }
  return RMW_EVENT_INVALID;
}

}  // namespace

std::size_t Event::unread() const {
  const Statuses now = statuses_();
  const std::lock_guard<std::mutex> lock(seen_mutex_);
  if (type_ == RMW_EVENT_LIVELINESS_CHANGED)
    return (now.alive_now != seen_.alive_now ? 1U : 0U) + (now.not_alive_now != seen_.not_alive_now ? 1U : 0U);
  const std::uint64_t more = total_of(type_, now) - total_of(type_, seen_);
  if (type_ != RMW_EVENT_SUBSCRIPTION_MATCHED && type_ != RMW_EVENT_PUBLICATION_MATCHED) return more;
  const std::uint64_t gone = now.matched_total - now.matched_now, seen_gone = seen_.matched_total - seen_.matched_now;
  return more + std::max(gone, seen_gone) - std::min(gone, seen_gone);
}

void Event::take(void* info) {
  {
    const Statuses now = statuses_();
    const std::lock_guard<std::mutex> lock(seen_mutex_);
    const std::uint64_t total = total_of(type_, now), change = total - total_of(type_, seen_);
    switch (type_) {
      case RMW_EVENT_SUBSCRIPTION_MATCHED:
      case RMW_EVENT_PUBLICATION_MATCHED: {
        auto& status = *static_cast<rmw_matched_status_t*>(info);
        assign(status.total_count, total);
        assign(status.total_count_change, change);
        assign(status.current_count, now.matched_now);
        assign(status.current_count_change, now.matched_now - seen_.matched_now);  // may be negative
        break;
      }
      case RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE:
      case RMW_EVENT_OFFERED_QOS_INCOMPATIBLE:
        fill_counts<rmw_qos_incompatible_event_status_t>(info, total, change);
        static_cast<rmw_qos_incompatible_event_status_t*>(info)->last_policy_kind =
            kind_of(now.last_incompatible_policy);
        break;
      case RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE:
      case RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE:
        fill_counts<rmw_incompatible_type_status_t>(info, total, change);
        break;
      case RMW_EVENT_REQUESTED_DEADLINE_MISSED:
        fill_counts<rmw_requested_deadline_missed_status_t>(info, total, change);
        break;
      case RMW_EVENT_OFFERED_DEADLINE_MISSED:
        fill_counts<rmw_offered_deadline_missed_status_t>(info, total, change);
        break;
      case RMW_EVENT_LIVELINESS_LOST:
        fill_counts<rmw_liveliness_lost_status_t>(info, total, change);
        break;
      case RMW_EVENT_MESSAGE_LOST:
        fill_counts<rmw_message_lost_status_t>(info, total, change);
        break;
      case RMW_EVENT_LIVELINESS_CHANGED: {
        auto& status = *static_cast<rmw_liveliness_changed_status_t*>(info);
        assign(status.alive_count, now.alive_now);
        assign(status.not_alive_count, now.not_alive_now);
        assign(status.alive_count_change, now.alive_now - seen_.alive_now);
        assign(status.not_alive_count_change, now.not_alive_now - seen_.not_alive_now);
        break;
      }
      default:
        break;
    }
    seen_ = now;
  }
  taken();
}

bool EndpointEvents::exists(bool publisher, rmw_event_type_t type) noexcept {
  return type != RMW_EVENT_INVALID && type <= kLastEventType && is_of_publisher(type) == publisher;
}

std::shared_ptr<Event> EndpointEvents::of(rmw_event_type_t type) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Event>& event = events_[type];
  if (!event) event = std::make_shared<Event>(thread_, type, statuses_);
  return event;
}

void EndpointEvents::happened(rmw_event_type_t type) {
  std::shared_ptr<Event> event;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (type < events_.size()) event = events_[type];
  }
  if (event) event->happened();
}

void EndpointEvents::happened(bool publisher, transport::Event event) { happened(type_of(publisher, event)); }

void EndpointEvents::stop() {
  for (const std::shared_ptr<Event>& event : events_)
    if (event) event->stop();
}

}  // namespace baton::rmw

// What follows are rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

template <class Handle>
rmw_ret_t init_event(rmw_event_t* rmw_event, const Handle* handle, rmw_event_type_t type, bool publisher) {
  if (const rmw_ret_t bad = checked(rmw_event, handle); bad != RMW_RET_OK) return bad;
  if (rmw_event->implementation_identifier != nullptr) return invalid("the event is initialized already");
  if (!EndpointEvents::exists(publisher, type)) return unsupported("this type of event is none of this endpoint");
  rmw_event->implementation_identifier = kIdentifier;
  rmw_event->data = own(handle)->path->events().of(type).get();
  rmw_event->event_type = type;
  return RMW_RET_OK;
}

}  // namespace

extern "C" {

rmw_ret_t rmw_publisher_event_init(rmw_event_t* rmw_event, const rmw_publisher_t* publisher,
                                   rmw_event_type_t event_type) try {
  return init_event(rmw_event, publisher, event_type, true);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_event_init(rmw_event_t* rmw_event, const rmw_subscription_t* subscription,
                                      rmw_event_type_t event_type) try {
  return init_event(rmw_event, subscription, event_type, false);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_event(const rmw_event_t* event_handle, void* event_info, bool* taken) try {
  if (const rmw_ret_t bad = checked(event_handle, event_info, taken); bad != RMW_RET_OK) return bad;
  static_cast<Event*>(event_handle->data)->take(event_info);
  *taken = true;
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_event_set_callback(rmw_event_t* event, rmw_event_callback_t callback, const void* user_data) try {
  if (const rmw_ret_t bad = checked(event); bad != RMW_RET_OK) return bad;
  static_cast<Event*>(event->data)->set_callback(callback, user_data);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

bool rmw_event_type_is_supported(rmw_event_type_t rmw_event_type) {
  return EndpointEvents::exists(true, rmw_event_type) || EndpointEvents::exists(false, rmw_event_type);
}

}  // extern "C"
