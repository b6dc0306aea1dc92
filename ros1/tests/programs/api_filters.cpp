// SPDX-License-Identifier: Apache-2.0
// Types of Baton before message_filters' TimeSynchronizer: prints "NUMBER NUMBER good|bad" for each pair of images of the topics left
// and right with one stamp. Its input's end ends it.
#include <message_filters/time_synchronizer.h>
#include <ros/ros.h>

#include <baton/ros1/message_filters.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <iostream>
#include <string>

#include "pattern.hpp"

using baton::msg::sensor_msgs::Image;
using ImagePtr = boost::shared_ptr<const Image>;

void on_pair(const ImagePtr& left, const ImagePtr& right) {
  const bool good = pattern::matches(left->data, left->width) && pattern::matches(right->data, right->width);
  std::cout << left->width << ' ' << right->width << ' ' << (good ? "good" : "bad") << std::endl;
}

int main(int argc, char** argv) {
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
}
