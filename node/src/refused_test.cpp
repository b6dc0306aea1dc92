// SPDX-License-Identifier: Apache-2.0
// Does not compile: the third argument of ROS 1's advertise() is `latched`, and Baton's is a size in bytes. A test reads the
// compiler's message.
#include "baton/msg/std_msgs/string.hpp"
#include "baton/node/node.hpp"

void refused(baton::Node& node) { static_cast<void>(node.advertise<baton::msg::std_msgs::String>("chatter", 1, true)); }
