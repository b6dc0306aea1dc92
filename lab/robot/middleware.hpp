// SPDX-License-Identifier: Apache-2.0
// The only difference between the ways: how a node gets and publishes an image. Without BATON_ROBOT_TYPES this is stock roscpp
// (the ways tcpros and preload are the same programs); with it, types of Baton (tzc and lotros, chosen by BATON_ROS1_MODE).
#pragma once

#include <ros/ros.h>

#include <cstdint>
#include <utility>

#ifdef BATON_ROBOT_TYPES
#include "baton/ros1/ros1.hpp"
#include "baton/ros1/sensor_msgs/image.hpp"
#else
#include <sensor_msgs/Image.h>
#endif

namespace baton::robot {

inline constexpr const char* kImageTopic = "image";

#ifdef BATON_ROBOT_TYPES

using Image = baton::msg::sensor_msgs::Image;

class ImagePublisher {
 public:
  ImagePublisher(ros::NodeHandle& node, std::uint32_t queue)
      : publisher_(ros1::advertise<Image>(node, kImageTopic, queue)) {}
  template <class Fill>
  void publish(std::size_t bytes, Fill fill) {
    auto image = publisher_.loan();
    image->data.resize_for_overwrite(bytes);
    fill(*image);
    publisher_.publish(std::move(image));
  }

 private:
  ros1::Publisher<Image> publisher_;
};

class ImageSubscriber {
 public:
  template <class Callback>
  ImageSubscriber(ros::NodeHandle& node, std::uint32_t queue, Callback callback)
      : subscriber_(ros1::subscribe<Image>(node, kImageTopic, queue,
                                           [callback](const Image& image) mutable { callback(image); })) {}

 private:
  ros1::Subscriber<Image> subscriber_;
};

#else

using Image = sensor_msgs::Image;

class ImagePublisher {
 public:
  ImagePublisher(ros::NodeHandle& node, std::uint32_t queue) : publisher_(node.advertise<Image>(kImageTopic, queue)) {}
  /// One message is used again and again, as a careful driver does: a new one would be filled with zeros first.
  template <class Fill>
  void publish(std::size_t bytes, Fill fill) {
    image_.data.resize(bytes);
    fill(image_);
    publisher_.publish(image_);
  }

 private:
  ros::Publisher publisher_;
  Image image_;
};

class ImageSubscriber {
 public:
  template <class Callback>
  ImageSubscriber(ros::NodeHandle& node, std::uint32_t queue, Callback callback)
      : subscriber_(node.subscribe<Image>(kImageTopic, queue,
                                          boost::function<void(const Image::ConstPtr&)>(
                                              [callback](const Image::ConstPtr& image) mutable { callback(*image); }),
                                          ros::VoidConstPtr(), ros::TransportHints().tcpNoDelay())) {}

 private:
  ros::Subscriber subscriber_;
};

#endif

/// A frame is named by the moment when it was taken, on the clock of world_file.hpp.
template <class Header>
std::int64_t taken_at(const Header& header) {
  const ros::Time stamp = header.stamp;
  return static_cast<std::int64_t>(stamp.toNSec());
}
inline ros::Time stamp_of(std::int64_t taken) { return ros::Time().fromNSec(static_cast<std::uint64_t>(taken)); }

}  // namespace baton::robot
