// SPDX-License-Identifier: Apache-2.0
// The texts of a bag about a type and about a topic's quality of service, in the form of ROS 2's tools.
// Thread rules: pure functions.
#pragma once

#include <string>
#include <vector>

#include "baton/message/type.hpp"
#include "baton/transport/qos.hpp"
#include "baton/transport/transport.hpp"

namespace baton::record {

/// "sensor_msgs/msg/Image" for "sensor_msgs/Image"; types that ROS 2 generates of services and actions are in "srv" and "action".
std::string ros2_type_name(const std::string& name);
/// The schema "ros2msg": the fields of the type and of each type that it reaches, without constants and comments.
std::string ros2_schema(const message::Type& type);
/// Quality of service as YAML, in the form that all versions of rosbag2 read.
std::string ros2_qos(const std::vector<QoS>& offered);
/// "RIHS01_..."; empty without a hash.
std::string ros2_type_hash(const transport::RosTypeHash& hash);

}  // namespace baton::record
