// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: queries about the graph. The underlying RMW knows every endpoint, Baton's included.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_ret_t rmw_count_publishers(const rmw_node_t* node, const char* topic_name, size_t* count) {
  return forward(&Underlying::rmw_count_publishers, node, topic_name, count);
}

rmw_ret_t rmw_count_subscribers(const rmw_node_t* node, const char* topic_name, size_t* count) {
  return forward(&Underlying::rmw_count_subscribers, node, topic_name, count);
}

rmw_ret_t rmw_count_clients(const rmw_node_t* node, const char* service_name, size_t* count) {
  return forward(&Underlying::rmw_count_clients, node, service_name, count);
}

rmw_ret_t rmw_count_services(const rmw_node_t* node, const char* service_name, size_t* count) {
  return forward(&Underlying::rmw_count_services, node, service_name, count);
}

rmw_ret_t rmw_get_node_names(const rmw_node_t* node, rcutils_string_array_t* node_names,
                             rcutils_string_array_t* node_namespaces) {
  return forward(&Underlying::rmw_get_node_names, node, node_names, node_namespaces);
}

rmw_ret_t rmw_get_node_names_with_enclaves(const rmw_node_t* node, rcutils_string_array_t* node_names,
                                           rcutils_string_array_t* node_namespaces, rcutils_string_array_t* enclaves) {
  return forward(&Underlying::rmw_get_node_names_with_enclaves, node, node_names, node_namespaces, enclaves);
}

rmw_ret_t rmw_get_publisher_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                    const char* node_name, const char* node_namespace, bool no_demangle,
                                                    rmw_names_and_types_t* topic_names_and_types) {
  return forward(&Underlying::rmw_get_publisher_names_and_types_by_node, node, allocator, node_name, node_namespace,
                 no_demangle, topic_names_and_types);
}

rmw_ret_t rmw_get_subscriber_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                     const char* node_name, const char* node_namespace,
                                                     bool no_demangle, rmw_names_and_types_t* topic_names_and_types) {
  return forward(&Underlying::rmw_get_subscriber_names_and_types_by_node, node, allocator, node_name, node_namespace,
                 no_demangle, topic_names_and_types);
}

rmw_ret_t rmw_get_service_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                  const char* node_name, const char* node_namespace,
                                                  rmw_names_and_types_t* service_names_and_types) {
  return forward(&Underlying::rmw_get_service_names_and_types_by_node, node, allocator, node_name, node_namespace,
                 service_names_and_types);
}

rmw_ret_t rmw_get_client_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                 const char* node_name, const char* node_namespace,
                                                 rmw_names_and_types_t* service_names_and_types) {
  return forward(&Underlying::rmw_get_client_names_and_types_by_node, node, allocator, node_name, node_namespace,
                 service_names_and_types);
}

rmw_ret_t rmw_get_topic_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator, bool no_demangle,
                                        rmw_names_and_types_t* topic_names_and_types) {
  return forward(&Underlying::rmw_get_topic_names_and_types, node, allocator, no_demangle, topic_names_and_types);
}

rmw_ret_t rmw_get_service_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                          rmw_names_and_types_t* service_names_and_types) {
  return forward(&Underlying::rmw_get_service_names_and_types, node, allocator, service_names_and_types);
}

rmw_ret_t rmw_get_publishers_info_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                           const char* topic_name, bool no_mangle,
                                           rmw_topic_endpoint_info_array_t* publishers_info) {
  return forward(&Underlying::rmw_get_publishers_info_by_topic, node, allocator, topic_name, no_mangle,
                 publishers_info);
}

rmw_ret_t rmw_get_subscriptions_info_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                              const char* topic_name, bool no_mangle,
                                              rmw_topic_endpoint_info_array_t* subscriptions_info) {
  return forward(&Underlying::rmw_get_subscriptions_info_by_topic, node, allocator, topic_name, no_mangle,
                 subscriptions_info);
}

}  // extern "C"
