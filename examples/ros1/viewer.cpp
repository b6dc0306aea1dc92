// SPDX-License-Identifier: Apache-2.0
#include <ros/ros.h>

#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <iostream>

using baton::msg::sensor_msgs::Image;

void on_image(const Image::ConstPtr& image) {  // unchanged; the message may be kept
  std::cout << image->width << "x" << image->height << " " << image->data.size() << " bytes" << std::endl;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "viewer");
  ros::NodeHandle node;
  auto subscriber =
      baton::ros1::subscribe<Image>(node, "image", 4, on_image);  // was: node.subscribe("image", 4, on_image)
  ros::spin();
}
