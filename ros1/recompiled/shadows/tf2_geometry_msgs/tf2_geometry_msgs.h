// SPDX-License-Identifier: Apache-2.0
// tf2_geometry_msgs' header of this name, which is only code, compiled with recompiled messages. Its functions are hidden: names
// such as tf2::toMsg(tf2::Vector3 const&) say nothing of the message that they return, and stock libraries have them, too. What
// the header includes stands before it here, so that it is not hidden.
#pragma once

#include <geometry_msgs/PointStamped.h>
#include <geometry_msgs/Pose.h>
#include <geometry_msgs/PoseStamped.h>
#include <geometry_msgs/PoseWithCovarianceStamped.h>
#include <geometry_msgs/QuaternionStamped.h>
#include <geometry_msgs/TransformStamped.h>
#include <geometry_msgs/Vector3Stamped.h>
#include <geometry_msgs/Wrench.h>
#include <geometry_msgs/WrenchStamped.h>
#include <ros/macros.h>
#include <tf2/LinearMath/Quaternion.h>
#include <tf2/LinearMath/Transform.h>
#include <tf2/convert.h>

#include <array>
#include <kdl/frames.hpp>

#pragma GCC system_header                // no warnings of the stock code
#define getFrameId baton_stock_frame_id  // tf2/convert.h
#pragma GCC visibility push(hidden)
#include_next <tf2_geometry_msgs/tf2_geometry_msgs.h>
#pragma GCC visibility pop
#undef getFrameId
