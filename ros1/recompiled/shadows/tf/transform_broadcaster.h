// SPDX-License-Identifier: Apache-2.0
// In the place of tf's header of this name, with its interface, for recompiled programs. The class lies in an inline namespace:
// <tf2/buffer_core.h> says why.
//
// Thread rules: as the stock class.
#pragma once

#ifdef TF_TRANSFORMBROADCASTER_H
#error "tf's own transform_broadcaster.h was included before Baton's header of that name"
#endif
#define TF_TRANSFORMBROADCASTER_H

#include <geometry_msgs/TransformStamped.h>
#include <tf/tf.h>
#include <tf/tfMessage.h>
#include <tf2_ros/transform_broadcaster.h>

#include <vector>

namespace tf {
inline namespace baton_recompiled {

class TransformBroadcaster {
 public:
  TransformBroadcaster() = default;

  void sendTransform(const StampedTransform& transform) { sendTransform(std::vector<StampedTransform>{transform}); }
  void sendTransform(const std::vector<StampedTransform>& transforms) {
    std::vector<geometry_msgs::TransformStamped> messages(transforms.size());
    for (std::size_t i = 0; i < transforms.size(); ++i) transformStampedTFToMsg(transforms[i], messages[i]);
    sendTransform(messages);
  }
  void sendTransform(const geometry_msgs::TransformStamped& transform) { tf2_broadcaster_.sendTransform(transform); }
  void sendTransform(const std::vector<geometry_msgs::TransformStamped>& transforms) {
    tf2_broadcaster_.sendTransform(transforms);
  }
  /// A message's own array, for example of tf::tfMessage.
  void sendTransform(const baton::sfm::Vector<geometry_msgs::TransformStamped>& transforms) {
    sendTransform(std::vector<geometry_msgs::TransformStamped>(transforms));
  }

 private:
  tf2_ros::TransformBroadcaster tf2_broadcaster_;
};

}  // namespace baton_recompiled
}  // namespace tf
