// SPDX-License-Identifier: Apache-2.0
// Baton's graph in the words of ROS 2's: nodes, their publishers, subscriptions, services and clients.
//
// Thread rules: any thread. Each call asks for the graph of its moment, and copies of it what it returns.
// Invariants: (1) a function that fails has set the error text, and its output is empty.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baton/transport/transport.hpp"
#include "rcutils/types/string_array.h"
#include "rmw/names_and_types.h"
#include "rmw/topic_endpoint_info_array.h"
#include "rmw/types.h"

namespace baton::rmw {

/// The topics of a service: "/name/_request", "/name/_response".
std::string request_topic(const std::string& service);
std::string response_topic(const std::string& service);

class BatonGraph {
 public:
  enum class EndpointKind : std::uint8_t { kPublisher, kSubscription, kServer, kClient };
  using NamesAndTypes = std::map<std::string, std::set<std::string>>;

  explicit BatonGraph(transport::Participant& participant) : participant_(participant) {}

  /// "/space/name" of each node.
  std::set<std::string> nodes() const;
  /// Nodes of other hosts, "name@host", as far as they publish or serve: only the link announces their endpoints.
  std::set<std::string> far_nodes() const;
  /// Topics (kPublisher, kSubscription) or services (kServer, kClient), with their types. `node`: only this node's.
  NamesAndTypes names_and_types(std::initializer_list<EndpointKind> ends,
                                const std::optional<std::string>& node = {}) const;
  /// The endpoints of one topic or service.
  std::vector<transport::EndpointInfo> of(EndpointKind end, const std::string& name) const;

 private:
  transport::Participant& participant_;
};

/// ROS 2's name of a type: "sensor_msgs/msg/Image" for "sensor_msgs/Image", "std_srvs/srv/SetBool" for
/// "std_srvs/SetBool_Request", "test_msgs/action/Fibonacci_SendGoal" for "test_msgs/Fibonacci_SendGoal_Request".
std::string ros_type(const std::string& type, BatonGraph::EndpointKind end);
/// "/space/name" of a node's name in Baton's graph, which may lack the first slash, and name the host behind an @.
std::string full_node_name(const std::string& node);
/// {"/space", "name"} of "/space/name".
std::pair<std::string, std::string> space_and_name(const std::string& full_name);

// The arrays are empty before.
rmw_ret_t add_names(rcutils_string_array_t* array, const std::vector<std::string>& names,
                    const rcutils_allocator_t& allocator);
rmw_ret_t add_names_and_types(rmw_names_and_types_t* names_and_types, const BatonGraph::NamesAndTypes& found,
                              rcutils_allocator_t* allocator);
rmw_ret_t add_infos(rmw_topic_endpoint_info_array_t* infos, const std::vector<transport::EndpointInfo>& endpoints,
                    rcutils_allocator_t* allocator);

}  // namespace baton::rmw
