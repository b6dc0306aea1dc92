// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: events of publishers and subscriptions.
// Thread rules: those of rmw/event.h.
#include <memory>

#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

template <class Handle>
rmw_ret_t init_event(rmw_event_t* rmw_event, const Handle* handle, rmw_event_type_t type, bool publisher) {
  if (const rmw_ret_t bad = checked(rmw_event, handle); bad != RMW_RET_OK) return bad;
  if (rmw_event->implementation_identifier != nullptr) return invalid("the event is initialized already");
  const std::shared_ptr<Event> event = own(handle)->path->events().of(publisher, type);
  if (!event) return unsupported("this type of event is none of this endpoint");
  rmw_event->implementation_identifier = kIdentifier;
  rmw_event->data = event.get();
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

}  // extern "C"
