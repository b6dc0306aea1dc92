// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: guard conditions and wait sets. A wait set sleeps in Baton, on the queues of readers and on guard conditions;
// events wake it (source.hpp).
// Thread rules: one thread at a time per wait set; everything else from any thread.
#include <algorithm>
#include <memory>
#include <vector>

#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"
#include "handles.hpp"

namespace baton::rmw {

struct WaitSet {
  rmw_wait_set_t outer{};
  const std::shared_ptr<transport::WaitSet> baton = std::make_shared<transport::WaitSet>();

  // The sources and guard conditions that may wake `baton` since the last wait, and those of this wait.
  std::vector<std::uint64_t> ids, new_ids;
  std::vector<std::weak_ptr<Source>> sources;
  std::vector<std::shared_ptr<transport::GuardCondition>> guards, new_guards;
};

}  // namespace baton::rmw

// What follows are rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

Source& source_of(const Subscription& subscription) { return *subscription.path; }
Source& source_of(const Service& service) { return *service.path; }
Source& source_of(const Client& client) { return *client.path; }
Source& source_of(const rmw_event_t& event) { return *static_cast<Event*>(event.data); }

/// The arrays that rmw_wait() was given. Entries that are not ready become null.
struct Entities {
  rmw_subscriptions_t* subscriptions;
  rmw_guard_conditions_t* guards;
  rmw_services_t* services;
  rmw_clients_t* clients;
  rmw_events_t* events;

  template <class Entity, class Act>
  BATON_HOT static void each_of(void** entries, std::size_t count, Act&& act) {
    if (entries == nullptr) return;
    for (std::size_t i = 0; i < count; ++i)
      if (entries[i] != nullptr) act(*static_cast<Entity*>(entries[i]), entries[i]);
  }
  /// Calls act(source, its entry) for all but guard conditions.
  template <class Act>
  BATON_HOT void each_source(Act&& act) const {
    const auto of = [&](auto& entity, void*& entry) { act(source_of(entity), entry); };
    if (subscriptions != nullptr)
      each_of<Subscription>(subscriptions->subscribers, subscriptions->subscriber_count, of);
    if (services != nullptr) each_of<Service>(services->services, services->service_count, of);
    if (clients != nullptr) each_of<Client>(clients->clients, clients->client_count, of);
    if (events != nullptr) each_of<rmw_event_t>(events->events, events->event_count, of);
  }
  template <class Act>
  BATON_HOT void each_guard(Act&& act) const {
    if (guards != nullptr) each_of<Guard>(guards->guard_conditions, guards->guard_condition_count, act);
  }
};

template <class List, class Member>
bool has(const List& list, const Member& member) {
  return std::find(list.begin(), list.end(), member) != list.end();
}

/// From now on exactly the entities of this wait wake the wait set.
BATON_HOT_SELDOM void join(WaitSet& set, const Entities& entities) {
  set.new_ids.clear();
  set.new_guards.clear();
  entities.each_source([&](Source& source, void*) {
    set.new_ids.push_back(source.id());
    source.wait_in(set.baton);
  });
  entities.each_guard([&](Guard& guard, void*) { set.new_guards.push_back(guard.baton); });
  if (set.new_ids != set.ids) {
    for (const std::weak_ptr<Source>& former : set.sources) {
      const std::shared_ptr<Source> source = former.lock();
      if (source && !has(set.new_ids, source->id())) source->leave(set.baton);
    }
    set.sources.clear();
    entities.each_source([&](Source& source, void*) { set.sources.push_back(source.weak_from_this()); });
    set.ids.swap(set.new_ids);
  }
  if (set.new_guards != set.guards) {
    for (const auto& guard : set.guards)
      if (!has(set.new_guards, guard)) set.baton->remove(*guard);
    for (const auto& guard : set.new_guards)
      if (!has(set.guards, guard)) static_cast<void>(set.baton->add(*guard));  // cannot fail
    set.guards.swap(set.new_guards);
  }
}

BATON_HOT bool any_ready(const Entities& entities) {
  bool any = false;
  entities.each_source([&](Source& source, void*) { any = any || source.ready(); });
  entities.each_guard([&](Guard& guard, void*) { any = any || guard.baton->is_triggered(); });
  return any;
}

/// Leaves only the ready entries. True if there is one.
BATON_HOT bool answer(const Entities& entities) {
  bool any = false;
  const auto keep = [&](bool ready, void*& entry) {
    if (ready)
      any = true;
    else
      entry = nullptr;
  };
  entities.each_source([&](Source& source, void*& entry) { keep(source.ready(), entry); });
  // Another wait set may have taken the trigger first.
  entities.each_guard([&](Guard& guard, void*& entry) { keep(guard.baton->exchange_triggered(), entry); });
  return any;
}

BATON_HOT rmw_ret_t wait(WaitSet& set, const Entities& entities, const rmw_time_t* timeout) {
  join(set, entities);
  const std::int64_t begin_ns = os::monotonic_ns();
  const std::chrono::nanoseconds wanted = timeout != nullptr ? duration_of(*timeout) : kInfinite;
  const std::int64_t end_ns =
      wanted == kInfinite || wanted.count() > INT64_MAX - begin_ns ? INT64_MAX : begin_ns + wanted.count();
  for (std::int64_t now_ns = begin_ns; !any_ready(entities) && now_ns < end_ns; now_ns = os::monotonic_ns()) {
    const Result<bool> woken =
        set.baton->wait(end_ns == INT64_MAX ? kInfinite : std::chrono::nanoseconds(end_ns - now_ns));
    if (!woken) return baton::out_of_line([&] { return failed(woken.error()); });
  }
  return answer(entities) ? RMW_RET_OK : RMW_RET_TIMEOUT;
}

}  // namespace

extern "C" {

rmw_guard_condition_t* rmw_create_guard_condition(rmw_context_t* context) try {
  if (checked(context) != RMW_RET_OK) return nullptr;
  auto guard = std::make_unique<Guard>();
  begin_handle(*guard);
  guard->outer.context = context;
  return &guard.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_guard_condition(rmw_guard_condition_t* guard_condition) {
  if (const rmw_ret_t bad = checked(guard_condition); bad != RMW_RET_OK) return bad;
  delete own(guard_condition);
  return RMW_RET_OK;
}

rmw_ret_t rmw_trigger_guard_condition(const rmw_guard_condition_t* guard_condition) try {
  if (const rmw_ret_t bad = checked(guard_condition); bad != RMW_RET_OK) return bad;
  own(guard_condition)->baton->trigger();
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_wait_set_t* rmw_create_wait_set(rmw_context_t* context, size_t) try {
  if (checked(context) != RMW_RET_OK) return nullptr;
  auto set = std::make_unique<WaitSet>();
  begin_handle(*set);
  return &set.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_wait_set(rmw_wait_set_t* wait_set) try {
  if (const rmw_ret_t bad = checked(wait_set); bad != RMW_RET_OK) return bad;
  WaitSet* set = own(wait_set);
  for (const std::weak_ptr<Source>& former : set->sources)
    if (const std::shared_ptr<Source> source = former.lock()) source->leave(set->baton);
  delete set;
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_wait(rmw_subscriptions_t* subscriptions, rmw_guard_conditions_t* guard_conditions,
                             rmw_services_t* services, rmw_clients_t* clients, rmw_events_t* events,
                             rmw_wait_set_t* wait_set, const rmw_time_t* wait_timeout) try {
  if (const rmw_ret_t bad = checked(wait_set); bad != RMW_RET_OK) return bad;
  return wait(*own(wait_set), {subscriptions, guard_conditions, services, clients, events}, wait_timeout);
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
