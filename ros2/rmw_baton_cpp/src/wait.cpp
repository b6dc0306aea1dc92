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
#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"
#include "endpoints.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

constexpr std::chrono::nanoseconds kKeptBackPause = std::chrono::milliseconds(1);

/// Entities for which the underlying RMW is asked. Kept between waits: a steady state without allocation.
struct Asked {
  std::vector<void*> entities;      // null afterwards: not ready
  std::vector<std::size_t> places;  // of the entities in their array
};

/// One of the arrays that rmw_wait() was given.
struct Entities {
  void** entries = nullptr;
  std::size_t count = 0;
  bool* ready = nullptr;  // of each entry
  const std::unique_ptr<Asked> asked = std::make_unique<Asked>();

  void ask(void* inner, std::size_t i) {
    asked->entities.push_back(inner);
    asked->places.push_back(i);
  }
  void ask_none() {
    asked->entities.clear();
    asked->places.clear();
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
    for (std::size_t i = 0; i < asked->entities.size(); ++i) {
      if (asked->entities[i] == nullptr) continue;
      ready[asked->places[i]] = true;
      act(*static_cast<Entity*>(entries[asked->places[i]]));
    }
  }
};

struct WaitSet {
  rmw_wait_set_t outer{};
  rmw_wait_set_t* inner = nullptr;
  std::shared_ptr<transport::WaitSet> baton;  // null: without Baton

  std::array<Entities, 5> all;
  std::unique_ptr<bool[]> ready;  // of the entries of all arrays
  std::size_t ready_room = 0;

  // With Baton: the sources that may wake `baton` since the last wait.
  std::vector<std::uint64_t> member_ids, new_ids;
  std::vector<std::weak_ptr<WaitSetMember>> members;
  std::vector<std::shared_ptr<transport::GuardCondition>> member_guards, new_guards;

  Entities& subscriptions() noexcept { return all[0]; }
  Entities& guards() noexcept { return all[1]; }
  Entities& services() noexcept { return all[2]; }
  Entities& clients() noexcept { return all[3]; }
  Entities& events() noexcept { return all[4]; }

  static void begin(Entities& entities, void** entries, std::size_t count) {
    entities.entries = entries;
    entities.count = entries != nullptr ? count : 0;
    entities.ask_none();
  }
  /// After begin() of all arrays: no entry is ready.
  void begin_answers() {
    std::size_t count = 0;
    for (const Entities& entities : all) count += entities.count;
    if (count > ready_room) {
      ready = std::make_unique<bool[]>(count);
      ready_room = count;
    }
    std::fill_n(ready.get(), count, false);
    bool* next = ready.get();
    for (Entities& entities : all) {
      entities.ready = next;
      next += entities.count;
    }
  }
  /// Leaves only the ready entries in the application's arrays.
  void answer() {
    for (Entities& entities : all) {
      for (std::size_t i = 0; i < entities.count; ++i) {
        if (!entities.ready[i]) entities.entries[i] = nullptr;
      }
    }
  }
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
BATON_HOT_SELDOM void join(WaitSet& set) {
  set.new_ids.clear();
  set.new_guards.clear();
  const auto wakes = [&](auto& entity, std::size_t) {
    entity.signal.set_wait_set(set.baton);
    each_member(entity, [&](const auto& member) {
      set.new_ids.push_back(member->id());
      member->wait_in(set.baton);
    });
  };
  set.subscriptions().each<Subscription>(wakes);
  set.services().each<Service>(wakes);
  set.clients().each<Client>(wakes);
  set.events().each<rmw_event_t>(
      [&](rmw_event_t& event, std::size_t) { event_of(event).signal.set_wait_set(set.baton); });
  set.guards().each<Guard>([&](Guard& guard, std::size_t) { set.new_guards.push_back(guard.baton); });
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
    set.subscriptions().each<Subscription>(belongs);
    set.services().each<Service>(belongs);
    set.clients().each<Client>(belongs);
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
  const auto asked = [](auto array, const Entities& entities) {
    array = {entities.asked->entities.size(), entities.asked->entities.data()};
    return array;
  };
  rmw_subscriptions_t subscriptions = asked(rmw_subscriptions_t{}, set.subscriptions());
  rmw_guard_conditions_t guards = asked(rmw_guard_conditions_t{}, set.guards());
  rmw_services_t services = asked(rmw_services_t{}, set.services());
  rmw_clients_t clients = asked(rmw_clients_t{}, set.clients());
  rmw_events_t events = asked(rmw_events_t{}, set.events());
  const rmw_ret_t result =
      underlying()->rmw_wait(&subscriptions, &guards, &services, &clients, &events, set.inner, timeout);
  if (result != RMW_RET_OK) return result;
  const auto stays_ready = [any](auto& entity) {
    entity.signal.set();  // until it is taken
    *any = true;
  };
  set.subscriptions().each_answer<Subscription>(stays_ready);
  set.guards().each_answer<Guard>([](Guard&) {});
  set.services().each_answer<Service>(stays_ready);
  set.clients().each_answer<Client>(stays_ready);
  set.events().each_answer<rmw_event_t>([&](rmw_event_t& event) { stays_ready(event_of(event)); });
  return RMW_RET_OK;
}

/// Waits in the underlying RMW alone.
rmw_ret_t wait_underlying(WaitSet& set, const rmw_time_t* timeout) {
  set.subscriptions().each<Subscription>(
      [&](auto& entity, std::size_t i) { set.subscriptions().ask(entity.inner->data, i); });
  set.guards().each<Guard>([&](auto& entity, std::size_t i) { set.guards().ask(entity.inner->data, i); });
  set.services().each<Service>([&](auto& entity, std::size_t i) { set.services().ask(entity.inner->data, i); });
  set.clients().each<Client>([&](auto& entity, std::size_t i) { set.clients().ask(entity.inner->data, i); });
  set.events().each<rmw_event_t>([&](auto& event, std::size_t i) { set.events().ask(&event_of(event).inner, i); });
  bool any = false;
  return ask_underlying(set, timeout, &any);
}

/// Whether the underlying RMW must be asked for an entity.
BATON_HOT bool must_ask(ReadySignal& signal) {
  if (!signal.clear()) return false;
  if (signal.notified()) return true;
  signal.set();
  return false;
}

/// One check of all entities.
struct EntityCheck {
  const std::int64_t now_ns;
  std::int64_t look_again_ns = INT64_MAX;  // when the answer may change by itself
  bool any = false;                        // an entity is ready
  bool asks = false;                       // the underlying RMW must be asked

  void ask(Entities& entities, void* inner, std::size_t i) {
    entities.ask(inner, i);
    asks = true;
  }
  void mark_ready(Entities& entities, std::size_t i) { entities.ready[i] = any = true; }
};

BATON_COLD void look_at_underlying(Subscription& subscription, Entities& subscriptions, std::size_t i,
                                   EntityCheck& check) {
  if (must_ask(subscription.signal)) check.ask(subscriptions, subscription.inner->data, i);
}

/// Apart from subscriptions, which lie on the way of every message.
BATON_HOT_SELDOM void look_at_others(WaitSet& set, EntityCheck& check) {
  const auto look_at = [&](Entities& entities) {
    return [&, &entities = entities](auto& entity, std::size_t i) {
      if (entity.path && entity.path->inbox()->ready() && entity.signal.notified()) check.mark_ready(entities, i);
      if (must_ask(entity.signal)) check.ask(entities, entity.inner->data, i);
    };
  };
  set.services().each<Service>(look_at(set.services()));
  set.clients().each<Client>(look_at(set.clients()));
  set.events().each<rmw_event_t>([&](rmw_event_t& handle, std::size_t i) {
    Event& event = event_of(handle);
    if (!event.watched)
      check.ask(set.events(), &event.inner, i);
    else if (event.signal.count() != 0 && event.signal.notified())
      check.mark_ready(set.events(), i);
  });
}

BATON_COLD rmw_ret_t ask_at_once(WaitSet& set, bool* any) {
  const rmw_time_t at_once{0, 0};
  const rmw_ret_t result = ask_underlying(set, &at_once, any);
  for (Entities& entities : set.all) entities.ask_none();
  return result == RMW_RET_TIMEOUT ? RMW_RET_OK : result;
}

/// Checks all entities once.
BATON_HOT rmw_ret_t look(WaitSet& set, EntityCheck& check) {
  Entities& subscriptions = set.subscriptions();
  subscriptions.each<Subscription>([&](Subscription& subscription, std::size_t i) {
    if (subscription.path) {
      const SubscriptionPath::Ready ready = subscription.path->ready(check.now_ns, &check.look_again_ns);
      if (ready == SubscriptionPath::Ready::kYes && subscription.signal.notified()) check.mark_ready(subscriptions, i);
      if (ready != SubscriptionPath::Ready::kAskUnderlying) return;
    }
    look_at_underlying(subscription, subscriptions, i, check);
  });
  if (set.services().count + set.clients().count + set.events().count != 0) look_at_others(set, check);
  return check.asks ? ask_at_once(set, &check.any) : RMW_RET_OK;
}

/// Sleeps until something happens, or until the time is over.
BATON_HOT rmw_ret_t sleep_once(transport::WaitSet& wait_set, const EntityCheck& check, std::int64_t end_ns) {
  const std::int64_t until_ns = std::min(end_ns, check.look_again_ns);
  const std::chrono::nanoseconds left =
      until_ns == INT64_MAX ? kInfinite : std::chrono::nanoseconds(until_ns - check.now_ns);
  if (check.look_again_ns != INT64_MAX) {
    // A subscription delays a message, so the wait set would not sleep. Rare and short (path_order.hpp).
    baton::out_of_line([&] { std::this_thread::sleep_for(std::min(left, kKeptBackPause)); });
    return RMW_RET_OK;
  }
  const Result<bool> woken = wait_set.wait(left);
  if (woken) return RMW_RET_OK;
  return baton::out_of_line([&] {
    RMW_SET_ERROR_MSG(woken.error().message.c_str());
    return RMW_RET_ERROR;
  });
}

BATON_HOT rmw_ret_t wait_baton(WaitSet& set, const rmw_time_t* timeout) {
  join(set);
  const std::int64_t begin_ns = os::monotonic_ns();
  const std::chrono::nanoseconds wanted = timeout != nullptr ? duration_of(*timeout) : kInfinite;
  const std::int64_t end_ns =
      wanted == kInfinite || wanted.count() > INT64_MAX - begin_ns ? INT64_MAX : begin_ns + wanted.count();
  for (std::int64_t now_ns = begin_ns;; now_ns = os::monotonic_ns()) {
    EntityCheck check{now_ns};
    if (const rmw_ret_t result = look(set, check); result != RMW_RET_OK) return result;
    bool triggered = false;
    set.guards().each<Guard>([&](Guard& guard, std::size_t) { triggered = triggered || guard.baton->is_triggered(); });
    if (check.any || triggered || now_ns >= end_ns) {
      // Another wait set may have taken the trigger first.
      set.guards().each<Guard>([&](Guard& guard, std::size_t i) {
        if (guard.baton->exchange_triggered()) check.mark_ready(set.guards(), i);
      });
      return check.any ? RMW_RET_OK : RMW_RET_TIMEOUT;
    }
    if (const rmw_ret_t result = sleep_once(*set.baton, check, end_ns); result != RMW_RET_OK) return result;
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

BATON_HOT rmw_ret_t rmw_wait(rmw_subscriptions_t* subscriptions, rmw_guard_conditions_t* guard_conditions,
                             rmw_services_t* services, rmw_clients_t* clients, rmw_events_t* events,
                             rmw_wait_set_t* wait_set, const rmw_time_t* wait_timeout) try {
  if (wait_set == nullptr || !is_ours(wait_set->implementation_identifier)) {
    return forward(&Underlying::rmw_wait, subscriptions, guard_conditions, services, clients, events, wait_set,
                   wait_timeout);
  }
  auto& set = *static_cast<WaitSet*>(wait_set->data);
  set.begin(set.subscriptions(), subscriptions != nullptr ? subscriptions->subscribers : nullptr,
            subscriptions != nullptr ? subscriptions->subscriber_count : 0);
  set.begin(set.guards(), guard_conditions != nullptr ? guard_conditions->guard_conditions : nullptr,
            guard_conditions != nullptr ? guard_conditions->guard_condition_count : 0);
  set.begin(set.services(), services != nullptr ? services->services : nullptr,
            services != nullptr ? services->service_count : 0);
  set.begin(set.clients(), clients != nullptr ? clients->clients : nullptr,
            clients != nullptr ? clients->client_count : 0);
  set.begin(set.events(), events != nullptr ? events->events : nullptr, events != nullptr ? events->event_count : 0);
  set.begin_answers();
  const rmw_ret_t result = set.baton ? wait_baton(set, wait_timeout) : wait_underlying(set, wait_timeout);
  if (set.baton && result != RMW_RET_OK && result != RMW_RET_TIMEOUT) return result;
  set.answer();
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
