// SPDX-License-Identifier: Apache-2.0
#include "discovery.hpp"

#include <sstream>

#include "baton/os/environment.hpp"
#include "baton/rosidl/ros2_version.hpp"
#include "rcutils/allocator.h"

namespace baton::bridge {

std::string variable(const char* name) {
  const char* value = os::environment(name);
  return value != nullptr ? value : "";
}

#if BATON_ROS2_HUMBLE

Discovery Discovery::of_environment() {
  Discovery discovery;
  if (variable("ROS_LOCALHOST_ONLY") == "1") discovery.range = Range::kLocalhost;
  return discovery;
}

void Discovery::apply(rmw_init_options_t* options) const {
  if (range == Range::kLocalhost) options->localhost_only = RMW_LOCALHOST_ONLY_ENABLED;
}

std::size_t count_servers(const RmwLibrary&, const rmw_node_t*, const char*) { return 0; }

#else

Discovery Discovery::of_environment() {
  Discovery discovery;
  const std::string range = variable("ROS_AUTOMATIC_DISCOVERY_RANGE");
  if (range == "OFF")
    discovery.range = Range::kOff;
  else if (range == "LOCALHOST" || (range.empty() && variable("ROS_LOCALHOST_ONLY") == "1"))
    discovery.range = Range::kLocalhost;
  else if (range == "SYSTEM_DEFAULT")
    discovery.range = Range::kSystemDefault;
  else if (!range.empty() && range != "SUBNET")
    throw BridgeError("ROS_AUTOMATIC_DISCOVERY_RANGE is '" + range + "'");
  std::istringstream peers(variable("ROS_STATIC_PEERS"));
  for (std::string peer; std::getline(peers, peer, ';');)
    if (!peer.empty()) discovery.static_peers.push_back(peer);
  return discovery;
}

void Discovery::apply(rmw_init_options_t* options) const {
  constexpr rmw_automatic_discovery_range_t kRanges[] = {
      RMW_AUTOMATIC_DISCOVERY_RANGE_SUBNET, RMW_AUTOMATIC_DISCOVERY_RANGE_SYSTEM_DEFAULT,
      RMW_AUTOMATIC_DISCOVERY_RANGE_LOCALHOST, RMW_AUTOMATIC_DISCOVERY_RANGE_OFF};  // in the order of Range
  if (!static_peers.empty()) {
    rcutils_allocator_t memory = rcutils_get_default_allocator();
    require(rmw_discovery_options_init(&options->discovery_options, static_peers.size(), &memory), "no memory");
    for (std::size_t i = 0; i < static_peers.size(); ++i)
      static_peers[i].copy(options->discovery_options.static_peers[i].peer_address,
                           RMW_DISCOVERY_OPTIONS_STATIC_PEERS_MAX_LENGTH - 1);
  }
  options->discovery_options.automatic_discovery_range = kRanges[static_cast<std::size_t>(range)];
}

std::size_t count_servers(const RmwLibrary& library, const rmw_node_t* node, const char* service) {
  std::size_t count = 0;
  if (library.rmw_count_services(node, service, &count) != RMW_RET_OK) last_rmw_error();
  return count;
}

#endif

}  // namespace baton::bridge
