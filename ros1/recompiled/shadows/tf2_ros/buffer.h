// SPDX-License-Identifier: Apache-2.0
// In the place of tf2_ros's header of this name, with its interface, for recompiled programs. The class lies in an inline
// namespace: <tf2/buffer_core.h> says why.
//
// Thread rules: as the stock class.
#pragma once

#ifdef TF2_ROS_BUFFER_H
#error "tf2_ros's own buffer.h was included before Baton's header of that name"
#endif
#define TF2_ROS_BUFFER_H

#include <ros/ros.h>
#include <tf2/buffer_core.h>
#include <tf2/convert.h>
#include <tf2_msgs/FrameGraph.h>
#include <tf2_ros/buffer_interface.h>

#include <sstream>
#include <string>

namespace tf2_ros {

static const std::string threading_error =
    "Do not call canTransform or lookupTransform with a timeout unless you are using another thread for populating "
    "data. Without a dedicated thread it will always timeout.  If you have a separate thread servicing tf messages, "
    "call setUsingDedicatedThread(true) on your Buffer instance.";

inline namespace baton_recompiled {

namespace detail {

/// ROS's time, or the wall clock's before ROS has one.
inline ros::Time now() {
  try {
    return ros::Time::now();
  } catch (const ros::TimeNotInitializedException&) {
    const ros::WallTime wall = ros::WallTime::now();
    return ros::Time(wall.sec, wall.nsec);
  }
}

inline void sleep(const ros::Duration& duration) {
  try {
    duration.sleep();
  } catch (const ros::TimeNotInitializedException&) {
    ros::WallDuration(duration.sec, duration.nsec).sleep();
  }
}

}  // namespace detail

class Buffer : public BufferInterface, public tf2::BufferCore {
 public:
  using tf2::BufferCore::canTransform;
  using tf2::BufferCore::lookupTransform;

  /// `debug`: offers the service ~tf2_frames.
  Buffer(
      ros::Duration cache_time = ros::Duration(BufferCore::DEFAULT_CACHE_TIME),  // NOLINT(google-explicit-constructor)
      bool debug = false)
      : BufferCore(cache_time) {
    if (!debug || ros::service::exists("~tf2_frames", false)) return;
    ros::NodeHandle node("~");
    frames_server_ = node.advertiseService("tf2_frames", &Buffer::getFrames, this);
  }

  virtual geometry_msgs::TransformStamped lookupTransform(const std::string& target_frame,
                                                          const std::string& source_frame, const ros::Time& time,
                                                          const ros::Duration timeout) const override {
    canTransform(target_frame, source_frame, time, timeout);
    return lookupTransform(target_frame, source_frame, time);
  }
  virtual geometry_msgs::TransformStamped lookupTransform(const std::string& target_frame, const ros::Time& target_time,
                                                          const std::string& source_frame, const ros::Time& source_time,
                                                          const std::string& fixed_frame,
                                                          const ros::Duration timeout) const override {
    canTransform(target_frame, target_time, source_frame, source_time, fixed_frame, timeout);
    return lookupTransform(target_frame, target_time, source_frame, source_time, fixed_frame);
  }

  virtual bool canTransform(const std::string& target_frame, const std::string& source_frame,
                            const ros::Time& target_time, const ros::Duration timeout,
                            std::string* errstr = nullptr) const override {
    return wait(timeout, errstr,
                [&](std::string* error) { return canTransform(target_frame, source_frame, target_time, error); });
  }
  virtual bool canTransform(const std::string& target_frame, const ros::Time& target_time,
                            const std::string& source_frame, const ros::Time& source_time,
                            const std::string& fixed_frame, const ros::Duration timeout,
                            std::string* errstr = nullptr) const override {
    return wait(timeout, errstr, [&](std::string* error) {
      return canTransform(target_frame, target_time, source_frame, source_time, fixed_frame, error);
    });
  }

 private:
  /// Asks `can(error)` until it is true, 100 times in `timeout`.
  template <class Can>
  bool wait(const ros::Duration& timeout, std::string* error, Can&& can) const {
    if (!isUsingDedicatedThread()) {
      if (error != nullptr) *error = threading_error;
      ROS_ERROR("%s", threading_error.c_str());
      return false;
    }
    if (error != nullptr) error->clear();
    const ros::Time begin = detail::now();
    // A clock that jumps back, as a bag that starts again makes it, ends the waiting.
    while (detail::now() < begin + timeout && !can(static_cast<std::string*>(nullptr)) &&
           detail::now() + ros::Duration(3.0) >= begin && (ros::ok() || !ros::isInitialized())) {
      detail::sleep(timeout * 0.01);
    }
    const bool result = can(error);
    if (error != nullptr) {
      std::stringstream text;
      text << ". canTransform returned after " << (detail::now() - begin).toSec() << " timeout was " << timeout.toSec()
           << ".";
      *error += text.str();
    }
    return result;
  }

  bool getFrames(tf2_msgs::FrameGraph::Request&, tf2_msgs::FrameGraph::Response& response) {
    response.frame_yaml = allFramesAsYAML();
    return true;
  }

  ros::ServiceServer frames_server_;
};

}  // namespace baton_recompiled
}  // namespace tf2_ros
