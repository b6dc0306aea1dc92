// SPDX-License-Identifier: Apache-2.0
// Names in Baton's graph by which the ends of ROS 1 topics inform each other.
#pragma once

#include <string>

namespace baton::ros1::detail {

/// A node has a subscription of this topic while stock subscriptions of `topic` live in the same process: they share
/// one link of roscpp with ours, so publishers go on writing it.
inline std::string stock_beside(const std::string& topic) { return topic + "/_stock"; }

/// A node's name as roscpp writes it: the graph has no slash before a name in the root namespace.
inline std::string ros_name(const std::string& node) { return node.empty() || node.front() == '/' ? node : "/" + node; }

}  // namespace baton::ros1::detail
