// SPDX-License-Identifier: Apache-2.0
// Stock users of tf2_ros: "broadcaster" publishes the moving frame robot in world and the static frame camera in robot;
// "listener" prints the transform from world to camera at each of its stamps.
#include <geometry_msgs/TransformStamped.h>
#include <ros/ros.h>
#include <tf2_ros/static_transform_broadcaster.h>
#include <tf2_ros/transform_broadcaster.h>
#include <tf2_ros/transform_listener.h>

#include <cstdio>
#include <string>

namespace {

constexpr int kStamps = 5;
ros::Time stamp(int i) { return ros::Time(1000 + i, 0); }

geometry_msgs::TransformStamped transform(int i, const char* parent, const char* child) {
  geometry_msgs::TransformStamped result;
  result.header.stamp = stamp(i);
  result.header.frame_id = parent;
  result.child_frame_id = child;
  result.transform.translation.x = 0.1 * i;
  result.transform.translation.y = 2;
  result.transform.rotation.z = 0.6;
  result.transform.rotation.w = 0.8;
  return result;
}

void broadcast() {
  tf2_ros::TransformBroadcaster moving;
  tf2_ros::StaticTransformBroadcaster fixed;
  fixed.sendTransform(transform(0, "robot", "camera"));
  for (ros::WallRate rate(50); ros::ok(); rate.sleep()) {
    for (int i = 0; i < kStamps; ++i) moving.sendTransform(transform(i, "world", "robot"));
  }
}

void listen() {
  tf2_ros::Buffer buffer(ros::Duration(1000));
  const tf2_ros::TransformListener listener(buffer);
  for (int i = 0; i < kStamps; ++i) {
    while (!buffer.canTransform("world", "camera", stamp(i))) ros::WallDuration(0.01).sleep();
    const auto found = buffer.lookupTransform("world", "camera", stamp(i)).transform;
    std::printf("%d %a %a %a %a %a\n", i, found.translation.x, found.translation.y, found.translation.z,
                found.rotation.z, found.rotation.w);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "tf", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc < 2) return 2;
  const ros::NodeHandle node;
  std::string(argv[1]) == "listener" ? listen() : broadcast();
}
