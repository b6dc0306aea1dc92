// SPDX-License-Identifier: Apache-2.0
// Names in Baton's graph by which the ends of ROS 1 topics inform each other.
#pragma once

#include <string>

#include "words.hpp"

namespace baton::ros1::detail {

/// A node has a subscription of this topic while stock subscriptions of `topic` live in the same process: they share
/// one link of roscpp with ours, so publishers go on writing it.
inline std::string stock_beside(const std::string& topic) { return topic + kStockPart; }

/// The side topic: its messages say where those of `topic` are (mode tzc). In Baton's graph a node has a subscription of
/// this name for each of its subscriptions of `topic` in mode tzc, and one of side_publisher() for each such publisher.
inline std::string side_topic(const std::string& topic) { return topic + kSidePart; }
inline std::string side_publisher(const std::string& topic) { return topic + kSidePublisherPart; }

/// A node's name as roscpp writes it: the graph has no slash before a name in the root namespace.
inline std::string ros_name(const std::string& node) { return node.empty() || node.front() == '/' ? node : "/" + node; }

}  // namespace baton::ros1::detail
