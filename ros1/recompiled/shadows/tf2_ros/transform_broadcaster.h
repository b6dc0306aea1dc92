// SPDX-License-Identifier: Apache-2.0
// In the place of tf2_ros's header of this name, with its interface, for recompiled programs. The class lies in an inline
// namespace: <tf2/buffer_core.h> says why.
//
// Thread rules: as the stock class.
#pragma once

#ifdef TF2_ROS_TRANSFORMBROADCASTER_H
#error "tf2_ros's own transform_broadcaster.h was included before Baton's header of that name"
#endif
#define TF2_ROS_TRANSFORMBROADCASTER_H

#include <geometry_msgs/TransformStamped.h>
#include <ros/ros.h>
#include <tf2_msgs/TFMessage.h>

#include <boost/make_shared.hpp>
#include <vector>

namespace tf2_ros {
inline namespace baton_recompiled {

class TransformBroadcaster {
 public:
  TransformBroadcaster() : publisher_(node_.advertise<tf2_msgs::TFMessage>("/tf", 100)) {}

  void sendTransform(const geometry_msgs::TransformStamped& transform) {
    sendTransform(std::vector<geometry_msgs::TransformStamped>{transform});
  }
  void sendTransform(const std::vector<geometry_msgs::TransformStamped>& transforms) {
    const tf2_msgs::TFMessagePtr message = boost::make_shared<tf2_msgs::TFMessage>();
    message->transforms = transforms;
    publisher_.publish(message);
  }

 private:
  ros::NodeHandle node_;
  ros::Publisher publisher_;
};

}  // namespace baton_recompiled
}  // namespace tf2_ros
