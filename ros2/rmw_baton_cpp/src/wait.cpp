// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: guard conditions and wait sets. Wait sets hold the `data` pointers of handles (rcl
// stores them). So every array is translated before the underlying RMW sees it, and its answer (null: not ready) is
// translated back.
//
// With Baton, a wait set sleeps in Baton: on the queues of the served subscriptions, on guard conditions, and on the
// signals of the other entities (ready_signal.hpp). The underlying RMW is asked, without waiting, only for entities
// that were signalled.
// Thread rules: one thread at a time per wait set; everything else from any thread.
#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "baton/os/clock.hpp"
#include "endpoints.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

constexpr std::chrono::nanoseconds kKeptBackPause = std::chrono::milliseconds(1);

/// One of the arrays that rmw_wait() was given.
struct Entities {
  void** entries = nullptr;
  std::size_t count = 0;
  // Kept between waits: a steady state without allocation.
  std::vector<void*> asked;         // entities for which the underlying RMW is asked; null afterwards: not ready
  std::vector<std::size_t> places;  // the places of those in `entries`
  std::vector<bool> ready;          // of all entries

  void begin(void** array, std::size_t size) {
    entries = array;
    count = array != nullptr ? size : 0;
    asked.clear();
    places.clear();
    ready.assign(count, false);
  }
  void ask(void* inner, std::size_t i) {
    asked.push_back(inner);
    places.push_back(i);
  }
  /// Calls act(entity, its index) for the entries that are not null.
  template <class Entity, class Act>
  void each(Act&& act) {
    for (std::size_t i = 0; i < count; ++i) {
      if (entries[i] != nullptr) act(*static_cast<Entity*>(entries[i]), i);
    }
  }
  /// Calls act(entity) for the entries that the underlying RMW has found ready.
  template <class Entity, class Act>
  void each_answer(Act&& act) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i] == nullptr) continue;
      ready[places[i]] = true;
      act(*static_cast<Entity*>(entries[places[i]]));
    }
  }
  /// Leaves only the ready entries in the application's array.
  void answer() {
    for (std::size_t i = 0; i < count; ++i) {
      if (!ready[i]) entries[i] = nullptr;
    }
  }
};

struct WaitSet {
  rmw_wait_set_t outer{};
  rmw_wait_set_t* inner = nullptr;
  Entities subscriptions, guards, services, clients, events;

  std::shared_ptr<transport::WaitSet> baton;  // null: without Baton; the other members are then unused
  // The sources that may wake `baton` since the last wait.
  std::vector<std::uint64_t> member_ids, new_ids;
  std::vector<std::weak_ptr<WaitSetMember>> members;
  std::vector<std::shared_ptr<transport::GuardCondition>> member_guards, new_guards;
};

Event& event_of(rmw_event_t& handle) { return *static_cast<Event*>(handle.data); }

/// Calls act(member) if Baton's reader stands behind the entity.
template <class Act>
void each_member(const Subscription& subscription, Act&& act) {
  if (subscription.path) act(subscription.path);
}
template <class Entity, class Act>
void each_member(const Entity& entity, Act&& act) {
  if (entity.path) act(entity.path->inbox());
}

/// From now on exactly the entities of this wait wake the wait set.
[[gnu::hot]] void join(WaitSet& set) {
  set.new_ids.clear();
  set.new_guards.clear();
  const auto wakes = [&](auto& entity, std::size_t) {
    entity.signal.set_wait_set(set.baton);
    each_member(entity, [&](const auto& member) {
      set.new_ids.push_back(member->id());
      member->wait_in(set.baton);
    });
  };
  set.subscriptions.each<Subscription>(wakes);
  set.services.each<Service>(wakes);
  set.clients.each<Client>(wakes);
  set.events.each<rmw_event_t>(
      [&](rmw_event_t& event, std::size_t) { event_of(event).signal.set_wait_set(set.baton); });
  set.guards.each<Guard>([&](Guard& guard, std::size_t) { set.new_guards.push_back(guard.baton); });
  const auto has = [](const auto& list, const auto& member) {
    return std::find(list.begin(), list.end(), member) != list.end();
  };
  if (set.new_ids != set.member_ids) {
    for (const std::weak_ptr<WaitSetMember>& former : set.members) {
      const std::shared_ptr<WaitSetMember> member = former.lock();
      if (member && !has(set.new_ids, member->id())) member->leave(set.baton);
    }
    set.members.clear();
    const auto belongs = [&](auto& entity, std::size_t) {
      each_member(entity, [&](const auto& member) { set.members.push_back(member); });
    };
    set.subscriptions.each<Subscription>(belongs);
    set.services.each<Service>(belongs);
    set.clients.each<Client>(belongs);
    set.member_ids.swap(set.new_ids);
  }
  if (set.new_guards != set.member_guards) {
    for (const auto& guard : set.member_guards) {
      if (!has(set.new_guards, guard)) set.baton->remove(*guard);
    }
    for (const auto& guard : set.new_guards) {
      if (!has(set.member_guards, guard)) static_cast<void>(set.baton->add(*guard));  // cannot fail
    }
    set.member_guards.swap(set.new_guards);
  }
}

/// Waits in the underlying RMW for the entities in `asked`. Sets `any` if an entity is ready.
rmw_ret_t ask_underlying(WaitSet& set, const rmw_time_t* timeout, bool* any) {
  rmw_subscriptions_t subscriptions{set.subscriptions.asked.size(), set.subscriptions.asked.data()};
  rmw_guard_conditions_t guards{set.guards.asked.size(), set.guards.asked.data()};
  rmw_services_t services{set.services.asked.size(), set.services.asked.data()};
  rmw_clients_t clients{set.clients.asked.size(), set.clients.asked.data()};
  rmw_events_t events{set.events.asked.size(), set.events.asked.data()};
  const rmw_ret_t result =
      underlying()->rmw_wait(&subscriptions, &guards, &services, &clients, &events, set.inner, timeout);
  if (result != RMW_RET_OK) return result;
  const auto stays_ready = [any](auto& entity) {
    entity.signal.set();  // until it is taken
    *any = true;
  };
  set.subscriptions.each_answer<Subscription>(stays_ready);
  set.guards.each_answer<Guard>([](Guard&) {});
  set.services.each_answer<Service>(stays_ready);
  set.clients.each_answer<Client>(stays_ready);
  set.events.each_answer<rmw_event_t>([&](rmw_event_t& event) { stays_ready(event_of(event)); });
  return RMW_RET_OK;
}

/// Waits in the underlying RMW alone.
rmw_ret_t wait_underlying(WaitSet& set, const rmw_time_t* timeout) {
  set.subscriptions.each<Subscription>(
      [&](auto& entity, std::size_t i) { set.subscriptions.ask(entity.inner->data, i); });
  set.guards.each<Guard>([&](auto& entity, std::size_t i) { set.guards.ask(entity.inner->data, i); });
  set.services.each<Service>([&](auto& entity, std::size_t i) { set.services.ask(entity.inner->data, i); });
  set.clients.each<Client>([&](auto& entity, std::size_t i) { set.clients.ask(entity.inner->data, i); });
  set.events.each<rmw_event_t>([&](auto& event, std::size_t i) { set.events.ask(&event_of(event).inner, i); });
  bool any = false;
  return ask_underlying(set, timeout, &any);
}

/// Whether the underlying RMW must be asked for an entity.
[[gnu::hot]] bool must_ask(ReadySignal& signal) {
  if (!signal.clear()) return false;
  if (signal.notified()) return true;
  signal.set();
  return false;
}

/// Checks all entities once. `any`: an entity is ready; `look_again_ns` is lowered to the time when that may change by
/// itself.
[[gnu::hot]] rmw_ret_t look(WaitSet& set, bool* any, std::int64_t now_ns, std::int64_t* look_again_ns) {
  bool asks = false;
  const auto ask = [&](Entities& entities, void* inner, std::size_t i) {
    entities.ask(inner, i);
    asks = true;
  };
  set.subscriptions.each<Subscription>([&](Subscription& subscription, std::size_t i) {
    if (subscription.path) {
      const SubscriptionPath::Ready ready = subscription.path->ready(now_ns, look_again_ns);
      if (ready == SubscriptionPath::Ready::kYes && subscription.signal.notified())
        set.subscriptions.ready[i] = *any = true;
      if (ready != SubscriptionPath::Ready::kAskUnderlying) return;
    }
    if (must_ask(subscription.signal)) ask(set.subscriptions, subscription.inner->data, i);
  });
  const auto look_at = [&](Entities& entities) {
    return [&, &entities = entities](auto& entity, std::size_t i) {
      if (entity.path && entity.path->inbox()->ready() && entity.signal.notified()) entities.ready[i] = *any = true;
      if (must_ask(entity.signal)) ask(entities, entity.inner->data, i);
    };
  };
  set.services.each<Service>(look_at(set.services));
  set.clients.each<Client>(look_at(set.clients));
  set.events.each<rmw_event_t>([&](rmw_event_t& handle, std::size_t i) {
    Event& event = event_of(handle);
    if (!event.watched)
      ask(set.events, &event.inner, i);
    else if (event.signal.count() != 0 && event.signal.notified())
      set.events.ready[i] = *any = true;
  });
  if (!asks) return RMW_RET_OK;
  const rmw_time_t at_once{0, 0};
  const rmw_ret_t result = ask_underlying(set, &at_once, any);
  return result == RMW_RET_TIMEOUT ? RMW_RET_OK : result;
}

[[gnu::hot]] rmw_ret_t wait_baton(WaitSet& set, const rmw_time_t* timeout) {
  join(set);
  const std::int64_t begin_ns = os::monotonic_ns();
  const std::chrono::nanoseconds wanted = timeout != nullptr ? duration_of(*timeout) : kInfinite;
  const std::int64_t end_ns =
      wanted == kInfinite || wanted.count() > INT64_MAX - begin_ns ? INT64_MAX : begin_ns + wanted.count();
  for (std::int64_t now_ns = begin_ns;; now_ns = os::monotonic_ns()) {
    bool any = false;
    std::int64_t look_again_ns = INT64_MAX;
    for (Entities* entities : {&set.subscriptions, &set.services, &set.clients, &set.events})
      entities->begin(entities->entries, entities->count);
    if (const rmw_ret_t result = look(set, &any, now_ns, &look_again_ns); result != RMW_RET_OK) return result;
    bool triggered = false;
    set.guards.each<Guard>([&](Guard& guard, std::size_t) { triggered = triggered || guard.baton->is_triggered(); });
    if (any || triggered || now_ns >= end_ns) {
      // Another wait set may have taken the trigger first.
      set.guards.each<Guard>([&](Guard& guard, std::size_t i) {
        if (guard.baton->exchange_triggered()) set.guards.ready[i] = any = true;
      });
      return any ? RMW_RET_OK : RMW_RET_TIMEOUT;
    }
    const std::int64_t until_ns = std::min(end_ns, look_again_ns);
    if (look_again_ns != INT64_MAX) {
      // A subscription delays a message, so the wait set would not sleep. Rare and short (path_order.hpp).
      std::this_thread::sleep_for(std::min(std::chrono::nanoseconds(until_ns - now_ns), kKeptBackPause));
      continue;
    }
    const Result<bool> woken =
        set.baton->wait(until_ns == INT64_MAX ? kInfinite : std::chrono::nanoseconds(until_ns - now_ns));
    if (!woken) {
      RMW_SET_ERROR_MSG(woken.error().message.c_str());
      return RMW_RET_ERROR;
    }
  }
}

}  // namespace

extern "C" {

rmw_guard_condition_t* rmw_create_guard_condition(rmw_context_t* context) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  Context* own_context = ours(context);
  if (own_context == nullptr) return rmw->rmw_create_guard_condition(context);
  rmw_guard_condition_t* made = rmw->rmw_create_guard_condition(&own_context->inner);
  if (made == nullptr) return nullptr;
  Undo undo([&] { ignore(rmw->rmw_destroy_guard_condition(made)); });
  auto guard = std::make_unique<Guard>();
  guard->inner = made;
  guard->outer.implementation_identifier = kIdentifier;
  guard->outer.data = guard.get();
  guard->outer.context = context;
  if (own_context->baton_context) guard->baton = std::make_shared<baton::transport::GuardCondition>();
  undo.all_is_done();
  return &guard.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_guard_condition(rmw_guard_condition_t* guard_condition) try {
  const Guard* guard = ours(guard_condition);
  const rmw_ret_t result = forward(&Underlying::rmw_destroy_guard_condition, guard_condition);
  if (result == RMW_RET_OK) delete guard;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_trigger_guard_condition(const rmw_guard_condition_t* guard_condition) try {
  const Guard* guard = ours(guard_condition);
  if (guard == nullptr || !guard->baton) return forward(&Underlying::rmw_trigger_guard_condition, guard_condition);
  guard->baton->trigger();
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_wait_set_t* rmw_create_wait_set(rmw_context_t* context, size_t max_conditions) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  Context* own_context = ours(context);
  if (own_context == nullptr) return rmw->rmw_create_wait_set(context, max_conditions);
  rmw_wait_set_t* made = rmw->rmw_create_wait_set(&own_context->inner, max_conditions);
  if (made == nullptr) return nullptr;
  Undo undo([&] { ignore(rmw->rmw_destroy_wait_set(made)); });
  auto wait_set = std::make_unique<WaitSet>();
  wait_set->inner = made;
  wait_set->outer.implementation_identifier = kIdentifier;
  wait_set->outer.guard_conditions = made->guard_conditions;
  wait_set->outer.data = wait_set.get();
  if (own_context->baton_context) wait_set->baton = std::make_shared<baton::transport::WaitSet>();
  undo.all_is_done();
  return &wait_set.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_wait_set(rmw_wait_set_t* wait_set) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (wait_set == nullptr || !is_ours(wait_set->implementation_identifier)) return rmw->rmw_destroy_wait_set(wait_set);
  auto* own_set = static_cast<WaitSet*>(wait_set->data);
  const rmw_ret_t result = rmw->rmw_destroy_wait_set(own_set->inner);
  if (result == RMW_RET_OK) delete own_set;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

[[gnu::hot]] rmw_ret_t rmw_wait(rmw_subscriptions_t* subscriptions, rmw_guard_conditions_t* guard_conditions,
                                rmw_services_t* services, rmw_clients_t* clients, rmw_events_t* events,
                                rmw_wait_set_t* wait_set, const rmw_time_t* wait_timeout) try {
  if (wait_set == nullptr || !is_ours(wait_set->implementation_identifier)) {
    return forward(&Underlying::rmw_wait, subscriptions, guard_conditions, services, clients, events, wait_set,
                   wait_timeout);
  }
  auto& set = *static_cast<WaitSet*>(wait_set->data);
  set.subscriptions.begin(subscriptions != nullptr ? subscriptions->subscribers : nullptr,
                          subscriptions != nullptr ? subscriptions->subscriber_count : 0);
  set.guards.begin(guard_conditions != nullptr ? guard_conditions->guard_conditions : nullptr,
                   guard_conditions != nullptr ? guard_conditions->guard_condition_count : 0);
  set.services.begin(services != nullptr ? services->services : nullptr,
                     services != nullptr ? services->service_count : 0);
  set.clients.begin(clients != nullptr ? clients->clients : nullptr, clients != nullptr ? clients->client_count : 0);
  set.events.begin(events != nullptr ? events->events : nullptr, events != nullptr ? events->event_count : 0);
  const rmw_ret_t result = set.baton ? wait_baton(set, wait_timeout) : wait_underlying(set, wait_timeout);
  if (set.baton && result != RMW_RET_OK && result != RMW_RET_TIMEOUT) return result;
  for (Entities* entities : {&set.subscriptions, &set.guards, &set.services, &set.clients, &set.events})
    entities->answer();
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
