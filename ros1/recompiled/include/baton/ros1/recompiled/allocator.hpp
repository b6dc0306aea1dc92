// SPDX-License-Identifier: Apache-2.0
// The template argument of recompiled messages: sensor_msgs::Image is sensor_msgs::Image_<Allocator>, as ROS's is
// sensor_msgs::Image_<std::allocator<void>>. Not the same argument: ROS's generated headers of further packages name that one, and a
// recompiled message must not come to lie in their structs, which have names that stock libraries share.
#pragma once

#include <memory>

namespace baton::ros1::recompiled {

/// Never allocates: messages are made where baton::ros1::recompiled::Allocated makes them.
// abi_tag: a function that returns a message has a name of its own for the linker, too, so that no stock library's is taken.
struct [[gnu::abi_tag("baton")]] Allocator : std::allocator<void>{};

}  // namespace baton::ros1::recompiled
