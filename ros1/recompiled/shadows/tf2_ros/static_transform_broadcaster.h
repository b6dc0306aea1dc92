// SPDX-License-Identifier: Apache-2.0
// In the place of tf2_ros's header of this name, with its interface, for recompiled programs. The class lies in an inline
// namespace: <tf2/buffer_core.h> says why.
//
// Thread rules: as the stock class.
#pragma once

#ifdef TF2_ROS_STATICTRANSFORMBROADCASTER_H
#error "tf2_ros's own static_transform_broadcaster.h was included before Baton's header of that name"
#endif
#define TF2_ROS_STATICTRANSFORMBROADCASTER_H

#include <geometry_msgs/TransformStamped.h>
#include <ros/ros.h>
#include <tf2_msgs/TFMessage.h>

#include <algorithm>
#include <vector>

namespace tf2_ros {
inline namespace baton_recompiled {

class StaticTransformBroadcaster {
 public:
  StaticTransformBroadcaster() : publisher_(node_.advertise<tf2_msgs::TFMessage>("/tf_static", 100, true)) {}

  void sendTransform(const geometry_msgs::TransformStamped& transform) {
    sendTransform(std::vector<geometry_msgs::TransformStamped>{transform});
  }
  /// The latched message has the last transform of each child frame that was ever sent here.
  void sendTransform(const std::vector<geometry_msgs::TransformStamped>& transforms) {
    for (const geometry_msgs::TransformStamped& transform : transforms) {
      auto& all = sent_.transforms;
      const auto known = std::find_if(all.begin(), all.end(), [&](const geometry_msgs::TransformStamped& each) {
        return each.child_frame_id == transform.child_frame_id;
      });
      if (known != all.end()) {
        *known = transform;
      } else {
        all.push_back(transform);
      }
    }
    publisher_.publish(sent_);
  }

 private:
  ros::NodeHandle node_;
  ros::Publisher publisher_;
  tf2_msgs::TFMessage sent_;
};

}  // namespace baton_recompiled
}  // namespace tf2_ros
