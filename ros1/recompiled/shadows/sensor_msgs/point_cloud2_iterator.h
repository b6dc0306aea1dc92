// SPDX-License-Identifier: Apache-2.0
// sensor_msgs' header of this name, which is only code, in an inline namespace: names such as
// sensor_msgs::PointCloud2Modifier::resize(unsigned long) say nothing of the message, and stock libraries have them, too.
#pragma once

#include <sensor_msgs/PointCloud2.h>
#include <sensor_msgs/PointField.h>

#include <cstdarg>
#include <sstream>
#include <string>
#include <vector>

namespace sensor_msgs {
inline namespace baton_recompiled {
using ::sensor_msgs::PointCloud2;
using ::sensor_msgs::PointField;
}  // namespace baton_recompiled
}  // namespace sensor_msgs

#pragma GCC system_header  // no warnings of the stock code
#define sensor_msgs sensor_msgs::baton_recompiled
#include_next <sensor_msgs/point_cloud2_iterator.h>
#undef sensor_msgs
