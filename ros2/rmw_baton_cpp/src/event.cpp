// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: events of publishers and subscriptions. Both ends of a Baton path are endpoints of the
// underlying RMW too, so its statuses (matched, incompatible, liveliness) hold for both paths.
// Thread rules: those of rmw/event.h.
#include "handles.hpp"

using namespace baton::
    rmw;  // NOLINT(google-build-using-namespace): the file holds rmw.h's functions, in the global namespace

namespace {

/// The underlying RMW's event behind one of ours.
const rmw_event_t* inner_event(const rmw_event_t* event) noexcept {
  if (event == nullptr || !is_ours(event->implementation_identifier)) return event;
  return static_cast<const rmw_event_t*>(event->data);
}

/// Makes `event` one of ours, which stands for `below`.
void stand_for(rmw_event_t* event, rmw_event_t* below) noexcept {
  event->implementation_identifier = kIdentifier;
  event->data = below;
  event->event_type = below->event_type;
}

}  // namespace

extern "C" {

rmw_ret_t rmw_publisher_event_init(rmw_event_t* rmw_event, const rmw_publisher_t* publisher,
                                   rmw_event_type_t event_type) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  Publisher* own_publisher = ours(publisher);
  if (own_publisher == nullptr || rmw_event == nullptr || event_type >= RMW_EVENT_TYPE_MAX) {
    return rmw->rmw_publisher_event_init(rmw_event, inner(publisher), event_type);
  }
  rmw_event_t made = rmw_get_zero_initialized_event();
  const rmw_ret_t result = rmw->rmw_publisher_event_init(&made, own_publisher->inner, event_type);
  if (result != RMW_RET_OK) return result;
  own_publisher->events[event_type] = made;
  stand_for(rmw_event, &own_publisher->events[event_type]);
  return RMW_RET_OK;
}

rmw_ret_t rmw_subscription_event_init(rmw_event_t* rmw_event, const rmw_subscription_t* subscription,
                                      rmw_event_type_t event_type) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  Subscription* own_subscription = ours(subscription);
  if (own_subscription == nullptr || rmw_event == nullptr || event_type >= RMW_EVENT_TYPE_MAX) {
    return rmw->rmw_subscription_event_init(rmw_event, inner(subscription), event_type);
  }
  rmw_event_t made = rmw_get_zero_initialized_event();
  const rmw_ret_t result = rmw->rmw_subscription_event_init(&made, own_subscription->inner, event_type);
  if (result != RMW_RET_OK) return result;
  own_subscription->events[event_type] = made;
  stand_for(rmw_event, &own_subscription->events[event_type]);
  return RMW_RET_OK;
}

rmw_ret_t rmw_take_event(const rmw_event_t* event_handle, void* event_info, bool* taken) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_take_event(inner_event(event_handle), event_info, taken);
}

rmw_ret_t rmw_event_set_callback(rmw_event_t* event, rmw_event_callback_t callback, const void* user_data) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_event_set_callback(const_cast<rmw_event_t*>(inner_event(event)), callback, user_data);
}

}  // extern "C"
