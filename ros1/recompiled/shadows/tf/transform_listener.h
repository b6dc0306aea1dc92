// SPDX-License-Identifier: Apache-2.0
// In the place of tf's header of this name, with its interface, for recompiled programs. The class lies in an inline namespace:
// <tf2/buffer_core.h> says why.
//
// Thread rules: as the stock class.
#pragma once

#ifdef TF_TRANSFORMLISTENER_H
#error "tf's own transform_listener.h was included before Baton's header of that name"
#endif
#define TF_TRANSFORMLISTENER_H

#include <geometry_msgs/PointStamped.h>
#include <geometry_msgs/PoseStamped.h>
#include <geometry_msgs/QuaternionStamped.h>
#include <geometry_msgs/Vector3Stamped.h>
#include <ros/callback_queue.h>
#include <ros/macros.h>
#include <ros/ros.h>
#include <sensor_msgs/PointCloud.h>
#include <std_msgs/Empty.h>
#include <tf/FrameGraph.h>
#include <tf/tf.h>
#include <tf/tfMessage.h>
#include <tf2_ros/transform_listener.h>

#include <boost/thread.hpp>
#include <cstddef>
#include <string>

namespace tf {

/// The parameter tf_prefix, or nothing.
inline std::string getPrefixParam(ros::NodeHandle& nh) {
  std::string name, prefix;
  if (nh.searchParam("tf_prefix", name)) nh.getParam(name, prefix);
  return prefix;
}

ROS_DEPRECATED std::string remap(const std::string& frame_id);

inline namespace baton_recompiled {

class TransformListener : public Transformer {
 public:
  TransformListener(
      ros::Duration max_cache_time = ros::Duration(DEFAULT_CACHE_TIME),  // NOLINT(google-explicit-constructor)
      bool spin_thread = true)
      : Transformer(true, max_cache_time), tf2_listener_(*tf2_buffer_ptr_, node_, spin_thread) {}
  TransformListener(const ros::NodeHandle& nh,  // NOLINT(google-explicit-constructor)
                    ros::Duration max_cache_time = ros::Duration(DEFAULT_CACHE_TIME), bool spin_thread = true)
      : Transformer(true, max_cache_time), node_(nh), tf2_listener_(*tf2_buffer_ptr_, node_, spin_thread) {}

  using Transformer::transformPoint;
  using Transformer::transformPose;
  using Transformer::transformQuaternion;
  using Transformer::transformVector;

  void transformQuaternion(const std::string& target_frame, const geometry_msgs::QuaternionStamped& stamped_in,
                           geometry_msgs::QuaternionStamped& stamped_out) const {
    tf::assertQuaternionValid(stamped_in.quaternion);
    Stamped<Quaternion> in, out;
    quaternionStampedMsgToTF(stamped_in, in);
    transformQuaternion(target_frame, in, out);
    quaternionStampedTFToMsg(out, stamped_out);
  }
  void transformVector(const std::string& target_frame, const geometry_msgs::Vector3Stamped& stamped_in,
                       geometry_msgs::Vector3Stamped& stamped_out) const {
    Stamped<Vector3> in, out;
    vector3StampedMsgToTF(stamped_in, in);
    transformVector(target_frame, in, out);
    vector3StampedTFToMsg(out, stamped_out);
  }
  void transformPoint(const std::string& target_frame, const geometry_msgs::PointStamped& stamped_in,
                      geometry_msgs::PointStamped& stamped_out) const {
    Stamped<Point> in, out;
    pointStampedMsgToTF(stamped_in, in);
    transformPoint(target_frame, in, out);
    pointStampedTFToMsg(out, stamped_out);
  }
  void transformPose(const std::string& target_frame, const geometry_msgs::PoseStamped& stamped_in,
                     geometry_msgs::PoseStamped& stamped_out) const {
    tf::assertQuaternionValid(stamped_in.pose.orientation);
    Stamped<Pose> in, out;
    poseStampedMsgToTF(stamped_in, in);
    transformPose(target_frame, in, out);
    poseStampedTFToMsg(out, stamped_out);
  }
  void transformQuaternion(const std::string& target_frame, const ros::Time& target_time,
                           const geometry_msgs::QuaternionStamped& qin, const std::string& fixed_frame,
                           geometry_msgs::QuaternionStamped& qout) const {
    tf::assertQuaternionValid(qin.quaternion);
    Stamped<Quaternion> in, out;
    quaternionStampedMsgToTF(qin, in);
    transformQuaternion(target_frame, target_time, in, fixed_frame, out);
    quaternionStampedTFToMsg(out, qout);
  }
  void transformVector(const std::string& target_frame, const ros::Time& target_time,
                       const geometry_msgs::Vector3Stamped& vin, const std::string& fixed_frame,
                       geometry_msgs::Vector3Stamped& vout) const {
    Stamped<Vector3> in, out;
    vector3StampedMsgToTF(vin, in);
    transformVector(target_frame, target_time, in, fixed_frame, out);
    vector3StampedTFToMsg(out, vout);
  }
  void transformPoint(const std::string& target_frame, const ros::Time& target_time,
                      const geometry_msgs::PointStamped& pin, const std::string& fixed_frame,
                      geometry_msgs::PointStamped& pout) const {
    Stamped<Point> in, out;
    pointStampedMsgToTF(pin, in);
    transformPoint(target_frame, target_time, in, fixed_frame, out);
    pointStampedTFToMsg(out, pout);
  }
  void transformPose(const std::string& target_frame, const ros::Time& target_time,
                     const geometry_msgs::PoseStamped& pin, const std::string& fixed_frame,
                     geometry_msgs::PoseStamped& pout) const {
    tf::assertQuaternionValid(pin.pose.orientation);
    Stamped<Pose> in, out;
    poseStampedMsgToTF(pin, in);
    transformPose(target_frame, target_time, in, fixed_frame, out);
    poseStampedTFToMsg(out, pout);
  }
  void transformPointCloud(const std::string& target_frame, const sensor_msgs::PointCloud& pcin,
                           sensor_msgs::PointCloud& pcout) const {
    StampedTransform by;
    lookupTransform(target_frame, pcin.header.frame_id, pcin.header.stamp, by);
    transformPointCloud(target_frame, by, pcin.header.stamp, pcin, pcout);
  }
  void transformPointCloud(const std::string& target_frame, const ros::Time& target_time,
                           const sensor_msgs::PointCloud& pcin, const std::string& fixed_frame,
                           sensor_msgs::PointCloud& pcout) const {
    StampedTransform by;
    lookupTransform(target_frame, target_time, pcin.header.frame_id, pcin.header.stamp, fixed_frame, by);
    transformPointCloud(target_frame, by, target_time, pcin, pcout);
  }

  bool getFrames(tf::FrameGraph::Request&, tf::FrameGraph::Response& res) {
    res.dot_graph = allFramesAsDot();
    return true;
  }
  std::string resolve(const std::string& frame_name) {
    ros::NodeHandle node("~");
    return tf::resolve(tf::getPrefixParam(node), frame_name);
  }

 protected:
  bool ok() const override { return ros::ok(); }

 private:
  /// `to` may be `from`.
  static void transformPointCloud(const std::string& target_frame, const Transform& by, const ros::Time& target_time,
                                  const sensor_msgs::PointCloud& from, sensor_msgs::PointCloud& to) {
    if (&from != &to) to = from;
    to.header.stamp = target_time;
    to.header.frame_id = target_frame;
    for (geometry_msgs::Point32& point : to.points) {
      const Vector3 turned = by * Vector3(point.x, point.y, point.z);
      point.x = static_cast<float>(turned.x());
      point.y = static_cast<float>(turned.y());
      point.z = static_cast<float>(turned.z());
    }
  }

  ros::NodeHandle node_;  // before the listener
  tf2_ros::TransformListener tf2_listener_;
};

}  // namespace baton_recompiled
}  // namespace tf
