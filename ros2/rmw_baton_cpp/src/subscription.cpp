// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: subscriptions.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <memory>

#include "handles.hpp"
#include "peer_faults.hpp"
#include "qos.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/get_network_flow_endpoints.h"
#include "topic_name.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_subscription_t* rmw_create_subscription(const rmw_node_t* node, const rosidl_message_type_support_t* type_support,
                                            const char* topic_name, const rmw_qos_profile_t* qos_policies,
                                            const rmw_subscription_options_t* subscription_options) try {
  if (checked(node, type_support, topic_name, qos_policies, subscription_options) != RMW_RET_OK) return nullptr;
  if (!is_valid_topic(topic_name, *qos_policies)) return nullptr;
  if (subscription_options->require_unique_network_flow_endpoints ==
      RMW_UNIQUE_NETWORK_FLOW_ENDPOINTS_STRICTLY_REQUIRED)
    return static_cast<void>(unsupported(kNoNetworkFlows)), nullptr;
  if (const auto* filter = subscription_options->content_filter_options;
      filter != nullptr && filter->filter_expression != nullptr && *filter->filter_expression != '\0')
    RCUTILS_LOG_WARN_NAMED(kLogger, "the subscription of %s gets all messages: rmw_baton_cpp has no content filters",
                           topic_name);
  Context& context = context_of(node);
  const Result<QoS> qos = actual_qos(*qos_policies, context.participant(), topic_name, false);
  if (!qos) return static_cast<void>(failed(qos.error())), nullptr;
  Result<std::shared_ptr<SubscriptionPath>> path = SubscriptionPath::make(
      context, full_name(*node), topic_name, type_support, *qos, subscription_options->ignore_local_publications);
  if (!path) return static_cast<void>(failed(path.error())), nullptr;
  auto subscription = std::make_unique<Subscription>();
  begin_handle(*subscription);
  subscription->path = std::move(*path);
  subscription->topic = topic_name;
  subscription->outer.topic_name = subscription->topic.c_str();
  subscription->outer.options = *subscription_options;
  subscription->outer.can_loan_messages = subscription->path->lends();
  subscription->outer.is_cft_enabled = false;
  return &subscription.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_subscription(rmw_node_t* node, rmw_subscription_t* subscription) try {
  if (const rmw_ret_t bad = checked(node, subscription); bad != RMW_RET_OK) return bad;
  own(subscription)->path->stop();
  delete own(subscription);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_count_matched_publishers(const rmw_subscription_t* subscription,
                                                    size_t* publisher_count) try {
  if (const rmw_ret_t bad = checked(subscription, publisher_count); bad != RMW_RET_OK) return bad;
  *publisher_count = own(subscription)->path->matched();
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_get_actual_qos(const rmw_subscription_t* subscription, rmw_qos_profile_t* qos) {
  if (const rmw_ret_t bad = checked(subscription, qos); bad != RMW_RET_OK) return bad;
  *qos = profile_of(own(subscription)->path->qos());
  return RMW_RET_OK;
}

rmw_ret_t rmw_subscription_set_content_filter(rmw_subscription_t*, const rmw_subscription_content_filter_options_t*) {
  return unsupported("rmw_baton_cpp has no content filters");
}

rmw_ret_t rmw_subscription_get_content_filter(const rmw_subscription_t*, rcutils_allocator_t*,
                                              rmw_subscription_content_filter_options_t*) {
  return unsupported("rmw_baton_cpp has no content filters");
}

rmw_ret_t rmw_subscription_set_on_new_message_callback(rmw_subscription_t* subscription, rmw_event_callback_t callback,
                                                       const void* user_data) try {
  if (const rmw_ret_t bad = checked(subscription); bad != RMW_RET_OK) return bad;
  own(subscription)->path->set_callback(callback, user_data);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_subscription_get_network_flow_endpoints(const rmw_subscription_t*, rcutils_allocator_t*,
                                                      rmw_network_flow_endpoint_array_t*) {
  return unsupported(kNoNetworkFlows);
}

}  // extern "C"
