// SPDX-License-Identifier: Apache-2.0
// As <tf2_geometry_msgs/tf2_geometry_msgs.h>.
#pragma once

#include <geometry_msgs/Point.h>
#include <geometry_msgs/PointStamped.h>
#include <geometry_msgs/PoseStamped.h>
#include <geometry_msgs/QuaternionStamped.h>
#include <geometry_msgs/Twist.h>
#include <tf2/convert.h>

#include <Eigen/Geometry>

#pragma GCC system_header                // no warnings of the stock code
#define getFrameId baton_stock_frame_id  // tf2/convert.h
#pragma GCC visibility push(hidden)
#include_next <tf2_eigen/tf2_eigen.h>
#pragma GCC visibility pop
#undef getFrameId
