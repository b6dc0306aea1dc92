// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: guard conditions and wait sets. Wait sets hold the `data` pointers of handles (rcl puts them
// there), so every array is translated before the underlying RMW sees it and its answer (null: not ready) is carried back.
//
// In a context with a baton_context a wait set sleeps in Baton: on the queues of the served subscriptions, on guard conditions, and on
// what the underlying RMW's callbacks ring (ready_signal.hpp). The underlying RMW is asked, without waiting, only for entities that rang.
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

/// Entities of one kind: what the underlying RMW gets, and of which entry of the application's array.
struct Asked {
  std::vector<void*> below;
  std::vector<std::size_t> entry;
  std::vector<bool> ready;  // of every entry

  void begin(std::size_t count) {
    below.clear();
    entry.clear();
    ready.assign(count, false);
  }
  void ask(void* inner, std::size_t i) {
    below.push_back(inner);
    entry.push_back(i);
  }
};

struct WaitSet {
  rmw_wait_set_t outer{};
  rmw_wait_set_t* inner = nullptr;
  // Kept between waits: a steady state without allocation.
  std::vector<void*> subscriptions, guards, services, clients, events;

  std::shared_ptr<transport::WaitSet> here;  // with a baton_context; the rest is of use only then
  Asked asked_subscriptions, asked_services, asked_clients, asked_events;
  // Who woke `here` in the last wait.
  std::vector<std::uint64_t> member_ids, new_ids;
  std::vector<std::weak_ptr<SubscriptionPath>> members;
  std::vector<std::shared_ptr<transport::GuardCondition>> member_guards, new_guards;
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

/// What rmw_wait() was given.
struct Waited {
  rmw_subscriptions_t* subscriptions;
  rmw_guard_conditions_t* guards;
  rmw_services_t* services;
  rmw_clients_t* clients;
  rmw_events_t* events;
};

Event& event_of(void* entry) { return *static_cast<Event*>(static_cast<rmw_event_t*>(entry)->data); }

/// Calls act(entry of the array, its index) for the entries that are there.
template <class Do>
void each(void** entries, std::size_t count, Do&& act) {
  for (std::size_t i = 0; i < count; ++i) {
    if (entries[i] != nullptr) act(entries[i], i);
  }
}
template <class Do>
void each_subscription(const Waited& waited, Do&& act) {
  if (waited.subscriptions == nullptr) return;
  each(waited.subscriptions->subscribers, waited.subscriptions->subscriber_count,
       [&](void* entry, std::size_t i) { act(*static_cast<Subscription*>(entry), i); });
}
template <class Do>
void each_guard(const Waited& waited, Do&& act) {
  if (waited.guards == nullptr) return;
  each(waited.guards->guard_conditions, waited.guards->guard_condition_count,
       [&](void* entry, std::size_t i) { act(*static_cast<Guard*>(entry), i); });
}
template <class Do>
void each_service(const Waited& waited, Do&& act) {
  if (waited.services == nullptr) return;
  each(waited.services->services, waited.services->service_count,
       [&](void* entry, std::size_t i) { act(*static_cast<Service*>(entry), i); });
}
template <class Do>
void each_client(const Waited& waited, Do&& act) {
  if (waited.clients == nullptr) return;
  each(waited.clients->clients, waited.clients->client_count,
       [&](void* entry, std::size_t i) { act(*static_cast<Client*>(entry), i); });
}
template <class Do>
void each_event(const Waited& waited, Do&& act) {
  if (waited.events == nullptr) return;
  each(waited.events->events, waited.events->event_count, [&](void* entry, std::size_t i) { act(event_of(entry), i); });
}

/// From now on exactly what is waited for wakes the wait set.
[[gnu::hot]] void gather(WaitSet& set, const Waited& waited) {
  set.new_ids.clear();
  set.new_guards.clear();
  each_subscription(waited, [&](Subscription& subscription, std::size_t) {
    subscription.signal.ring_to(set.here);
    if (!subscription.path) return;
    set.new_ids.push_back(subscription.path->id());
    subscription.path->wait_in(set.here);
  });
  each_service(waited, [&](Service& service, std::size_t) { service.signal.ring_to(set.here); });
  each_client(waited, [&](Client& client, std::size_t) { client.signal.ring_to(set.here); });
  each_event(waited, [&](Event& event, std::size_t) { event.signal.ring_to(set.here); });
  each_guard(waited, [&](Guard& guard, std::size_t) { set.new_guards.push_back(guard.here); });
  if (set.new_ids != set.member_ids) {
    for (const std::weak_ptr<SubscriptionPath>& member : set.members) {
      const std::shared_ptr<SubscriptionPath> path = member.lock();
      if (path && std::find(set.new_ids.begin(), set.new_ids.end(), path->id()) == set.new_ids.end())
        path->leave(set.here);
    }
    set.members.clear();
    each_subscription(waited, [&](Subscription& subscription, std::size_t) {
      if (subscription.path) set.members.push_back(subscription.path);
    });
    set.member_ids.swap(set.new_ids);
  }
  if (set.new_guards != set.member_guards) {
    for (const auto& guard : set.member_guards) {
      if (std::find(set.new_guards.begin(), set.new_guards.end(), guard) == set.new_guards.end())
        set.here->remove(*guard);
    }
    for (const auto& guard : set.new_guards) {
      if (std::find(set.member_guards.begin(), set.member_guards.end(), guard) == set.member_guards.end()) {
        static_cast<void>(set.here->add(*guard));  // cannot fail
      }
    }
    set.member_guards.swap(set.new_guards);
  }
}

/// Who of those that rang has something, says the underlying RMW.
rmw_ret_t ask_below(WaitSet& set, const Waited& waited, bool* any) {
  const auto asks = [](const Asked& asked) { return !asked.below.empty(); };
  if (!asks(set.asked_subscriptions) && !asks(set.asked_services) && !asks(set.asked_clients) &&
      !asks(set.asked_events)) {
    return RMW_RET_OK;
  }
  rmw_subscriptions_t subscriptions{set.asked_subscriptions.below.size(), set.asked_subscriptions.below.data()};
  rmw_guard_conditions_t guards{0, nullptr};
  rmw_services_t services{set.asked_services.below.size(), set.asked_services.below.data()};
  rmw_clients_t clients{set.asked_clients.below.size(), set.asked_clients.below.data()};
  rmw_events_t events{set.asked_events.below.size(), set.asked_events.below.data()};
  const rmw_time_t now{0, 0};
  const rmw_ret_t result =
      underlying()->rmw_wait(&subscriptions, &guards, &services, &clients, &events, set.inner, &now);
  if (result == RMW_RET_TIMEOUT) return RMW_RET_OK;
  if (result != RMW_RET_OK) return result;
  const auto note = [&](Asked& asked, auto&& signal_of) {
    for (std::size_t i = 0; i < asked.below.size(); ++i) {
      if (asked.below[i] == nullptr) continue;
      asked.ready[asked.entry[i]] = *any = true;
      signal_of(asked.entry[i]).set();  // until it is taken
    }
  };
  note(set.asked_subscriptions, [&](std::size_t i) -> ReadySignal& {
    return static_cast<Subscription*>(waited.subscriptions->subscribers[i])->signal;
  });
  note(set.asked_services,
       [&](std::size_t i) -> ReadySignal& { return static_cast<Service*>(waited.services->services[i])->signal; });
  note(set.asked_clients,
       [&](std::size_t i) -> ReadySignal& { return static_cast<Client*>(waited.clients->clients[i])->signal; });
  note(set.asked_events, [&](std::size_t i) -> ReadySignal& { return event_of(waited.events->events[i]).signal; });
  return RMW_RET_OK;
}

/// Whether it must be asked below.
[[gnu::hot]] bool came_for(ReadySignal& signal) {
  if (!signal.clear()) return false;
  if (signal.told()) return true;
  signal.set();
  return false;
}

/// One look at everything. `any`: something is ready; `look_again_ns` is lowered to when something may become so by itself.
[[gnu::hot]] rmw_ret_t look(WaitSet& set, const Waited& waited, bool* any, std::int64_t now_ns,
                            std::int64_t* look_again_ns) {
  set.asked_subscriptions.begin(waited.subscriptions != nullptr ? waited.subscriptions->subscriber_count : 0);
  set.asked_services.begin(waited.services != nullptr ? waited.services->service_count : 0);
  set.asked_clients.begin(waited.clients != nullptr ? waited.clients->client_count : 0);
  set.asked_events.begin(waited.events != nullptr ? waited.events->event_count : 0);
  each_subscription(waited, [&](Subscription& subscription, std::size_t i) {
    if (subscription.path) {
      const SubscriptionPath::Ready ready = subscription.path->ready(now_ns, look_again_ns);
      if (ready == SubscriptionPath::Ready::kYes && subscription.signal.told())
        set.asked_subscriptions.ready[i] = *any = true;
      if (ready != SubscriptionPath::Ready::kAskUnderlying) return;
    }
    if (came_for(subscription.signal)) set.asked_subscriptions.ask(subscription.inner->data, i);
  });
  each_service(waited, [&](Service& service, std::size_t i) {
    if (came_for(service.signal)) set.asked_services.ask(service.inner->data, i);
  });
  each_client(waited, [&](Client& client, std::size_t i) {
    if (came_for(client.signal)) set.asked_clients.ask(client.inner->data, i);
  });
  each_event(waited, [&](Event& event, std::size_t i) {
    if (event.watched) {
      if (event.signal.rang() != 0 && event.signal.told()) set.asked_events.ready[i] = *any = true;
    } else {
      set.asked_events.ask(&event.inner, i);
    }
  });
  return ask_below(set, waited, any);
}

/// Leaves in the application's arrays what is ready. True if a guard was triggered.
[[gnu::hot]] bool answer(WaitSet& set, const Waited& waited) {
  const auto keep = [](const Asked& asked, void** entries) {
    for (std::size_t i = 0; i < asked.ready.size(); ++i) {
      if (!asked.ready[i]) entries[i] = nullptr;
    }
  };
  if (waited.subscriptions != nullptr) keep(set.asked_subscriptions, waited.subscriptions->subscribers);
  if (waited.services != nullptr) keep(set.asked_services, waited.services->services);
  if (waited.clients != nullptr) keep(set.asked_clients, waited.clients->clients);
  if (waited.events != nullptr) keep(set.asked_events, waited.events->events);
  bool triggered = false;
  each_guard(waited, [&](Guard& guard, std::size_t i) {
    if (guard.here->exchange_triggered()) {
      triggered = true;
    } else {
      waited.guards->guard_conditions[i] = nullptr;
    }
  });
  return triggered;
}

[[gnu::hot]] rmw_ret_t wait_here(WaitSet& set, const Waited& waited, const rmw_time_t* timeout) {
  gather(set, waited);
  const std::int64_t begin_ns = os::monotonic_ns();
  const std::chrono::nanoseconds wanted = timeout != nullptr ? duration_of(*timeout) : kInfinite;
  const std::int64_t end_ns =
      wanted == kInfinite || wanted.count() > INT64_MAX - begin_ns ? INT64_MAX : begin_ns + wanted.count();
  for (std::int64_t now_ns = begin_ns;; now_ns = os::monotonic_ns()) {
    bool any = false;
    std::int64_t look_again_ns = INT64_MAX;
    if (const rmw_ret_t result = look(set, waited, &any, now_ns, &look_again_ns); result != RMW_RET_OK) return result;
    bool triggered = false;
    each_guard(waited, [&](Guard& guard, std::size_t) { triggered = triggered || guard.here->is_triggered(); });
    if (any || triggered || now_ns >= end_ns) {
      triggered = answer(set, waited);
      return any || triggered ? RMW_RET_OK : RMW_RET_TIMEOUT;
    }
    const std::int64_t until_ns = std::min(end_ns, look_again_ns);
    if (look_again_ns != INT64_MAX) {
      // A subscription keeps back what it has, so the wait set would not sleep. Rare and short (path_order.hpp).
      std::this_thread::sleep_for(std::min(std::chrono::nanoseconds(until_ns - now_ns), kKeptBackPause));
      continue;
    }
    const Result<bool> woken =
        set.here->wait(until_ns == INT64_MAX ? kInfinite : std::chrono::nanoseconds(until_ns - now_ns));
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
  if (own_context->baton_context) guard->here = std::make_shared<baton::transport::GuardCondition>();
  undo.all_is_done();
  return &guard.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_guard_condition(rmw_guard_condition_t* guard_condition) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  const Guard* guard = ours(guard_condition);
  const rmw_ret_t result = rmw->rmw_destroy_guard_condition(inner(guard_condition));
  if (result == RMW_RET_OK) delete guard;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_trigger_guard_condition(const rmw_guard_condition_t* guard_condition) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  const Guard* guard = ours(guard_condition);
  if (guard == nullptr || !guard->here) return rmw->rmw_trigger_guard_condition(inner(guard_condition));
  guard->here->trigger();
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
  if (own_context->baton_context) wait_set->here = std::make_shared<baton::transport::WaitSet>();
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
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  if (wait_set == nullptr || !is_ours(wait_set->implementation_identifier)) {
    return rmw->rmw_wait(subscriptions, guard_conditions, services, clients, events, wait_set, wait_timeout);
  }
  auto& own_set = *static_cast<WaitSet*>(wait_set->data);
  if (own_set.here) {
    return wait_here(own_set, {subscriptions, guard_conditions, services, clients, events}, wait_timeout);
  }
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
              [](void* event) -> void* { return &event_of(event).inner; });
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
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
