// SPDX-License-Identifier: Apache-2.0
// Prints for each image of camera/image and the calibration that came with it: whether the stamps are the same, seconds, bytes, height.
#include <ros/ros.h>

#include <baton/ros1/camera.hpp>
#include <iostream>
#include <string>

namespace {

struct Receiver {
  void receive(const baton::ros1::CameraSubscriber::ImageConstPtr& image, const sensor_msgs::CameraInfoConstPtr& info) {
    std::cout << (image->header.stamp == info->header.stamp ? "same" : "other") << ' ' << image->header.stamp.sec << ' '
              << image->data.size() << ' ' << info->height << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
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
}
