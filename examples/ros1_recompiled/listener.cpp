// SPDX-License-Identifier: Apache-2.0
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <iostream>

void on_image(const sensor_msgs::ImageConstPtr& image) {
  std::cout << image->width << "x" << image->height << " " << image->data.size() << " bytes" << std::endl;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "listener");
  ros::NodeHandle node;
  ros::Subscriber subscriber = node.subscribe("image", 4, on_image);
  ros::spin();
}
