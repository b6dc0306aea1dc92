// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: events of publishers and subscriptions. Both ends of a Baton path are endpoints of the
// underlying RMW too, so its statuses (matched, incompatible, liveliness) hold for both paths. Missed deadlines and
// lost messages are counted by this RMW (event.hpp).
// Thread rules: those of rmw/event.h.
#include <algorithm>

#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

/// Makes `event` a handle of this RMW that stands for the underlying event `made`.
void stand_for(rmw_event_t* event, Event& own_event, const rmw_event_t& made, bool watched) noexcept {
  own_event.inner = made;
  event->implementation_identifier = kIdentifier;
  event->data = &own_event;
  event->event_type = made.event_type;
  if (own_event.watched)
    return;  // the signal is in use; setting its callback again would make the underlying RMW count changes as seen
  own_event.watched = watched;
  if (!watched || !own_event.counts_underlying) return;
  if (underlying()->rmw_event_set_callback(&own_event.inner, ReadySignal::on_ready, &own_event.signal) != RMW_RET_OK) {
    rcutils_reset_error();
    own_event.watched = false;
  }
}

template <class Handle, class Function>
rmw_ret_t init_event(Function Underlying::*init, rmw_event_t* rmw_event, const Handle* handle, rmw_event_type_t type) {
  auto* own_handle = ours(handle);
  if (own_handle == nullptr || rmw_event == nullptr || type >= kEventTypes)
    return forward(init, rmw_event, handle, type);
  rmw_event_t made = rmw_get_zero_initialized_event();
  const rmw_ret_t result = forward(init, &made, handle, type);
  if (result == RMW_RET_OK) stand_for(rmw_event, own_handle->events[type], made, own_handle->watched);
  return result;
}

/// Deadlines only: clears the underlying RMW's count, since its deadlines were not missed.
void forget_underlying(rmw_event_type_t type, void* info) noexcept {
  if (type == RMW_EVENT_REQUESTED_DEADLINE_MISSED) *static_cast<rmw_requested_deadline_missed_status_t*>(info) = {};
  if (type == RMW_EVENT_OFFERED_DEADLINE_MISSED) *static_cast<rmw_offered_deadline_missed_status_t*>(info) = {};
}

/// Calls act(status) for the statuses that count events.
template <class Act>
void with_status(rmw_event_type_t type, void* info, Act&& act) {
  switch (type) {
    case RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE:
    case RMW_EVENT_OFFERED_QOS_INCOMPATIBLE:
      return act(*static_cast<rmw_qos_incompatible_event_status_t*>(info));
    case RMW_EVENT_REQUESTED_DEADLINE_MISSED:
      return act(*static_cast<rmw_requested_deadline_missed_status_t*>(info));
    case RMW_EVENT_OFFERED_DEADLINE_MISSED:
      return act(*static_cast<rmw_offered_deadline_missed_status_t*>(info));
    case RMW_EVENT_MESSAGE_LOST:
      return act(*static_cast<rmw_message_lost_status_t*>(info));
    default:
      return;
  }
}

/// Adds this RMW's counts to `info`, the underlying RMW's status. `signalled`: changes that the underlying RMW has
/// signalled. When a callback is set, rmw_fastrtps counts all earlier changes as seen. Then the signal's count replaces
/// them.
void add_counted(rmw_event_type_t type, void* info, Event& event, std::size_t signalled) noexcept {
  const std::uint64_t total = event.counted();
  const std::uint64_t change = total - event.taken;
  event.taken = total;
  with_status(type, info, [&](auto& status) {
    if (event.counts_underlying && status.total_count_change == 0)
      status.total_count_change = static_cast<decltype(status.total_count_change)>(signalled);
    status.total_count += static_cast<decltype(status.total_count)>(total);
    status.total_count_change += static_cast<decltype(status.total_count_change)>(change);
  });
}

}  // namespace

bool baton::rmw::signal_underlying(Event& event, const rmw_publisher_t* inner, rmw_event_type_t type) noexcept {
  rmw_event_t made = rmw_get_zero_initialized_event();
  if (underlying()->rmw_publisher_event_init(&made, inner, type) != RMW_RET_OK ||
      underlying()->rmw_event_set_callback(&made, ReadySignal::on_ready, &event.signal) != RMW_RET_OK) {
    rcutils_reset_error();
    return false;
  }
  event.inner = made;
  event.watched = true;
  return true;
}

void baton::rmw::count_underlying(Event& event) noexcept {
  if (event.counts_underlying) return;
  event.counts_underlying = true;
  if (event.inner.implementation_identifier == nullptr || !event.watched) return;
  if (underlying()->rmw_event_set_callback(&event.inner, ReadySignal::on_ready, &event.signal) != RMW_RET_OK) {
    rcutils_reset_error();
    event.watched = false;
  }
}

extern "C" {

rmw_ret_t rmw_publisher_event_init(rmw_event_t* rmw_event, const rmw_publisher_t* publisher,
                                   rmw_event_type_t event_type) try {
  return init_event(&Underlying::rmw_publisher_event_init, rmw_event, publisher, event_type);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_event_init(rmw_event_t* rmw_event, const rmw_subscription_t* subscription,
                                      rmw_event_type_t event_type) try {
  return init_event(&Underlying::rmw_subscription_event_init, rmw_event, subscription, event_type);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_event(const rmw_event_t* event_handle, void* event_info, bool* taken) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (event_handle == nullptr || !is_ours(event_handle->implementation_identifier))
    return rmw->rmw_take_event(event_handle, event_info, taken);
  auto& own_event = *static_cast<Event*>(event_handle->data);
  const std::size_t signalled = own_event.signal.exchange_count();
  const std::size_t counted = own_event.counted() - own_event.taken;
  const rmw_ret_t result = rmw->rmw_take_event(&own_event.inner, event_info, taken);
  if (result != RMW_RET_OK || !*taken) return result;
  if (!own_event.counts_underlying) forget_underlying(event_handle->event_type, event_info);
  add_counted(event_handle->event_type, event_info, own_event, signalled - std::min(signalled, counted));
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_event_set_callback(rmw_event_t* event, rmw_event_callback_t callback, const void* user_data) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (event == nullptr || !is_ours(event->implementation_identifier))
    return rmw->rmw_event_set_callback(event, callback, user_data);
  auto& own_event = *static_cast<Event*>(event->data);
  if (!own_event.watched) return rmw->rmw_event_set_callback(&own_event.inner, callback, user_data);
  own_event.signal.set_callback(callback, user_data, SIZE_MAX);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
