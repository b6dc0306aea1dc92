// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: queries about the graph. The underlying RMW knows every endpoint of ROS 2. Baton's graph
// has the nodes of Baton (baton_graph.hpp).
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "baton_graph.hpp"
#include "endpoints.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

using EndpointKind = BatonGraph::EndpointKind;

/// Baton's graph; empty for a node that is not ours, and without Baton.
std::optional<BatonGraph> baton_graph(const rmw_node_t* node) {
  const Node* own_node = ours(node);
  if (own_node == nullptr || !baton_context_of(*own_node)) return std::nullopt;
  return BatonGraph(baton_context_of(*own_node)->participant());
}

/// "/space/name" of every node that the underlying RMW knows. Empty after an error, whose text is dropped.
std::set<std::string> known_nodes(const rmw_node_t* inner_node) {
  std::set<std::string> known;
  rcutils_string_array_t names = rcutils_get_zero_initialized_string_array(), spaces = names;
  if (underlying()->rmw_get_node_names(inner_node, &names, &spaces) == RMW_RET_OK) {
    for (std::size_t i = 0; i < names.size && i < spaces.size; ++i)
      known.insert((std::string(spaces.data[i]) == "/" ? "" : spaces.data[i]) + std::string("/") + names.data[i]);
  }
  for (rcutils_string_array_t* array : {&names, &spaces})
    if (rcutils_string_array_fini(array) != RCUTILS_RET_OK) rcutils_reset_error();
  rcutils_reset_error();
  return known;
}

/// `enclaves` may be null.
rmw_ret_t add_nodes(const rmw_node_t* node, rcutils_string_array_t* names, rcutils_string_array_t* spaces,
                    rcutils_string_array_t* enclaves) {
  const std::optional<BatonGraph> graph = baton_graph(node);
  if (!graph) return RMW_RET_OK;
  const std::set<std::string> known = known_nodes(inner(node));
  std::vector<std::string> more_names, more_spaces;
  for (const std::string& each : graph->nodes()) {
    if (known.count(each) != 0) continue;
    auto [space, name] = space_and_name(each);
    more_spaces.push_back(std::move(space));
    more_names.push_back(std::move(name));
  }
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_ret_t result = add_names(names, more_names, allocator);
  if (result == RMW_RET_OK) result = add_names(spaces, more_spaces, allocator);
  if (result == RMW_RET_OK && enclaves != nullptr)
    result = add_names(enclaves, std::vector<std::string>(more_names.size(), "/"), allocator);
  if (result == RMW_RET_OK) return result;
  for (rcutils_string_array_t* array : {names, spaces, enclaves})
    if (array != nullptr && rcutils_string_array_fini(array) != RCUTILS_RET_OK) return RMW_RET_BAD_ALLOC;
  return result;
}

/// Adds to the underlying RMW's `result` what the node called `name` in `space` has in Baton.
rmw_ret_t add_of_node(rmw_ret_t result, std::initializer_list<EndpointKind> ends, const rmw_node_t* node,
                      const char* name, const char* space, rcutils_allocator_t* allocator,
                      rmw_names_and_types_t* names_and_types) {
  if (result != RMW_RET_OK && result != RMW_RET_NODE_NAME_NON_EXISTENT) return result;
  const std::optional<BatonGraph> graph = baton_graph(node);
  if (!graph || name == nullptr || space == nullptr) return result;
  const std::string full = (std::string(space) == "/" ? "" : space) + std::string("/") + name;
  if (result == RMW_RET_NODE_NAME_NON_EXISTENT) {
    if (graph->nodes().count(full) == 0) return result;
    rcutils_reset_error();
  }
  return add_names_and_types(names_and_types, graph->names_and_types(ends, full), allocator);
}

/// Adds the endpoints of Baton's that `is_known(endpoint)` does not know.
template <class IsKnown>
void add_count(const std::vector<transport::EndpointInfo>& endpoints, size_t* count, IsKnown&& is_known) {
  *count += static_cast<size_t>(
      std::count_if(endpoints.begin(), endpoints.end(), [&](const auto& endpoint) { return !is_known(endpoint); }));
}

rmw_ret_t add_services(rmw_ret_t result, EndpointKind end, const rmw_node_t* node, const char* name, size_t* count) {
  if (result != RMW_RET_OK) return result;
  const std::optional<BatonGraph> graph = baton_graph(node);
  if (!graph) return result;
  const std::vector<transport::EndpointInfo> endpoints = graph->of(end, name);
  if (endpoints.empty()) return result;
  const std::set<std::string> known = known_nodes(inner(node));
  add_count(endpoints, count,
            [&](const transport::EndpointInfo& each) { return known.count(full_node_name(each.node)) != 0; });
  return result;
}

}  // namespace

extern "C" {

rmw_ret_t rmw_count_publishers(const rmw_node_t* node, const char* topic_name, size_t* count) try {
  const rmw_ret_t result = forward(&Underlying::rmw_count_publishers, node, topic_name, count);
  const std::optional<BatonGraph> graph = result == RMW_RET_OK ? baton_graph(node) : std::nullopt;
  if (!graph) return result;
  const std::vector<transport::EndpointInfo> endpoints = graph->of(EndpointKind::kPublisher, topic_name);
  if (endpoints.empty()) return result;
  const std::optional<std::vector<transport::Gid>> known = known_publishers(inner(node), topic_name);
  if (!known) return result;
  add_count(endpoints, count, [&](const transport::EndpointInfo& each) {
    return std::find(known->begin(), known->end(), each.gid) != known->end();
  });
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_count_subscribers(const rmw_node_t* node, const char* topic_name, size_t* count) try {
  const rmw_ret_t result = forward(&Underlying::rmw_count_subscribers, node, topic_name, count);
  const std::optional<BatonGraph> graph = result == RMW_RET_OK ? baton_graph(node) : std::nullopt;
  if (!graph) return result;
  const std::vector<transport::EndpointInfo> endpoints = graph->of(EndpointKind::kSubscription, topic_name);
  if (endpoints.empty()) return result;
  const std::vector<KnownSubscription> known = known_subscriptions(inner(node), topic_name);
  add_count(endpoints, count, [&](const transport::EndpointInfo& each) {
    return std::any_of(known.begin(), known.end(), [&](const auto& one) { return one.gid == each.gid; });
  });
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_count_clients(const rmw_node_t* node, const char* service_name, size_t* count) try {
  return add_services(forward(&Underlying::rmw_count_clients, node, service_name, count), EndpointKind::kClient, node,
                      service_name, count);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_count_services(const rmw_node_t* node, const char* service_name, size_t* count) try {
  return add_services(forward(&Underlying::rmw_count_services, node, service_name, count), EndpointKind::kServer, node,
                      service_name, count);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_node_names(const rmw_node_t* node, rcutils_string_array_t* node_names,
                             rcutils_string_array_t* node_namespaces) try {
  const rmw_ret_t result = forward(&Underlying::rmw_get_node_names, node, node_names, node_namespaces);
  return result == RMW_RET_OK ? add_nodes(node, node_names, node_namespaces, nullptr) : result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_node_names_with_enclaves(const rmw_node_t* node, rcutils_string_array_t* node_names,
                                           rcutils_string_array_t* node_namespaces,
                                           rcutils_string_array_t* enclaves) try {
  const rmw_ret_t result =
      forward(&Underlying::rmw_get_node_names_with_enclaves, node, node_names, node_namespaces, enclaves);
  return result == RMW_RET_OK ? add_nodes(node, node_names, node_namespaces, enclaves) : result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_publisher_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                    const char* node_name, const char* node_namespace, bool no_demangle,
                                                    rmw_names_and_types_t* topic_names_and_types) try {
  const rmw_ret_t result = forward(&Underlying::rmw_get_publisher_names_and_types_by_node, node, allocator, node_name,
                                   node_namespace, no_demangle, topic_names_and_types);
  if (no_demangle) return result;
  return add_of_node(result, {EndpointKind::kPublisher}, node, node_name, node_namespace, allocator,
                     topic_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_subscriber_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                     const char* node_name, const char* node_namespace,
                                                     bool no_demangle,
                                                     rmw_names_and_types_t* topic_names_and_types) try {
  const rmw_ret_t result = forward(&Underlying::rmw_get_subscriber_names_and_types_by_node, node, allocator, node_name,
                                   node_namespace, no_demangle, topic_names_and_types);
  if (no_demangle) return result;
  return add_of_node(result, {EndpointKind::kSubscription}, node, node_name, node_namespace, allocator,
                     topic_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_service_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                  const char* node_name, const char* node_namespace,
                                                  rmw_names_and_types_t* service_names_and_types) try {
  const rmw_ret_t result = forward(&Underlying::rmw_get_service_names_and_types_by_node, node, allocator, node_name,
                                   node_namespace, service_names_and_types);
  return add_of_node(result, {EndpointKind::kServer}, node, node_name, node_namespace, allocator,
                     service_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_client_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                 const char* node_name, const char* node_namespace,
                                                 rmw_names_and_types_t* service_names_and_types) try {
  const rmw_ret_t result = forward(&Underlying::rmw_get_client_names_and_types_by_node, node, allocator, node_name,
                                   node_namespace, service_names_and_types);
  return add_of_node(result, {EndpointKind::kClient}, node, node_name, node_namespace, allocator,
                     service_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_topic_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator, bool no_demangle,
                                        rmw_names_and_types_t* topic_names_and_types) try {
  const rmw_ret_t result =
      forward(&Underlying::rmw_get_topic_names_and_types, node, allocator, no_demangle, topic_names_and_types);
  const std::optional<BatonGraph> graph = result == RMW_RET_OK && !no_demangle ? baton_graph(node) : std::nullopt;
  if (!graph) return result;
  return add_names_and_types(topic_names_and_types,
                             graph->names_and_types({EndpointKind::kPublisher, EndpointKind::kSubscription}),
                             allocator);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_service_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                          rmw_names_and_types_t* service_names_and_types) try {
  const rmw_ret_t result =
      forward(&Underlying::rmw_get_service_names_and_types, node, allocator, service_names_and_types);
  const std::optional<BatonGraph> graph = result == RMW_RET_OK ? baton_graph(node) : std::nullopt;
  if (!graph) return result;
  return add_names_and_types(service_names_and_types,
                             graph->names_and_types({EndpointKind::kServer, EndpointKind::kClient}), allocator);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_publishers_info_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                           const char* topic_name, bool no_mangle,
                                           rmw_topic_endpoint_info_array_t* publishers_info) try {
  const rmw_ret_t result =
      forward(&Underlying::rmw_get_publishers_info_by_topic, node, allocator, topic_name, no_mangle, publishers_info);
  const std::optional<BatonGraph> graph = result == RMW_RET_OK && !no_mangle ? baton_graph(node) : std::nullopt;
  return graph ? add_infos(publishers_info, graph->of(EndpointKind::kPublisher, topic_name), allocator) : result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_subscriptions_info_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                              const char* topic_name, bool no_mangle,
                                              rmw_topic_endpoint_info_array_t* subscriptions_info) try {
  const rmw_ret_t result = forward(&Underlying::rmw_get_subscriptions_info_by_topic, node, allocator, topic_name,
                                   no_mangle, subscriptions_info);
  const std::optional<BatonGraph> graph = result == RMW_RET_OK && !no_mangle ? baton_graph(node) : std::nullopt;
  return graph ? add_infos(subscriptions_info, graph->of(EndpointKind::kSubscription, topic_name), allocator) : result;
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
