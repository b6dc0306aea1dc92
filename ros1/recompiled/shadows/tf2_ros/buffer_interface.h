// SPDX-License-Identifier: Apache-2.0
// tf2_ros's header of this name, which is only code, in an inline namespace: <tf2/buffer_core.h> says why.
#pragma once

#include <geometry_msgs/TransformStamped.h>
#include <tf2/buffer_core.h>
#include <tf2/convert.h>
#include <tf2/exceptions.h>
#include <tf2/transform_datatypes.h>

#include <sstream>

namespace tf2_ros {
inline namespace baton_recompiled {}
}  // namespace tf2_ros

#pragma GCC system_header  // no warnings of the stock code
#define tf2_ros tf2_ros::baton_recompiled
#include_next <tf2_ros/buffer_interface.h>
#undef tf2_ros
