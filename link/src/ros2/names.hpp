// SPDX-License-Identifier: Apache-2.0
// Names of ROS 2 on DDS: topics, types, nodes, the hashes of types (REP 2011, "RIHS01"), and the user data of endpoints and participants, a text
// of the form key=value;.
// Thread rules: pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "baton/message/type.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link::ros2 {

/// "/chatter" -> "rt/chatter".
std::string dds_topic(const std::string& topic);
/// "rt/chatter" -> "/chatter"; nothing for DDS topics that are no topics of ROS (services, ros_discovery_info).
std::optional<std::string> topic_of(const std::string& dds_topic);
/// "std_msgs/String" -> "std_msgs::msg::dds_::String_".
std::string dds_type(const std::string& type_name);
/// The inverse of dds_type(), for texts that people read; a name of another form is returned unchanged.
std::string type_of(const std::string& dds_type);
/// "/left/camera" -> {"/left", "camera"}. Letters that ROS does not permit become '_'.
std::pair<std::string, std::string> node_name(const std::string& node);

std::map<std::string, std::string> parse_user_data(const std::string& text);
std::optional<transport::Gid> gid_of(const std::string& hexadecimal);

/// "RIHS01_<64 hexadecimal digits>" of the ROS 2 definition of a type. Baton's definitions write ROS's `byte` as uint8, and the
/// hash tells the two apart: the fields of the standard types that are `byte` are known by name.
std::string type_hash(const message::Type& type);
/// Whether `hash` is that of a ROS 2 definition of the type, in which any uint8 field may be `byte`. Also true for a hash of another version,
/// which cannot be compared.
bool is_hash_of(const message::Type& type, const std::string& hash);

}  // namespace baton::link::ros2
