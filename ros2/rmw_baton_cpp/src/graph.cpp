// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: queries about the graph (baton_graph.hpp).
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "baton_graph.hpp"
#include "handles.hpp"
#include "interface.hpp"
#include "rmw/get_node_info_and_types.h"
#include "rmw/get_service_names_and_types.h"
#include "rmw/get_topic_endpoint_info.h"
#include "rmw/get_topic_names_and_types.h"
#include "rmw/sanity_checks.h"
#include "rmw/validate_namespace.h"
#include "rmw/validate_node_name.h"
#include "topic_name.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

using EndpointKind = BatonGraph::EndpointKind;

BatonGraph graph_of(const rmw_node_t* node) { return BatonGraph(context_of(node).participant()); }

rmw_ret_t count(const rmw_node_t* node, const char* name, std::size_t* count, EndpointKind end) {
  if (const rmw_ret_t bad = checked(node, name, count); bad != RMW_RET_OK) return bad;
  if (!is_valid_topic(name, {})) return RMW_RET_INVALID_ARGUMENT;
  *count = graph_of(node).of(end, name).size();
  return RMW_RET_OK;
}

rmw_ret_t check_names(rmw_names_and_types_t* names_and_types, rcutils_allocator_t* allocator) {
  if (!rcutils_allocator_is_valid(allocator)) return invalid("the allocator is not valid");
  return rmw_names_and_types_check_zero(names_and_types);
}

rmw_ret_t names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator,
                          std::initializer_list<EndpointKind> ends, rmw_names_and_types_t* names_and_types) {
  if (const rmw_ret_t bad = checked(node, allocator, names_and_types); bad != RMW_RET_OK) return bad;
  if (const rmw_ret_t bad = check_names(names_and_types, allocator); bad != RMW_RET_OK) return bad;
  return add_names_and_types(names_and_types, graph_of(node).names_and_types(ends), allocator);
}

rmw_ret_t of_node(const rmw_node_t* node, rcutils_allocator_t* allocator, const char* name, const char* space,
                  EndpointKind end, rmw_names_and_types_t* names_and_types) {
  if (const rmw_ret_t bad = checked(node, allocator, name, space, names_and_types); bad != RMW_RET_OK) return bad;
  if (const rmw_ret_t bad = check_names(names_and_types, allocator); bad != RMW_RET_OK) return bad;
  int validity = RMW_NODE_NAME_VALID;
  if (const rmw_ret_t bad = rmw_validate_node_name(name, &validity, nullptr); bad != RMW_RET_OK) return bad;
  if (validity != RMW_NODE_NAME_VALID) return invalid(rmw_node_name_validation_result_string(validity));
  if (const rmw_ret_t bad = rmw_validate_namespace(space, &validity, nullptr); bad != RMW_RET_OK) return bad;
  if (validity != RMW_NAMESPACE_VALID) return invalid(rmw_namespace_validation_result_string(validity));
  const BatonGraph graph = graph_of(node);
  const std::string full = full_name(space, name);
  if (graph.nodes().count(full) == 0) {
    RMW_SET_ERROR_MSG(("no node " + full + " is known").c_str());
    return RMW_RET_NODE_NAME_NON_EXISTENT;
  }
  return add_names_and_types(names_and_types, graph.names_and_types({end}, full), allocator);
}

/// `raw`: of a topic by its name in Baton, where a service has two topics (request_topic()).
rmw_ret_t infos(const rmw_node_t* node, rcutils_allocator_t* allocator, const char* topic, bool raw, EndpointKind end,
                rmw_topic_endpoint_info_array_t* infos) {
  if (const rmw_ret_t bad = checked(node, allocator, topic, infos); bad != RMW_RET_OK) return bad;
  if (!rcutils_allocator_is_valid(allocator)) return invalid("the allocator is not valid");
  if (rmw_topic_endpoint_info_array_check_zero(infos) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  if (!raw) return add_infos(infos, graph_of(node).of(end, topic), allocator);
  const bool writers = end == EndpointKind::kPublisher;
  const std::string name = topic, requests = request_topic("");
  if (!writers && name.size() > requests.size() && name.substr(name.size() - requests.size()) == requests) {
    // Those of other hosts, too, which the link knows by their responses.
    const std::string service = name.substr(0, name.size() - requests.size());
    return add_infos(infos, graph_of(node).of(EndpointKind::kServer, service), allocator);
  }
  std::vector<transport::EndpointInfo> found = context_of(node).participant().endpoints_of(name);
  found.erase(std::remove_if(found.begin(), found.end(), [&](const auto& each) { return each.is_writer != writers; }),
              found.end());
  return add_infos(infos, found, allocator);
}

/// A row for each node: nodes of one name are in it as often as they exist. `enclaves` may be null.
rmw_ret_t names_of_nodes(const rmw_node_t* node, rcutils_string_array_t* names, rcutils_string_array_t* spaces,
                         rcutils_string_array_t* enclaves) {
  std::vector<std::pair<rcutils_string_array_t*, std::vector<std::string>>> columns{{names, {}}, {spaces, {}}};
  if (enclaves != nullptr) columns.push_back({enclaves, {}});
  for (const auto& [array, column] : columns)
    if (rmw_check_zero_rmw_string_array(array) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  const auto add = [&](const std::string& full, const std::string& enclave) {
    auto [space, name] = space_and_name(full_node_name(full));
    if (name.empty()) return;  // as any process may call its node; for rcl the whole call would have failed
    columns[0].second.push_back(std::move(name));
    columns[1].second.push_back(std::move(space));
    // A node of Baton itself has none: ROS 2's default.
    if (enclaves != nullptr) columns[2].second.push_back(enclave.empty() ? "/" : enclave);
  };
  for (const transport::NodeInfo& each : context_of(node).participant().nodes()) add(each.name, each.enclave);
  for (const std::string& each : graph_of(node).far_nodes()) add(each, "");
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  for (const auto& [array, column] : columns) {
    const rmw_ret_t result = add_names(array, column, allocator);
    if (result == RMW_RET_OK) continue;
    for (const auto& [filled, unused] : columns)
      if (rcutils_string_array_fini(filled) != RCUTILS_RET_OK) rcutils_reset_error();
    return result;
  }
  return RMW_RET_OK;
}

}  // namespace

extern "C" {

rmw_ret_t rmw_count_publishers(const rmw_node_t* node, const char* topic_name, size_t* count) try {
  return ::count(node, topic_name, count, EndpointKind::kPublisher);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_count_subscribers(const rmw_node_t* node, const char* topic_name, size_t* count) try {
  return ::count(node, topic_name, count, EndpointKind::kSubscription);
} catch (const std::exception& error) {
  return failure(error);
}

#if !BATON_ROS2_HUMBLE
rmw_ret_t rmw_count_clients(const rmw_node_t* node, const char* service_name, size_t* count) try {
  return ::count(node, service_name, count, EndpointKind::kClient);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_count_services(const rmw_node_t* node, const char* service_name, size_t* count) try {
  return ::count(node, service_name, count, EndpointKind::kServer);
} catch (const std::exception& error) {
  return failure(error);
}
#endif

rmw_ret_t rmw_get_node_names(const rmw_node_t* node, rcutils_string_array_t* node_names,
                             rcutils_string_array_t* node_namespaces) try {
  if (const rmw_ret_t bad = checked(node, node_names, node_namespaces); bad != RMW_RET_OK) return bad;
  return names_of_nodes(node, node_names, node_namespaces, nullptr);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_node_names_with_enclaves(const rmw_node_t* node, rcutils_string_array_t* node_names,
                                           rcutils_string_array_t* node_namespaces,
                                           rcutils_string_array_t* enclaves) try {
  if (const rmw_ret_t bad = checked(node, node_names, node_namespaces, enclaves); bad != RMW_RET_OK) return bad;
  return names_of_nodes(node, node_names, node_namespaces, enclaves);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_publisher_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                    const char* node_name, const char* node_namespace, bool,
                                                    rmw_names_and_types_t* topic_names_and_types) try {
  return of_node(node, allocator, node_name, node_namespace, EndpointKind::kPublisher, topic_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_subscriber_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                     const char* node_name, const char* node_namespace, bool,
                                                     rmw_names_and_types_t* topic_names_and_types) try {
  return of_node(node, allocator, node_name, node_namespace, EndpointKind::kSubscription, topic_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_service_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                  const char* node_name, const char* node_namespace,
                                                  rmw_names_and_types_t* service_names_and_types) try {
  return of_node(node, allocator, node_name, node_namespace, EndpointKind::kServer, service_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_client_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                 const char* node_name, const char* node_namespace,
                                                 rmw_names_and_types_t* service_names_and_types) try {
  return of_node(node, allocator, node_name, node_namespace, EndpointKind::kClient, service_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_topic_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator, bool,
                                        rmw_names_and_types_t* topic_names_and_types) try {
  return names_and_types(node, allocator, {EndpointKind::kPublisher, EndpointKind::kSubscription},
                         topic_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_service_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                          rmw_names_and_types_t* service_names_and_types) try {
  return names_and_types(node, allocator, {EndpointKind::kServer, EndpointKind::kClient}, service_names_and_types);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_publishers_info_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                           const char* topic_name, bool no_mangle,
                                           rmw_topic_endpoint_info_array_t* publishers_info) try {
  return infos(node, allocator, topic_name, no_mangle, EndpointKind::kPublisher, publishers_info);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_subscriptions_info_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                              const char* topic_name, bool no_mangle,
                                              rmw_topic_endpoint_info_array_t* subscriptions_info) try {
  return infos(node, allocator, topic_name, no_mangle, EndpointKind::kSubscription, subscriptions_info);
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
