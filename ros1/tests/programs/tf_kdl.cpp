// SPDX-License-Identifier: Apache-2.0
// Every function of tf2_kdl, tf2_bullet (if it is installed) and tf_conversions with random arguments, compiled as it is and recompiled.
#include <geometry_msgs/TransformStamped.h>
#include <tf/transform_datatypes.h>
#include <tf2/buffer_core.h>
#include <tf2_geometry_msgs/tf2_geometry_msgs.h>
#include <tf2_kdl/tf2_kdl.h>
#include <tf2_ros/buffer.h>
#include <tf_conversions/tf_eigen.h>
#include <tf_conversions/tf_kdl.h>
#if __has_include(<tf2_bullet/tf2_bullet.h>) && __has_include(<LinearMath/btTransform.h>)
#include <tf2_bullet/tf2_bullet.h>
#define WITH_BULLET
#endif

#include <iostream>
#include <random>

namespace {

std::mt19937 g_random(19);
double number() { return static_cast<double>(g_random() % 2001) / 100 - 10; }
KDL::Vector vector() { return {number(), number(), number()}; }
const ros::Time kTime(5);

geometry_msgs::TransformStamped transform() {
  geometry_msgs::TransformStamped out;
  out.header.frame_id = "map";
  out.header.stamp = kTime;
  out.child_frame_id = "robot";
  out.transform.translation.x = number();
  out.transform.translation.y = number();
  out.transform.rotation.z = 0.6;
  out.transform.rotation.w = 0.8;
  return out;
}

/// There and back by the messages, and by the buffer.
template <class T>
void pass(const tf2_ros::Buffer& buffer, const T& value) {
  const tf2::Stamped<T> stamped(value, kTime, "robot");
  const tf2::Stamped<T> moved = buffer.transform(stamped, "map");
  auto message = tf2::toMsg(moved);
  std::cout << message << '\n';
  tf2::Stamped<T> back;
  tf2::fromMsg(message, back);
  tf2::convert(back, message);
  tf2::convert(message, back);
  std::cout << message << back.frame_id_ << back.stamp_ << '\n';
}

void of_tf2(const tf2_ros::Buffer& buffer, const geometry_msgs::TransformStamped& given) {
  pass(buffer, vector());
  pass(buffer, KDL::Twist(vector(), vector()));
  pass(buffer, KDL::Wrench(vector(), vector()));
  const KDL::Frame frame(KDL::Rotation::RPY(number(), number(), number()), vector());
  pass(buffer, frame);
  const geometry_msgs::Pose pose = tf2::toMsg(frame);
  KDL::Frame back;
  tf2::fromMsg(pose, back);
  std::cout << pose << tf2::kdlToTransform(back) << tf2::transformToKDL(given).p.x() << '\n';
#ifdef WITH_BULLET
  pass(buffer, btVector3(1, 2, 3));
  const tf2::Stamped<btTransform> of_bullet(tf2::transformToBullet(given), kTime, "robot");
  std::cout << buffer.transform(of_bullet, "map").getOrigin().x() << '\n';
#endif
}

void of_tf() {
  const tf::Pose pose(tf::Quaternion(0, 0, 0.6, 0.8), tf::Vector3(number(), number(), number()));
  tf::Pose back;
  KDL::Frame frame;
  tf::poseTFToKDL(pose, frame);
  tf::poseKDLToTF(frame, back);
  geometry_msgs::Pose message;
  tf::poseTFToMsg(back, message);
  std::cout << message;
  Eigen::Affine3d affine;
  Eigen::Isometry3d isometry;
  tf::poseTFToEigen(pose, affine);
  tf::transformTFToEigen(pose, isometry);
  tf::poseEigenToTF(isometry, back);
  tf::poseTFToMsg(back, message);
  std::cout << message << affine.matrix() << '\n';
}

}  // namespace

int main() {
  for (int round = 0; round < 50; ++round) {
    tf2_ros::Buffer buffer;
    buffer.setUsingDedicatedThread(true);
    const geometry_msgs::TransformStamped given = transform();
    buffer.setTransform(given, "test", true);
    of_tf2(buffer, given);
    of_tf();
  }
}
