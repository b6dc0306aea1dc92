// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: publishers.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <cstring>
#include <memory>

#include "baton/os/hot_path.hpp"
#include "handles.hpp"
#include "qos.hpp"
#include "rmw/get_network_flow_endpoints.h"
#include "topic_name.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_publisher_t* rmw_create_publisher(const rmw_node_t* node, const rosidl_message_type_support_t* type_support,
                                      const char* topic_name, const rmw_qos_profile_t* qos_profile,
                                      const rmw_publisher_options_t* publisher_options) try {
  if (checked(node, type_support, topic_name, qos_profile, publisher_options) != RMW_RET_OK) return nullptr;
  if (!is_valid_topic(topic_name, *qos_profile)) return nullptr;
  if (publisher_options->require_unique_network_flow_endpoints == RMW_UNIQUE_NETWORK_FLOW_ENDPOINTS_STRICTLY_REQUIRED)
    return static_cast<void>(unsupported(kNoNetworkFlows)), nullptr;
  Context& context = context_of(node);
  const Result<QoS> qos = actual_qos(*qos_profile, context.participant(), topic_name, true);
  if (!qos) return static_cast<void>(failed(qos.error())), nullptr;
  Result<std::unique_ptr<PublisherPath>> path =
      PublisherPath::make(context, full_name(*node), topic_name, type_support, *qos);
  if (!path) return static_cast<void>(failed(path.error())), nullptr;
  auto publisher = std::make_unique<Publisher>();
  begin_handle(*publisher);
  publisher->path = std::move(*path);
  publisher->topic = topic_name;
  publisher->outer.topic_name = publisher->topic.c_str();
  publisher->outer.options = *publisher_options;
  publisher->outer.can_loan_messages = publisher->path->lends();
  return &publisher.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_publisher(rmw_node_t* node, rmw_publisher_t* publisher) try {
  if (const rmw_ret_t bad = checked(node, publisher); bad != RMW_RET_OK) return bad;
  delete own(publisher);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_publish(const rmw_publisher_t* publisher, const void* ros_message,
                                rmw_publisher_allocation_t*) try {
  if (const rmw_ret_t bad = checked(publisher, ros_message); bad != RMW_RET_OK) return bad;
  return own(publisher)->path->publish(ros_message);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_publish_serialized_message(const rmw_publisher_t* publisher,
                                         const rmw_serialized_message_t* serialized_message,
                                         rmw_publisher_allocation_t*) try {
  if (const rmw_ret_t bad = checked(publisher, serialized_message); bad != RMW_RET_OK) return bad;
  return own(publisher)->path->publish_serialized(*serialized_message);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_gid_for_publisher(const rmw_publisher_t* publisher, rmw_gid_t* gid) {
  if (const rmw_ret_t bad = checked(publisher, gid); bad != RMW_RET_OK) return bad;
  *gid = gid_of(own(publisher)->path->writer().gid());
  return RMW_RET_OK;
}

rmw_ret_t rmw_publisher_count_matched_subscriptions(const rmw_publisher_t* publisher, size_t* subscription_count) try {
  if (const rmw_ret_t bad = checked(publisher, subscription_count); bad != RMW_RET_OK) return bad;
  *subscription_count = own(publisher)->path->matched();
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_publisher_get_actual_qos(const rmw_publisher_t* publisher, rmw_qos_profile_t* qos) {
  if (const rmw_ret_t bad = checked(publisher, qos); bad != RMW_RET_OK) return bad;
  *qos = profile_of(own(publisher)->path->qos());
  return RMW_RET_OK;
}

rmw_ret_t rmw_publisher_assert_liveliness(const rmw_publisher_t* publisher) try {
  if (const rmw_ret_t bad = checked(publisher); bad != RMW_RET_OK) return bad;
  own(publisher)->path->writer().assert_liveliness();
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_publisher_wait_for_all_acked(const rmw_publisher_t* publisher, rmw_time_t wait_timeout) try {
  if (const rmw_ret_t bad = checked(publisher); bad != RMW_RET_OK) return bad;
  // A message is received once it lies in the subscriptions' queues, also when its publisher is gone.
  return own(publisher)->path->writer().wait_for_queues(duration_of(wait_timeout)) ? RMW_RET_OK : RMW_RET_TIMEOUT;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_publisher_get_network_flow_endpoints(const rmw_publisher_t*, rcutils_allocator_t*,
                                                   rmw_network_flow_endpoint_array_t*) {
  return unsupported(kNoNetworkFlows);
}

}  // extern "C"
