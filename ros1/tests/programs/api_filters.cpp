// SPDX-License-Identifier: Apache-2.0
// Types of Baton in programs of message_filters and image_transport. The first argument says which; what each does and takes stands above
// its function.
#include <message_filters/time_synchronizer.h>
#include <ros/ros.h>

#include <baton/ros1/camera.hpp>
#include <baton/ros1/message_filters.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <iostream>
#include <string>

#include "pattern.hpp"

using baton::msg::sensor_msgs::Image;
using ImagePtr = boost::shared_ptr<const Image>;

namespace {

void on_pair(const ImagePtr& left, const ImagePtr& right) {
  const bool good = pattern::matches(left->data, left->width) && pattern::matches(right->data, right->width);
  std::cout << left->width << ' ' << right->width << ' ' << (good ? "good" : "bad") << std::endl;
}

// Types of Baton before message_filters' TimeSynchronizer: prints "NUMBER NUMBER good|bad" for each pair of images of the topics left and
// right with one stamp. Its input's end ends it.
int filters(int argc, char** argv) {
  ros::init(argc, argv, "filters", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  ros::NodeHandle node;
  baton::ros1::SubscribeOptions options;
  options.held = 64;
  baton::ros1::FilterSubscriber<Image> left(node, "left", 100, options), right(node, "right", 100, options);
  message_filters::TimeSynchronizer<Image, Image> both(left, right, 50);
  both.registerCallback(&on_pair);
  ros::AsyncSpinner spinner(2);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

struct Receiver {
  void receive(const baton::ros1::CameraSubscriber::ImageConstPtr& image, const sensor_msgs::CameraInfoConstPtr& info) {
    std::cout << (image->header.stamp == info->header.stamp ? "same" : "other") << ' ' << image->header.stamp.sec << ' '
              << image->data.size() << ' ' << info->height << std::endl;
  }
};

// Prints for each image of camera/image and the calibration that came with it: whether the stamps are the same, seconds, bytes, height.
int camera(int argc, char** argv) {
  ros::init(argc, argv, "camera", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  ros::NodeHandle node;
  Receiver receiver;
  auto subscriber = baton::ros1::subscribe_camera(node, "camera/image", 10, &Receiver::receive, &receiver);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::cout << subscriber.getTopic() << ' ' << subscriber.getInfoTopic() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  subscriber.shutdown();
  std::cout << (subscriber ? "still there" : "ended") << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "filters") return filters(argc - 1, argv + 1);
  if (role == "camera") return camera(argc - 1, argv + 1);
  return 2;
}
