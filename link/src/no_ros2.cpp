// SPDX-License-Identifier: Apache-2.0
// The side towards ROS 2 nodes where Cyclone DDS is not linked: in the library, and in builds without Cyclone.
#include "ros2/ros2.hpp"

namespace baton::link {

Result<void> ros2_side_available(const std::string&) {
  return Error{Errc::unsupported,
               "this link has no side towards ROS 2 nodes without Baton: run `baton link --ros2` of a build that found "
               "Cyclone DDS "
               "0.10 (Debian 12: cyclonedds-dev)"};
}

Result<std::unique_ptr<Ros2Side>> make_ros2_side(std::shared_ptr<transport::Participant>, std::shared_ptr<LinkLog>,
                                                 std::shared_ptr<TypeCache>, const Ros2Options&) {
  return ros2_side_available({}).error();
}

}  // namespace baton::link
