// SPDX-License-Identifier: Apache-2.0
#include "baton_graph.hpp"

#include <algorithm>
#include <string_view>

#include "interface.hpp"
#include "qos_profile.hpp"
#include "rcutils/strdup.h"
#include "rmw/error_handling.h"

namespace baton::rmw {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

/// `text` without `end`, if it ends so.
std::optional<std::string> without(std::string_view text, std::string_view end) {
  if (!ends_with(text, end)) return std::nullopt;
  return std::string(text.substr(0, text.size() - end.size()));
}

struct Name {
  BatonGraph::EndpointKind end;
  std::string name;
};

/// Whether the link has brought a node's endpoints from another host: "name@host".
bool is_far(const std::string& node) { return node.find('@') != std::string::npos; }

/// A service has a server if there is its request's reader or its response's writer: the link knows the servers of other hosts by the second.
template <class Info>
std::optional<Name> name_of(const Info& endpoint) {
  using EndpointKind = BatonGraph::EndpointKind;
  if (const std::optional<std::string> service = without(endpoint.topic, request_topic("")))
    return Name{endpoint.is_writer ? EndpointKind::kClient : EndpointKind::kServer, *service};
  if (const std::optional<std::string> service = without(endpoint.topic, response_topic("")))
    return endpoint.is_writer ? std::optional(Name{EndpointKind::kServer, *service}) : std::nullopt;
  return Name{endpoint.is_writer ? EndpointKind::kPublisher : EndpointKind::kSubscription, endpoint.topic};
}

rmw_ret_t no_memory(const char* what) {
  rcutils_reset_error();
  RMW_SET_ERROR_MSG(what);
  return RMW_RET_BAD_ALLOC;
}

}  // namespace

std::string request_topic(const std::string& service) { return service + "/_request"; }
std::string response_topic(const std::string& service) { return service + "/_response"; }

std::string full_node_name(const std::string& node) {
  const std::string name = node.substr(0, node.find('@'));
  return name.empty() || name[0] != '/' ? "/" + name : name;
}

std::pair<std::string, std::string> space_and_name(const std::string& full_name) {
  const std::size_t slash = full_name.rfind('/');
  return {slash == 0 ? "/" : full_name.substr(0, slash), full_name.substr(slash + 1)};
}

std::string ros_type(const std::string& type, BatonGraph::EndpointKind end) {
  const bool service = end == BatonGraph::EndpointKind::kServer || end == BatonGraph::EndpointKind::kClient;
  const std::string name =
      service ? without(type, "_Request").value_or(without(type, "_Response").value_or(type)) : type;
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return name;
  // Interfaces that people define have no underscore in their names, so these are the generator's of an action.
  const std::size_t underscore = name.find('_', slash);
  const std::string part = underscore == std::string::npos ? "" : name.substr(underscore);
  const bool action = part == "_FeedbackMessage" || part == "_SendGoal" || part == "_GetResult";
  return name.substr(0, slash) + (action ? "/action" : service ? "/srv" : "/msg") + name.substr(slash);
}

std::set<std::string> BatonGraph::nodes() const {
  std::set<std::string> names;
  for (const auto& node : participant_.nodes()) names.insert(full_node_name(node.name));
  for (const auto& node : far_nodes()) names.insert(full_node_name(node));
  return names;
}

std::set<std::string> BatonGraph::far_nodes() const {
  std::set<std::string> names;
  for (std::string& node : participant_.nodes_of_endpoints())
    if (is_far(node)) names.insert(std::move(node));
  return names;
}

BatonGraph::NamesAndTypes BatonGraph::names_and_types(std::initializer_list<EndpointKind> ends,
                                                      const std::optional<std::string>& node) const {
  NamesAndTypes found;
  std::vector<std::string> nodes;
  if (node) {
    nodes = {*node, node->substr(1)};  // a node of Baton may lack the first slash
    for (const std::string& each : far_nodes())
      if (full_node_name(each) == *node) nodes.push_back(each);
  }
  // A node has four times as many topics of services as others: those that are not asked for are not copied.
  const bool services = *ends.begin() == EndpointKind::kServer || *ends.begin() == EndpointKind::kClient;
  const std::string request = request_topic(""), response = response_topic("");
  const auto wanted = [&](const std::string& topic) {
    return (ends_with(topic, request) || ends_with(topic, response)) == services;
  };
  for (const transport::TopicInfo& topic : participant_.topics(nodes, wanted)) {
    const std::optional<Name> name = name_of(topic);
    if (!name || std::find(ends.begin(), ends.end(), name->end) == ends.end()) continue;
    found[name->name].insert(ros_type(topic.type_name, name->end));
  }
  return found;
}

std::vector<transport::EndpointInfo> BatonGraph::of(EndpointKind end, const std::string& name) const {
  std::vector<transport::EndpointInfo> found;
  const bool service = end == EndpointKind::kServer || end == EndpointKind::kClient;
  for (transport::EndpointInfo& endpoint : participant_.endpoints_of(service ? request_topic(name) : name)) {
    const std::optional<Name> its = name_of(endpoint);
    if (its && its->end == end && its->name == name) found.push_back(std::move(endpoint));
  }
  if (end != EndpointKind::kServer) return found;
  for (transport::EndpointInfo& endpoint : participant_.endpoints_of(response_topic(name)))
    if (endpoint.is_writer && is_far(endpoint.node)) found.push_back(std::move(endpoint));
  return found;
}

rmw_ret_t add_names(rcutils_string_array_t* array, const std::vector<std::string>& names,
                    const rcutils_allocator_t& allocator) {
  if (names.empty()) return RMW_RET_OK;
  if (rcutils_string_array_init(array, names.size(), &allocator) != RCUTILS_RET_OK)
    return no_memory("no memory for the names of the graph");
  for (std::size_t i = 0; i < names.size(); ++i) {
    array->data[i] = rcutils_strdup(names[i].c_str(), allocator);
    if (array->data[i] != nullptr) continue;
    if (rcutils_string_array_fini(array) != RCUTILS_RET_OK) rcutils_reset_error();
    return no_memory("no memory for the names of the graph");
  }
  return RMW_RET_OK;
}

rmw_ret_t add_names_and_types(rmw_names_and_types_t* names_and_types, const BatonGraph::NamesAndTypes& found,
                              rcutils_allocator_t* allocator) {
  if (found.empty()) return RMW_RET_OK;
  if (rmw_names_and_types_init(names_and_types, found.size(), allocator) != RMW_RET_OK)
    return no_memory("no memory for the names and types of the graph");
  std::size_t i = 0;
  for (const auto& [name, types] : found) {
    names_and_types->names.data[i] = rcutils_strdup(name.c_str(), *allocator);
    const std::vector<std::string> list(types.begin(), types.end());
    if (names_and_types->names.data[i] == nullptr ||
        add_names(&names_and_types->types[i], list, *allocator) != RMW_RET_OK) {
      if (rmw_names_and_types_fini(names_and_types) != RMW_RET_OK) rcutils_reset_error();
      return no_memory("no memory for the names and types of the graph");
    }
    ++i;
  }
  return RMW_RET_OK;
}

rmw_ret_t add_infos(rmw_topic_endpoint_info_array_t* infos, const std::vector<transport::EndpointInfo>& endpoints,
                    rcutils_allocator_t* allocator) {
  if (endpoints.empty()) return RMW_RET_OK;
  if (rmw_topic_endpoint_info_array_init_with_size(infos, endpoints.size(), allocator) != RMW_RET_OK)
    return no_memory("no memory for the endpoints of the graph");
  for (std::size_t i = 0; i < infos->size; ++i) infos->info_array[i] = rmw_get_zero_initialized_topic_endpoint_info();
  for (std::size_t i = 0; i < infos->size; ++i) {
    const transport::EndpointInfo& endpoint = endpoints[i];
    rmw_topic_endpoint_info_t& info = infos->info_array[i];
    const std::pair<std::string, std::string> node = space_and_name(full_node_name(endpoint.node));
    const auto end =
        endpoint.is_writer ? BatonGraph::EndpointKind::kPublisher : BatonGraph::EndpointKind::kSubscription;
    const std::string type = ros_type(endpoint.type_name, end);
    const rmw_qos_profile_t profile = profile_of(endpoint.qos);
    const bool set =
        rmw_topic_endpoint_info_set_node_name(&info, node.second.c_str(), allocator) == RMW_RET_OK &&
        rmw_topic_endpoint_info_set_node_namespace(&info, node.first.c_str(), allocator) == RMW_RET_OK &&
        rmw_topic_endpoint_info_set_topic_type(&info, type.c_str(), allocator) == RMW_RET_OK &&
        set_ros_hash(&info, endpoint.ros_type_hash) == RMW_RET_OK &&
        rmw_topic_endpoint_info_set_endpoint_type(
            &info, endpoint.is_writer ? RMW_ENDPOINT_PUBLISHER : RMW_ENDPOINT_SUBSCRIPTION) == RMW_RET_OK &&
        rmw_topic_endpoint_info_set_gid(&info, endpoint.gid.data(), endpoint.gid.size()) == RMW_RET_OK &&
        rmw_topic_endpoint_info_set_qos_profile(&info, &profile) == RMW_RET_OK;
    if (!set) {
      if (rmw_topic_endpoint_info_array_fini(infos, allocator) != RMW_RET_OK) rcutils_reset_error();
      return no_memory("no memory for the endpoints of the graph");
    }
  }
  return RMW_RET_OK;
}

}  // namespace baton::rmw
