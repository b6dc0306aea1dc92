// SPDX-License-Identifier: Apache-2.0
// A subscription of a recompiled program: Baton's, with the callback that roscpp's templates made.
#pragma once

#include <ros/node_handle.h>
#include <ros/subscribe_options.h>

#include "baton/ros1/recompiled/message.hpp"

namespace baton::ros1::recompiled {

/// Throws what baton::ros1::node() and Node::make_reader throw, and roscpp's exceptions.
ros::Subscriber subscribe(ros::NodeHandle& handle, ros::SubscribeOptions& options, const MessageClass& message);

}  // namespace baton::ros1::recompiled
