// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: subscriptions: life, quality of service, content filters.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <algorithm>
#include <cstring>
#include <memory>

#include "endpoints.hpp"
#include "handles.hpp"
#include "rcutils/logging_macros.h"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

/// Learns the common bytes of this context's gids from a publisher, whose gid an RMW function returns. The publisher is
/// destroyed at once. Most contexts know the bytes already: rcl makes a publisher for each node's log.
void learn_context(const Underlying& rmw, const rmw_node_t& node, const rosidl_message_type_support_t* type_support,
                   ContextAnnouncement& announcement) {
  const rmw_publisher_options_t options{};
  rmw_publisher_t* const publisher =
      rmw.rmw_create_publisher(&node, type_support, kAnnouncementTopic, &rmw_qos_profile_default, &options);
  rmw_gid_t gid{};
  if (publisher != nullptr && rmw.rmw_get_gid_for_publisher(publisher, &gid) == RMW_RET_OK) {
    transport::Gid bytes{};
    std::memcpy(bytes.data(), gid.data, bytes.size());
    announcement.set_context(bytes);
  } else {
    rcutils_reset_error();
  }
  if (publisher != nullptr) ignore(rmw.rmw_destroy_publisher(const_cast<rmw_node_t*>(&node), publisher));
}

/// The gid of the subscription of `node` that did not exist `before`. Nodes with the same name in other contexts may get
/// subscriptions at the same time: then the one of this context counts.
std::optional<transport::Gid> new_gid(const Underlying& rmw, const rmw_node_t& node,
                                      const rosidl_message_type_support_t* type_support,
                                      ContextAnnouncement& announcement, const char* topic,
                                      const std::vector<KnownSubscription>& before) {
  std::vector<transport::Gid> found;
  for (const KnownSubscription& known : known_subscriptions(&node, topic)) {
    if (known.node != full_name(node)) continue;
    if (std::any_of(before.begin(), before.end(), [&](const auto& old) { return old.gid == known.gid; })) continue;
    found.push_back(known.gid);
  }
  if (found.size() > 1 && !announcement.knows_context()) learn_context(rmw, node, type_support, announcement);
  if (announcement.knows_context()) {
    found.erase(std::remove_if(found.begin(), found.end(),
                               [&](const transport::Gid& gid) { return !announcement.is_of_this_context(gid); }),
                found.end());
  }
  if (found.size() != 1) return std::nullopt;
  return found.front();
}

void unserve(Subscription& subscription) {
  if (!subscription.path) return;
  subscription.path->stop();
  if (subscription.path->has_lent()) subscription.lender = subscription.path;
  subscription.path.reset();
}

}  // namespace

extern "C" {

rmw_subscription_t* rmw_create_subscription(const rmw_node_t* node, const rosidl_message_type_support_t* type_support,
                                            const char* topic_name, const rmw_qos_profile_t* qos_policies,
                                            const rmw_subscription_options_t* subscription_options) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  const Node* own_node = ours(node);
  const bool may_serve = own_node != nullptr && baton_context_of(*own_node) && topic_name != nullptr;
  // No RMW function returns a subscription's gid: so it is the gid that is new in the graph.
  static std::mutex one_at_a_time;
  std::unique_lock<std::mutex> lock(one_at_a_time, std::defer_lock);
  std::vector<KnownSubscription> before;
  if (may_serve) {
    lock.lock();
    before = known_subscriptions(own_node->inner, topic_name);
  }
  rmw_subscription_t* made =
      rmw->rmw_create_subscription(inner(node), type_support, topic_name, qos_policies, subscription_options);
  if (made == nullptr || own_node == nullptr) return made;
  std::unique_ptr<Subscription> subscription;  // ends after `made`, which uses its signals
  Undo undo([&] {
    if (subscription) unserve(*subscription);
    ignore(rmw->rmw_destroy_subscription(const_cast<rmw_node_t*>(inner(node)), made));
  });
  const std::optional<transport::Gid> gid =
      may_serve ? new_gid(*rmw, *own_node->inner, type_support, baton_context_of(*own_node)->announcement(), topic_name,
                          before)
                : std::nullopt;
  if (may_serve) lock.unlock();
  subscription = in_front_of<Subscription>(made);
  if (!may_serve) {
    undo.all_is_done();
    return &subscription.release()->outer;
  }
  subscription->watched = true;
  const std::shared_ptr<CallbackThread> callback_thread = callback_thread_of(baton_context_of(*own_node));
  subscription->signal.set_callback_thread(callback_thread);
  for (Event& event : subscription->events) event.signal.set_callback_thread(callback_thread);
  rmw_qos_profile_t qos{};
  if (rmw->rmw_subscription_get_actual_qos(made, &qos) == RMW_RET_OK &&
      qos.history == RMW_QOS_POLICY_HISTORY_KEEP_LAST) {
    subscription->depth = std::max<std::size_t>(qos.depth, 1);
  } else {
    subscription->depth = SIZE_MAX;
  }
  if (rmw->rmw_subscription_set_on_new_message_callback(made, ReadySignal::on_ready, &subscription->signal) !=
      RMW_RET_OK) {
    rcutils_reset_error();
    RCUTILS_LOG_WARN_NAMED(kLogger, "%s does not signal when messages come for %s: waiting for them may fail",
                           rmw->identifier, made->topic_name);
  }
  if (gid) {
    subscription->path = SubscriptionPath::make(baton_context_of(*own_node), *gid, own_node->inner, made, type_support,
                                                subscription->signal, subscription->events);
    // The underlying RMW's loans are not in Baton's memory.
    if (subscription->path) subscription->outer.can_loan_messages = subscription->path->lends();
  }
  if (!gid) {
    RCUTILS_LOG_WARN_NAMED(kLogger, "the subscription to %s takes messages from %s alone: its gid is not in the graph",
                           made->topic_name, rmw->identifier);
  }
  undo.all_is_done();
  return &subscription.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_subscription(rmw_node_t* node, rmw_subscription_t* subscription) try {
  Subscription* own_subscription = ours(subscription);
  if (own_subscription != nullptr) unserve(*own_subscription);
  const rmw_ret_t result = forward(&Underlying::rmw_destroy_subscription, node, subscription);
  if (result != RMW_RET_INVALID_ARGUMENT && result != RMW_RET_INCORRECT_RMW_IMPLEMENTATION) delete own_subscription;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_count_matched_publishers(const rmw_subscription_t* subscription,
                                                    size_t* publisher_count) try {
  const rmw_ret_t result =
      forward(&Underlying::rmw_subscription_count_matched_publishers, subscription, publisher_count);
  const auto path = path_of(subscription);
  if (result == RMW_RET_OK && path != nullptr) *publisher_count += path->matched_only_in_baton();
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_get_actual_qos(const rmw_subscription_t* subscription, rmw_qos_profile_t* qos) {
  return forward(&Underlying::rmw_subscription_get_actual_qos, subscription, qos);
}

rmw_ret_t rmw_subscription_set_content_filter(rmw_subscription_t* subscription,
                                              const rmw_subscription_content_filter_options_t* options) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  Subscription* own_subscription = ours(subscription);
  if (own_subscription == nullptr) return rmw->rmw_subscription_set_content_filter(subscription, options);
  // Baton does not filter. The filtered subscription is a new one of the underlying RMW; no publisher has seen its gid
  // served.
  unserve(*own_subscription);
  count_underlying(own_subscription->events[RMW_EVENT_REQUESTED_DEADLINE_MISSED]);
  const rmw_ret_t result = rmw->rmw_subscription_set_content_filter(own_subscription->inner, options);
  own_subscription->outer.is_cft_enabled = own_subscription->inner->is_cft_enabled;
  if (own_subscription->watched) {
    const rmw_ret_t signals = rmw->rmw_subscription_set_on_new_message_callback(
        own_subscription->inner, ReadySignal::on_ready, &own_subscription->signal);
    if (signals != RMW_RET_OK) rcutils_reset_error();
    own_subscription->signal.set();
  }
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_get_content_filter(const rmw_subscription_t* subscription, rcutils_allocator_t* allocator,
                                              rmw_subscription_content_filter_options_t* options) {
  return forward(&Underlying::rmw_subscription_get_content_filter, subscription, allocator, options);
}

rmw_ret_t rmw_subscription_set_on_new_message_callback(rmw_subscription_t* subscription, rmw_event_callback_t callback,
                                                       const void* user_data) try {
  Subscription* own_subscription = ours(subscription);
  if (own_subscription == nullptr || !own_subscription->watched)
    return forward(&Underlying::rmw_subscription_set_on_new_message_callback, subscription, callback, user_data);
  if (own_subscription->path)
    own_subscription->path->set_callback(callback, user_data, own_subscription->depth);
  else
    own_subscription->signal.set_callback(callback, user_data, own_subscription->depth);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_get_network_flow_endpoints(const rmw_subscription_t* subscription,
                                                      rcutils_allocator_t* allocator,
                                                      rmw_network_flow_endpoint_array_t* network_flow_endpoint_array) {
  return forward(&Underlying::rmw_subscription_get_network_flow_endpoints, subscription, allocator,
                 network_flow_endpoint_array);
}

}  // extern "C"
