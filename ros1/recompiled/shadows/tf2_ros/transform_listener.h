// SPDX-License-Identifier: Apache-2.0
// In the place of tf2_ros's header of this name, with its interface, for recompiled programs. The class lies in an inline
// namespace: <tf2/buffer_core.h> says why.
//
// Thread rules: as the stock class. With spin_thread a thread of the listener fills the buffer, else the node's callback queue.
#pragma once

#ifdef TF2_ROS_TRANSFORMLISTENER_H
#error "tf2_ros's own transform_listener.h was included before Baton's header of that name"
#endif
#define TF2_ROS_TRANSFORMLISTENER_H

#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <std_msgs/Empty.h>
#include <tf2_msgs/TFMessage.h>
#include <tf2_ros/buffer.h>

#include <atomic>
#include <boost/thread.hpp>
#include <string>

namespace tf2_ros {
inline namespace baton_recompiled {

class TransformListener {
 public:
  TransformListener(tf2::BufferCore& buffer, bool spin_thread = true,  // NOLINT(google-explicit-constructor)
                    ros::TransportHints transport_hints = ros::TransportHints())
      : buffer_(buffer) {
    init(spin_thread, transport_hints);
  }
  TransformListener(tf2::BufferCore& buffer, const ros::NodeHandle& nh, bool spin_thread = true,
                    ros::TransportHints transport_hints = ros::TransportHints())
      : node_(nh), buffer_(buffer) {
    init(spin_thread, transport_hints);
  }
  ~TransformListener() {
    spinning_ = false;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void init(bool spin_thread, const ros::TransportHints& hints) {
    subscribe(moving_, "/tf", false, spin_thread, hints);
    subscribe(static_, "/tf_static", true, spin_thread, hints);
    if (!spin_thread) return;
    spinning_ = true;
    thread_ = boost::thread([this] {
      while (spinning_) queue_.callAvailable(ros::WallDuration(0.01));
    });
    buffer_.setUsingDedicatedThread(true);
  }

  void subscribe(ros::Subscriber& subscriber, const char* topic, bool is_static, bool spin_thread,
                 const ros::TransportHints& hints) {
    ros::SubscribeOptions options;
    options.initByFullCallbackType<const ros::MessageEvent<const tf2_msgs::TFMessage>&>(
        topic, 100,
        [this, is_static](const ros::MessageEvent<const tf2_msgs::TFMessage>& event) { receive(event, is_static); });
    options.transport_hints = hints;
    if (spin_thread) options.callback_queue = &queue_;
    subscriber = node_.subscribe(options);
  }

  void receive(const ros::MessageEvent<const tf2_msgs::TFMessage>& event, bool is_static) {
    const ros::Time now = ros::Time::now();
    if (now < last_update_) {
      ROS_WARN_STREAM("Detected jump back in time of " << (last_update_ - now).toSec() << "s. Clearing TF buffer.");
      buffer_.clear();
    }
    last_update_ = now;
    const std::string authority = event.getPublisherName();
    for (const geometry_msgs::TransformStamped& transform : event.getConstMessage()->transforms) {
      try {
        buffer_.setTransform(transform, authority, is_static);
      } catch (const tf2::TransformException& error) {
        ROS_ERROR("Failure to set received transform from %s to %s with error: %s\n", transform.child_frame_id.c_str(),
                  transform.header.frame_id.c_str(), error.what());
      }
    }
  }

  ros::CallbackQueue queue_;  // outlives the subscribers
  ros::NodeHandle node_;
  ros::Subscriber moving_, static_;
  tf2::BufferCore& buffer_;
  ros::Time last_update_;
  std::atomic<bool> spinning_{false};
  boost::thread thread_;
};

}  // namespace baton_recompiled
}  // namespace tf2_ros
