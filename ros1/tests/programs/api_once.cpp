// SPDX-License-Identifier: Apache-2.0
// Types of Baton in a program that calls ros::spinOnce(): on each line of its input once, and then prints how many images came.
// Argument: topic.
#include <ros/ros.h>

#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <iostream>
#include <string>

using baton::msg::sensor_msgs::Image;

int main(int argc, char** argv) {
  ros::init(argc, argv, "once", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  int count = 0;
  const auto subscriber = baton::ros1::subscribe<Image>(node, argv[1], 100, [&](const Image&) { ++count; });
  for (std::string line; std::getline(std::cin, line);) {
    count = 0;
    ros::spinOnce();
    std::cout << count << std::endl;
  }
}
