// SPDX-License-Identifier: Apache-2.0
// As <tf2_geometry_msgs/tf2_geometry_msgs.h>.
#pragma once

#include <sensor_msgs/PointCloud2.h>
#include <sensor_msgs/point_cloud2_iterator.h>
#include <tf2/convert.h>

#include <Eigen/Eigen>
#include <Eigen/Geometry>

#pragma GCC system_header                // no warnings of the stock code
#define getFrameId baton_stock_frame_id  // tf2/convert.h
#pragma GCC visibility push(hidden)
#include_next <tf2_sensor_msgs/tf2_sensor_msgs.h>
#pragma GCC visibility pop
#undef getFrameId
