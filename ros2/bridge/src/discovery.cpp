// SPDX-License-Identifier: Apache-2.0
#include "discovery.hpp"

#include <sstream>
#include <vector>

#include "baton/os/environment.hpp"
#include "baton/rosidl/ros2_version.hpp"
#include "rcutils/allocator.h"

namespace baton::bridge {

std::string variable(const char* name) {
  const char* value = os::environment(name);
  return value != nullptr ? value : "";
}

#if BATON_ROS2_HUMBLE

void set_discovery(rmw_init_options_t* options) {
  if (variable("ROS_LOCALHOST_ONLY") == "1") options->localhost_only = RMW_LOCALHOST_ONLY_ENABLED;
}

std::size_t count_servers(const RmwLibrary&, const rmw_node_t*, const char*) { return 0; }

#else

void set_discovery(rmw_init_options_t* options) {
  rmw_discovery_options_t& discovery = options->discovery_options;
  std::vector<std::string> peers;
  std::istringstream list(variable("ROS_STATIC_PEERS"));
  for (std::string peer; std::getline(list, peer, ';');)
    if (!peer.empty()) peers.push_back(peer);
  if (!peers.empty()) {
    rcutils_allocator_t memory = rcutils_get_default_allocator();
    require(rmw_discovery_options_init(&discovery, peers.size(), &memory), "no memory");
    for (std::size_t i = 0; i < peers.size(); ++i)
      peers[i].copy(discovery.static_peers[i].peer_address, RMW_DISCOVERY_OPTIONS_STATIC_PEERS_MAX_LENGTH - 1);
  }
  const std::string range = variable("ROS_AUTOMATIC_DISCOVERY_RANGE");
  if (range == "OFF")
    discovery.automatic_discovery_range = RMW_AUTOMATIC_DISCOVERY_RANGE_OFF;
  else if (range == "LOCALHOST" || (range.empty() && variable("ROS_LOCALHOST_ONLY") == "1"))
    discovery.automatic_discovery_range = RMW_AUTOMATIC_DISCOVERY_RANGE_LOCALHOST;
  else if (range == "SYSTEM_DEFAULT")
    discovery.automatic_discovery_range = RMW_AUTOMATIC_DISCOVERY_RANGE_SYSTEM_DEFAULT;
  else if (range.empty() || range == "SUBNET")
    discovery.automatic_discovery_range = RMW_AUTOMATIC_DISCOVERY_RANGE_SUBNET;
  else
    throw BridgeError("ROS_AUTOMATIC_DISCOVERY_RANGE is '" + range + "'");
}

std::size_t count_servers(const RmwLibrary& library, const rmw_node_t* node, const char* service) {
  std::size_t count = 0;
  forget(library.rmw_count_services(node, service, &count));
  return count;
}

#endif

}  // namespace baton::bridge
