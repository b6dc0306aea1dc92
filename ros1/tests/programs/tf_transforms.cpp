// SPDX-License-Identifier: Apache-2.0
// Everything that can be asked of a tf::TransformListener, about a random tree. The test compiles this file both ways and compares
// the lines.
#include <geometry_msgs/PointStamped.h>
#include <geometry_msgs/PoseStamped.h>
#include <geometry_msgs/QuaternionStamped.h>
#include <geometry_msgs/Twist.h>
#include <geometry_msgs/Vector3Stamped.h>
#include <ros/ros.h>
#include <sensor_msgs/PointCloud.h>
#include <tf/transform_listener.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

std::mt19937 random_bits(11);

int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_bits); }
double real() { return number(-10000, 10000) / 77.0; }
tf::Vector3 any_vector() {
  const double x = real(), y = real(), z = real();
  return tf::Vector3(x, y, z);
}
tf::Quaternion any_rotation() {
  const double roll = real(), pitch = real(), yaw = real();
  return tf::createQuaternionFromRPY(roll, pitch, yaw);
}

const std::vector<std::string> kFrames = {"map", "odom", "base", "sensor", "/tool", "other", "nowhere", ""};
std::string any_frame() { return kFrames[static_cast<std::size_t>(number(0, number(1, 4) == 1 ? 7 : 4))]; }
ros::Time any_time() { return number(1, 5) == 1 ? ros::Time() : ros::Time(100) + ros::Duration(number(-4, 84) / 8.0); }

std::ostream& operator<<(std::ostream& out, const tf::Vector3& v) {
  return out << v.x() << ' ' << v.y() << ' ' << v.z();
}
std::ostream& operator<<(std::ostream& out, const tf::Quaternion& q) {
  return out << q.x() << ' ' << q.y() << ' ' << q.z() << ' ' << q.w();
}
std::ostream& operator<<(std::ostream& out, const tf::Transform& t) {
  return out << t.getOrigin() << ' ' << t.getRotation();
}
template <class T>
void print(const tf::Stamped<T>& stamped) {
  std::cout << stamped.frame_id_ << ' ' << stamped.stamp_ << ' ' << static_cast<const T&>(stamped) << '\n';
}
void print(const tf::StampedTransform& t) {
  std::cout << t.frame_id_ << ' ' << t.child_frame_id_ << ' ' << t.stamp_ << ' ' << static_cast<const tf::Transform&>(t)
            << '\n';
}

template <class Ask>
void try_to(Ask&& ask) {
  try {
    ask();
  } catch (const tf::LookupException& error) {
    std::cout << "LookupException " << error.what() << '\n';
  } catch (const tf::ConnectivityException& error) {
    std::cout << "ConnectivityException " << error.what() << '\n';
  } catch (const tf::ExtrapolationException& error) {
    std::cout << "ExtrapolationException " << error.what() << '\n';
  } catch (const tf::InvalidArgument& error) {
    std::cout << "InvalidArgument " << error.what() << '\n';
  }
}

/// Without digits: how long it took is among them.
std::string without_digits(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; }),
             text.end());
  const std::size_t exponent = text.find("e- timeout");
  return exponent == std::string::npos ? text : text.erase(exponent, 2);
}

void fill(tf::Transformer& tree) {
  for (int i = 0; i <= 10; ++i) {
    const auto add = [&](const char* parent, const char* child) {
      const tf::Quaternion rotation = any_rotation();
      const tf::StampedTransform transform(tf::Transform(rotation, any_vector()), ros::Time(100 + i), parent, child);
      std::cout << tree.setTransform(transform, "authority");
    };
    add("map", "odom");
    add("odom", "base");
    add("base", "sensor");
    add("base", "tool");
    add("elsewhere", "other");
  }
  std::cout << '\n';
}

void ask(const tf::TransformListener& tree) {
  const std::string target = any_frame(), source = any_frame(), fixed = any_frame();
  const ros::Time time = any_time(), other_time = any_time();
  std::cout << target << ' ' << source << ' ' << fixed << ' ' << time << ' ' << other_time << '\n';
  const auto both_ways = [&](auto in, const auto& simple, const auto& advanced) {
    auto out = in;
    try_to([&] { simple(in, out); });
    try_to([&] { advanced(in, out); });
  };
  try_to([&] {
    tf::StampedTransform found;
    tree.lookupTransform(target, source, time, found);
    print(found);
    tree.lookupTransform(target, time, source, other_time, fixed, found);
    print(found);
  });
  std::string error, advanced_error;
  std::cout << tree.canTransform(target, source, time, &error) << ' ' << error << ' '
            << tree.canTransform(target, time, source, other_time, fixed, &advanced_error) << ' ' << advanced_error
            << '\n';
  std::cout << tree.waitForTransform(target, source, time, ros::Duration(0.001), ros::Duration(0.01), &error) << ' '
            << without_digits(error) << '\n';
  std::cout << tree.waitForTransform(target, time, source, other_time, fixed, ros::Duration(0), ros::Duration(0.01),
                                     &error)
            << ' ' << without_digits(error) << '\n';
  ros::Time latest;
  std::string reason;
  std::cout << tree.getLatestCommonTime(source, target, latest, &reason) << ' ' << latest << ' ' << reason << '\n';
  std::string parent;
  try_to([&] { std::cout << tree.getParent(source, time, parent) << ' ' << parent << '\n'; });
  std::cout << tree.frameExists(source) << '\n';
  try_to([&] {
    std::vector<std::string> chain;
    tree.chainAsVector(target, time, source, other_time, fixed, chain);
    for (const std::string& frame : chain) std::cout << frame << ' ';
    std::cout << '\n';
  });

  geometry_msgs::Twist twist;
  try_to([&] {
    tree.lookupTwist(source, target, time, ros::Duration(number(1, 8) / 4.0), twist);
    std::cout << twist;
    tree.lookupTwist(source, target, fixed, any_vector(), source, time, ros::Duration(1), twist);
    std::cout << twist;
  });

  both_ways(
      tf::Stamped<tf::Quaternion>(any_rotation(), time, source),
      [&](const auto& in, auto& out) { tree.transformQuaternion(target, in, out), print(out); },
      [&](const auto& in, auto& out) { tree.transformQuaternion(target, other_time, in, fixed, out), print(out); });
  both_ways(
      tf::Stamped<tf::Vector3>(any_vector(), time, source),
      [&](const auto& in, auto& out) { tree.transformVector(target, in, out), print(out); },
      [&](const auto& in, auto& out) { tree.transformVector(target, other_time, in, fixed, out), print(out); });
  both_ways(
      tf::Stamped<tf::Point>(any_vector(), time, source),
      [&](const auto& in, auto& out) { tree.transformPoint(target, in, out), print(out); },
      [&](const auto& in, auto& out) { tree.transformPoint(target, other_time, in, fixed, out), print(out); });
  const tf::Quaternion rotation = any_rotation();
  tf::Stamped<tf::Pose> pose(tf::Pose(rotation, any_vector()), time, source);
  both_ways(
      pose, [&](const auto& in, auto& out) { tree.transformPose(target, in, out), print(out); },
      [&](const auto& in, auto& out) { tree.transformPose(target, other_time, in, fixed, out), print(out); });

  geometry_msgs::PoseStamped pose_message;
  tf::poseStampedTFToMsg(pose, pose_message);
  geometry_msgs::QuaternionStamped quaternion;
  quaternion.header = pose_message.header;
  quaternion.quaternion = number(1, 9) == 1 ? geometry_msgs::Quaternion() : tf::createQuaternionMsgFromYaw(real());
  if (number(1, 9) == 1) quaternion.quaternion.x = std::numeric_limits<double>::quiet_NaN();
  geometry_msgs::Vector3Stamped vector;
  vector.header = pose_message.header;
  tf::vector3TFToMsg(any_vector(), vector.vector);
  geometry_msgs::PointStamped point;
  point.header = pose_message.header;
  tf::pointTFToMsg(any_vector(), point.point);
  sensor_msgs::PointCloud cloud;
  cloud.header = pose_message.header;
  cloud.points.resize(3);
  for (auto& each : cloud.points) {
    each.x = static_cast<float>(real());
    each.y = static_cast<float>(real());
    each.z = static_cast<float>(real());
  }
  cloud.channels.resize(1);
  cloud.channels[0].name = "intensity";
  cloud.channels[0].values.assign(3, 0.5F);
  both_ways(
      pose_message, [&](const auto& in, auto& out) { tree.transformPose(target, in, out), std::cout << out; },
      [&](const auto& in, auto& out) { tree.transformPose(target, other_time, in, fixed, out), std::cout << out; });
  both_ways(
      quaternion, [&](const auto& in, auto& out) { tree.transformQuaternion(target, in, out), std::cout << out; },
      [&](const auto& in, auto& out) {
        tree.transformQuaternion(target, other_time, in, fixed, out), std::cout << out;
      });
  both_ways(
      vector, [&](const auto& in, auto& out) { tree.transformVector(target, in, out), std::cout << out; },
      [&](const auto& in, auto& out) { tree.transformVector(target, other_time, in, fixed, out), std::cout << out; });
  both_ways(
      point, [&](const auto& in, auto& out) { tree.transformPoint(target, in, out), std::cout << out; },
      [&](const auto& in, auto& out) { tree.transformPoint(target, other_time, in, fixed, out), std::cout << out; });
  both_ways(
      cloud, [&](const auto& in, auto& out) { tree.transformPointCloud(target, in, out), std::cout << out; },
      [&](const auto& in, auto& out) {
        tree.transformPointCloud(target, other_time, in, fixed, out), std::cout << out;
      });
  try_to([&] {
    tree.transformPointCloud(target, cloud, cloud);
    std::cout << cloud;
  });
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "tf_transforms", ros::init_options::NoSigintHandler);
  std::cout << std::setprecision(17);
  tf::TransformListener tree(ros::Duration(60));
  std::cout << tree.isUsingDedicatedThread() << ' ' << tree.getCacheLength() << ' ' << tree.getTFPrefix() << '\n';
  int changes = 0;
  boost::signals2::connection connection = tree.addTransformsChangedListener([&] { ++changes; });
  fill(tree);
  std::cout << changes << " changes\n";
  tree.removeTransformsChangedListener(connection);
  for (int i = 0; i < 600; ++i) ask(tree);
  std::cout << tree.allFramesAsString() << tree.allFramesAsDot() << tree.allFramesAsDot(120) << tree.resolve("frame")
            << ' ' << tf::resolve("prefix", "frame") << ' ' << tf::strip_leading_slash("/frame") << '\n';
  std::vector<std::string> frames;
  tree.getFrameStrings(frames);
  std::sort(frames.begin(), frames.end());
  for (const std::string& frame : frames) std::cout << frame << '\n';
  std::cout << tf::Transformer::DEFAULT_CACHE_TIME << ' ' << tree.getTF2BufferPtr()->_frameExists("odom") << '\n';
  tree.setExtrapolationLimit(ros::Duration(1));
  tree.clear();
  std::cout << tree.frameExists("odom") << '\n';
  tf::Transformer own;
  std::cout << own.isUsingDedicatedThread() << ' ' << own.getCacheLength() << '\n';
  own.setUsingDedicatedThread(true);
  fill(own);
}
