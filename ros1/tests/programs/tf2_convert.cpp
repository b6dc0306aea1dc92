// SPDX-License-Identifier: Apache-2.0
// Messages and classes of tf2, KDL and Eigen through tf2_ros::Buffer::transform() and tf2's conversions. The test compiles this
// file both ways and compares the lines.
#include <geometry_msgs/PointStamped.h>
#include <geometry_msgs/PoseStamped.h>
#include <geometry_msgs/PoseWithCovarianceStamped.h>
#include <geometry_msgs/QuaternionStamped.h>
#include <geometry_msgs/TransformStamped.h>
#include <geometry_msgs/Vector3Stamped.h>
#include <geometry_msgs/WrenchStamped.h>
#include <sensor_msgs/PointCloud2.h>
#include <sensor_msgs/point_cloud2_iterator.h>
#include <tf2/utils.h>
#include <tf2_eigen/tf2_eigen.h>
#include <tf2_geometry_msgs/tf2_geometry_msgs.h>
#include <tf2_ros/buffer.h>
#include <tf2_sensor_msgs/tf2_sensor_msgs.h>

#include <array>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <random>
#include <string>

namespace {

std::mt19937 random_bits(5);

double number() { return std::uniform_int_distribution<int>(-10000, 10000)(random_bits) / 77.0; }

template <class Vector>
void fill_vector(Vector& vector) {
  vector.x = number();
  vector.y = number();
  vector.z = number();
}
void fill_quaternion(geometry_msgs::Quaternion& q) {
  const double x = number(), y = number(), z = number(), w = 0.1 + std::fabs(number());
  const double length = std::sqrt(x * x + y * y + z * z + w * w);
  q.x = x / length;
  q.y = y / length;
  q.z = z / length;
  q.w = w / length;
}
std_msgs::Header header(const std::string& frame, double stamp) {
  std_msgs::Header result;
  result.frame_id = frame;
  result.stamp = ros::Time(stamp);
  return result;
}
void fill_pose(geometry_msgs::Pose& pose) {
  fill_vector(pose.position);
  fill_quaternion(pose.orientation);
}

/// In the buffer: map <- odom <- base at times 10 to 20, base <- sensor static.
void fill(tf2_ros::Buffer& buffer) {
  geometry_msgs::TransformStamped transform;
  const auto add = [&](const char* parent, const char* child, double stamp, bool is_static) {
    transform.header = header(parent, stamp);
    transform.child_frame_id = child;
    fill_vector(transform.transform.translation);
    fill_quaternion(transform.transform.rotation);
    buffer.setTransform(transform, "here", is_static);
  };
  for (int i = 0; i <= 10; ++i) {
    add("map", "odom", 10 + i, false);
    add("odom", "base", 10 + i, false);
  }
  add("base", "sensor", 10, true);
}

void print(const tf2::Vector3& v) { std::cout << v.x() << ' ' << v.y() << ' ' << v.z() << '\n'; }
void print(const tf2::Quaternion& q) { std::cout << q.x() << ' ' << q.y() << ' ' << q.z() << ' ' << q.w() << '\n'; }
void print(const tf2::Transform& t) {
  print(t.getOrigin());
  print(t.getRotation());
}

/// Transforms a message in all ways. `T` is a message, or a tf2::Stamped.
template <class T>
T transform_in_all_ways(const tf2_ros::Buffer& buffer, const T& in) {
  for (const char* target : {"map", "odom", "base", "sensor", "nowhere"}) {
    try {
      const T out = buffer.transform(in, target);
      std::cout << out << tf2::getFrameId(out) << ' ' << tf2::getTimestamp(out) << '\n';
      T other;
      buffer.transform(in, other, target, ros::Time(12.25), "map");
      std::cout << other;
      std::cout << buffer.transform(in, target, ros::Time(40), "odom");
    } catch (const tf2::TransformException& error) {
      std::cout << error.what() << '\n';
    }
  }
  return buffer.transform(in, "map");
}

void transform_messages(const tf2_ros::Buffer& buffer, double stamp) {
  geometry_msgs::PointStamped point;
  point.header = header("sensor", stamp);
  fill_vector(point.point);
  transform_in_all_ways(buffer, point);
  geometry_msgs::Vector3Stamped vector;
  vector.header = header("base", stamp);
  fill_vector(vector.vector);
  transform_in_all_ways(buffer, vector);
  geometry_msgs::QuaternionStamped quaternion;
  quaternion.header = header("sensor", stamp);
  fill_quaternion(quaternion.quaternion);
  transform_in_all_ways(buffer, quaternion);
  geometry_msgs::PoseStamped pose;
  pose.header = header("odom", stamp);
  fill_pose(pose.pose);
  const geometry_msgs::PoseStamped moved = transform_in_all_ways(buffer, pose);
  std::cout << tf2::getYaw(moved.pose.orientation) << '\n';
  geometry_msgs::PoseWithCovarianceStamped uncertain;
  uncertain.header = header("sensor", stamp);
  fill_pose(uncertain.pose.pose);
  for (double& each : uncertain.pose.covariance) each = number();
  transform_in_all_ways(buffer, uncertain);
  geometry_msgs::WrenchStamped wrench;
  wrench.header = header("sensor", stamp);
  fill_vector(wrench.wrench.force);
  fill_vector(wrench.wrench.torque);
  transform_in_all_ways(buffer, wrench);
  geometry_msgs::TransformStamped transform;
  transform.header = header("base", stamp);
  transform.child_frame_id = "tool";
  fill_vector(transform.transform.translation);
  fill_quaternion(transform.transform.rotation);
  transform_in_all_ways(buffer, transform);

  sensor_msgs::PointCloud2 cloud;
  cloud.header = header("sensor", stamp);
  sensor_msgs::PointCloud2Modifier modifier(cloud);
  modifier.setPointCloud2FieldsByString(2, "xyz", "rgb");
  modifier.resize(7);
  sensor_msgs::PointCloud2Iterator<float> x(cloud, "x");
  for (; x != x.end(); ++x) {
    for (int i = 0; i < 3; ++i) x[i] = static_cast<float>(number());
  }
  const sensor_msgs::PointCloud2 moved_cloud = transform_in_all_ways(buffer, cloud);
  for (sensor_msgs::PointCloud2ConstIterator<float> at(moved_cloud, "x"); at != at.end(); ++at) {
    std::cout << at[0] << ' ' << at[1] << ' ' << at[2] << '\n';
  }
}

void convert() {
  geometry_msgs::PoseStamped pose;
  pose.header = header("somewhere", 3.5);
  fill_pose(pose.pose);
  tf2::Stamped<tf2::Transform> stamped;
  tf2::fromMsg(pose, stamped);
  print(stamped);
  std::cout << tf2::getFrameId(stamped) << ' ' << tf2::getTimestamp(stamped) << '\n';
  geometry_msgs::PoseStamped back;
  std::cout << tf2::toMsg(stamped, back) << tf2::toMsg(stamped) << tf2::toMsg(static_cast<tf2::Transform>(stamped));
  tf2::Quaternion q;
  tf2::convert(pose.pose.orientation, q);
  print(q);
  geometry_msgs::Quaternion message;
  tf2::convert(q, message);
  std::cout << message << tf2::toMsg(q);
  message = tf2::toMsg(q * tf2::Quaternion(0, 0, 1, 0));
  double yaw = 0, pitch = 0, roll = 0;
  tf2::getEulerYPR(message, yaw, pitch, roll);
  std::cout << yaw << ' ' << pitch << ' ' << roll << ' ' << tf2::getYaw(q) << '\n';
  tf2::Vector3 v;
  tf2::fromMsg(pose.pose.position, v);
  geometry_msgs::Vector3 vector;
  tf2::convert(v, vector);
  std::cout << vector << tf2::toMsg(v);
  geometry_msgs::Vector3Stamped vector_stamped = tf2::toMsg(tf2::Stamped<tf2::Vector3>(v, ros::Time(7), "there"));
  std::cout << vector_stamped;
  tf2::Stamped<std::array<tf2::Vector3, 2>> pair;
  pair[0] = v;
  pair[1] = v * 2;
  pair.frame_id_ = "pair";
  geometry_msgs::WrenchStamped wrench;
  std::cout << tf2::toMsg(pair, wrench);
  geometry_msgs::TransformStamped transform;
  transform.header = header("parent", 1);
  transform.child_frame_id = "child";
  fill_vector(transform.transform.translation);
  fill_quaternion(transform.transform.rotation);
  tf2::Transform matrix;
  tf2::fromMsg(transform.transform, matrix);
  print(matrix);
  std::cout << tf2::getTransformIdentity<geometry_msgs::Transform>();
  const Eigen::Isometry3d eigen = tf2::transformToEigen(transform);
  std::cout << eigen.matrix() << '\n' << tf2::eigenToTransform(eigen);
  Eigen::Vector3d point(1, 2, 3);
  std::cout << tf2::toMsg(point) << '\n';
  geometry_msgs::Pose of_eigen = tf2::toMsg(eigen);
  Eigen::Isometry3d again;
  tf2::fromMsg(of_eigen, again);
  std::cout << again.matrix() << '\n';
  tf2::doTransform(point, point, transform);
  std::cout << point.transpose() << '\n';
}

/// Without how long it took.
void print_answer(bool can, const std::string& error) {
  static const std::string kBefore = "canTransform returned after ";
  const std::size_t at = error.find(kBefore);
  std::cout << can << ' ' << error.substr(0, at == std::string::npos ? at : at + kBefore.size());
  if (at != std::string::npos) std::cout << error.substr(error.find(' ', at + kBefore.size()));
  std::cout << '\n';
}

void wait(tf2_ros::Buffer& buffer) {
  const auto ask = [&](ros::Duration timeout) {
    std::string error = "before";
    bool can = buffer.canTransform("map", "sensor", ros::Time(15.5), timeout, &error);
    print_answer(can, error);
    can = buffer.canTransform("map", ros::Time(12), "nowhere", ros::Time(15.5), "odom", timeout, &error);
    print_answer(can, error);
    try {
      std::cout << buffer.lookupTransform("map", "sensor", ros::Time(17), timeout);
      std::cout << buffer.lookupTransform("map", ros::Time(11), "base", ros::Time(17), "odom", timeout);
      std::cout << buffer.lookupTransform("map", "sensor", ros::Time(170), timeout);
    } catch (const tf2::ExtrapolationException& exception) {
      std::cout << exception.what() << '\n';
    }
  };
  ask(ros::Duration(0.05));
  std::cout << tf2_ros::threading_error << '\n';
  buffer.setUsingDedicatedThread(true);
  ask(ros::Duration(0));
  ask(ros::Duration(0.05));
  tf2_ros::BufferInterface& as_interface = buffer;
  std::cout << as_interface.canTransform("map", "base", ros::Time(12), ros::Duration(0)) << '\n';
}

}  // namespace

int main() {
  ros::Time::init();
  std::cout << std::setprecision(17);
  tf2_ros::Buffer buffer(ros::Duration(30));
  fill(buffer);
  for (double stamp : {10.0, 12.5, 13.75, 20.0, 25.0, 0.0}) {
    try {
      transform_messages(buffer, stamp);
    } catch (const tf2::TransformException& error) {
      std::cout << error.what() << '\n';
    }
  }
  convert();
  wait(buffer);
  std::cout << buffer.allFramesAsYAML() << buffer.getCacheLength() << '\n';
}
