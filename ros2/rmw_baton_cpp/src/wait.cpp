// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: guard conditions and wait sets. Wait sets hold the `data` pointers of handles (rcl puts them
// there), so every array is translated before the underlying RMW sees it and its answer (null: not ready) is carried back.
// Thread rules: one thread at a time per wait set; everything else from any thread.
#include <new>
#include <vector>

#include "handles.hpp"

using namespace baton::
    rmw;  // NOLINT(google-build-using-namespace): the file holds rmw.h's functions, in the global namespace

namespace {

struct WaitSet {
  rmw_wait_set_t outer{};
  rmw_wait_set_t* inner = nullptr;
  // Kept between waits: a steady state without allocation.
  std::vector<void*> subscriptions, guards, services, clients, events;
};

/// `below` is what the underlying RMW gets for each entry of `above`.
template <class Below>
void translate(void* const* above, size_t count, std::vector<void*>& below, Below below_of) {
  below.clear();
  for (size_t i = 0; i < count; ++i) below.push_back(above[i] != nullptr ? below_of(above[i]) : nullptr);
}

/// Clears what the underlying RMW reports as not ready.
void carry_back(void** above, const std::vector<void*>& below) {
  for (size_t i = 0; i < below.size(); ++i) {
    if (below[i] == nullptr) above[i] = nullptr;
  }
}

template <class Ours>
void* inner_data(void* data) {
  return static_cast<Ours*>(data)->inner->data;
}

}  // namespace

extern "C" {

rmw_guard_condition_t* rmw_create_guard_condition(rmw_context_t* context) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  Context* own_context = ours(context);
  if (own_context == nullptr) return rmw->rmw_create_guard_condition(context);
  rmw_guard_condition_t* made = rmw->rmw_create_guard_condition(&own_context->inner);
  if (made == nullptr) return nullptr;
  auto* guard = new (std::nothrow) Guard;
  if (guard == nullptr) {
    if (rmw->rmw_destroy_guard_condition(made) != RMW_RET_OK) rcutils_reset_error();
    RMW_SET_ERROR_MSG("no memory for a guard condition");
    return nullptr;
  }
  guard->inner = made;
  guard->outer.implementation_identifier = kIdentifier;
  guard->outer.data = guard;
  guard->outer.context = context;
  return &guard->outer;
}

rmw_ret_t rmw_destroy_guard_condition(rmw_guard_condition_t* guard_condition) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  const Guard* guard = ours(guard_condition);
  const rmw_ret_t result = rmw->rmw_destroy_guard_condition(inner(guard_condition));
  if (result == RMW_RET_OK) delete guard;
  return result;
}

rmw_ret_t rmw_trigger_guard_condition(const rmw_guard_condition_t* guard_condition) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_trigger_guard_condition(inner(guard_condition));
}

rmw_wait_set_t* rmw_create_wait_set(rmw_context_t* context, size_t max_conditions) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  Context* own_context = ours(context);
  if (own_context == nullptr) return rmw->rmw_create_wait_set(context, max_conditions);
  rmw_wait_set_t* made = rmw->rmw_create_wait_set(&own_context->inner, max_conditions);
  if (made == nullptr) return nullptr;
  auto* wait_set = new (std::nothrow) WaitSet;
  if (wait_set == nullptr) {
    if (rmw->rmw_destroy_wait_set(made) != RMW_RET_OK) rcutils_reset_error();
    RMW_SET_ERROR_MSG("no memory for a wait set");
    return nullptr;
  }
  wait_set->inner = made;
  wait_set->outer.implementation_identifier = kIdentifier;
  wait_set->outer.guard_conditions = made->guard_conditions;
  wait_set->outer.data = wait_set;
  return &wait_set->outer;
}

rmw_ret_t rmw_destroy_wait_set(rmw_wait_set_t* wait_set) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (wait_set == nullptr || !is_ours(wait_set->implementation_identifier)) return rmw->rmw_destroy_wait_set(wait_set);
  auto* own_set = static_cast<WaitSet*>(wait_set->data);
  const rmw_ret_t result = rmw->rmw_destroy_wait_set(own_set->inner);
  if (result == RMW_RET_OK) delete own_set;
  return result;
}

rmw_ret_t rmw_wait(rmw_subscriptions_t* subscriptions, rmw_guard_conditions_t* guard_conditions,
                   rmw_services_t* services, rmw_clients_t* clients, rmw_events_t* events, rmw_wait_set_t* wait_set,
                   const rmw_time_t* wait_timeout) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (wait_set == nullptr || !is_ours(wait_set->implementation_identifier)) {
    return rmw->rmw_wait(subscriptions, guard_conditions, services, clients, events, wait_set, wait_timeout);
  }
  auto& own_set = *static_cast<WaitSet*>(wait_set->data);
  rmw_subscriptions_t inner_subscriptions{};
  rmw_guard_conditions_t inner_guards{};
  rmw_services_t inner_services{};
  rmw_clients_t inner_clients{};
  rmw_events_t inner_events{};
  if (subscriptions != nullptr) {
    translate(subscriptions->subscribers, subscriptions->subscriber_count, own_set.subscriptions,
              inner_data<Subscription>);
    inner_subscriptions = {own_set.subscriptions.size(), own_set.subscriptions.data()};
  }
  if (guard_conditions != nullptr) {
    translate(guard_conditions->guard_conditions, guard_conditions->guard_condition_count, own_set.guards,
              inner_data<Guard>);
    inner_guards = {own_set.guards.size(), own_set.guards.data()};
  }
  if (services != nullptr) {
    translate(services->services, services->service_count, own_set.services, inner_data<Service>);
    inner_services = {own_set.services.size(), own_set.services.data()};
  }
  if (clients != nullptr) {
    translate(clients->clients, clients->client_count, own_set.clients, inner_data<Client>);
    inner_clients = {own_set.clients.size(), own_set.clients.data()};
  }
  if (events != nullptr) {
    translate(events->events, events->event_count, own_set.events,
              [](void* event) { return static_cast<rmw_event_t*>(event)->data; });
    inner_events = {own_set.events.size(), own_set.events.data()};
  }
  const rmw_ret_t result = rmw->rmw_wait(
      subscriptions != nullptr ? &inner_subscriptions : nullptr, guard_conditions != nullptr ? &inner_guards : nullptr,
      services != nullptr ? &inner_services : nullptr, clients != nullptr ? &inner_clients : nullptr,
      events != nullptr ? &inner_events : nullptr, own_set.inner, wait_timeout);
  if (subscriptions != nullptr) carry_back(subscriptions->subscribers, own_set.subscriptions);
  if (guard_conditions != nullptr) carry_back(guard_conditions->guard_conditions, own_set.guards);
  if (services != nullptr) carry_back(services->services, own_set.services);
  if (clients != nullptr) carry_back(clients->clients, own_set.clients);
  if (events != nullptr) carry_back(events->events, own_set.events);
  return result;
}

}  // extern "C"
