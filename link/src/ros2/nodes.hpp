// SPDX-License-Identifier: Apache-2.0
// Which node an endpoint belongs to: every participant of ROS 2 publishes a list on the topic ros_discovery_info
// (rmw_dds_common/msg/ParticipantEntitiesInfo). Without it `ros2 node list` shows no node, and `ros2 topic info -v` no names.
// Thread rules: pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ros2/dds.hpp"

namespace baton::link::ros2 {

inline constexpr const char* kNodesTopic = "ros_discovery_info";
inline constexpr const char* kNodesType = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_";

struct NodeEndpoints {
  std::vector<Gid> readers, writers;
};
/// Nodes by namespace and name.
using Nodes = std::map<std::pair<std::string, std::string>, NodeEndpoints>;

Result<CdrMessage> encode_nodes(const Gid& participant, const Nodes& nodes);

struct NodesOf {
  Gid participant{};
  Nodes nodes;
};
/// Nothing: the bytes are no such message.
std::optional<NodesOf> decode_nodes(const CdrMessage& serialized);

}  // namespace baton::link::ros2
