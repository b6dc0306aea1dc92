// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: subscriptions: life, quality of service, content filters.
// Thread rules: those of rmw/rmw.h; nothing here adds a lock.
#include <new>

#include "handles.hpp"

using namespace baton::
    rmw;  // NOLINT(google-build-using-namespace): the file holds rmw.h's functions, in the global namespace

extern "C" {

rmw_subscription_t* rmw_create_subscription(const rmw_node_t* node, const rosidl_message_type_support_t* type_support,
                                            const char* topic_name, const rmw_qos_profile_t* qos_policies,
                                            const rmw_subscription_options_t* subscription_options) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  rmw_subscription_t* made =
      rmw->rmw_create_subscription(inner(node), type_support, topic_name, qos_policies, subscription_options);
  if (made == nullptr || ours(node) == nullptr) return made;
  auto* subscription = new (std::nothrow) Subscription;
  if (subscription == nullptr) {
    if (rmw->rmw_destroy_subscription(const_cast<rmw_node_t*>(inner(node)), made) != RMW_RET_OK) rcutils_reset_error();
    RMW_SET_ERROR_MSG("no memory for a subscription");
    return nullptr;
  }
  subscription->inner = made;
  subscription->outer = *made;
  subscription->outer.implementation_identifier = kIdentifier;
  subscription->outer.data = subscription;
  return &subscription->outer;
}

rmw_ret_t rmw_destroy_subscription(rmw_node_t* node, rmw_subscription_t* subscription) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  const Subscription* own_subscription = ours(subscription);
  const rmw_ret_t result = rmw->rmw_destroy_subscription(inner(node), inner(subscription));
  if (result != RMW_RET_INVALID_ARGUMENT && result != RMW_RET_INCORRECT_RMW_IMPLEMENTATION) delete own_subscription;
  return result;
}

rmw_ret_t rmw_subscription_count_matched_publishers(const rmw_subscription_t* subscription, size_t* publisher_count) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_subscription_count_matched_publishers(inner(subscription), publisher_count);
}

rmw_ret_t rmw_subscription_get_actual_qos(const rmw_subscription_t* subscription, rmw_qos_profile_t* qos) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_subscription_get_actual_qos(inner(subscription), qos);
}

rmw_ret_t rmw_subscription_set_content_filter(rmw_subscription_t* subscription,
                                              const rmw_subscription_content_filter_options_t* options) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_subscription_set_content_filter(inner(subscription), options);
}

rmw_ret_t rmw_subscription_get_content_filter(const rmw_subscription_t* subscription, rcutils_allocator_t* allocator,
                                              rmw_subscription_content_filter_options_t* options) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_subscription_get_content_filter(inner(subscription), allocator, options);
}

rmw_ret_t rmw_subscription_set_on_new_message_callback(rmw_subscription_t* subscription, rmw_event_callback_t callback,
                                                       const void* user_data) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_subscription_set_on_new_message_callback(inner(subscription), callback, user_data);
}

rmw_ret_t rmw_subscription_get_network_flow_endpoints(const rmw_subscription_t* subscription,
                                                      rcutils_allocator_t* allocator,
                                                      rmw_network_flow_endpoint_array_t* network_flow_endpoint_array) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  return rmw->rmw_subscription_get_network_flow_endpoints(inner(subscription), allocator, network_flow_endpoint_array);
}

}  // extern "C"
