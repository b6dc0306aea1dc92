// SPDX-License-Identifier: Apache-2.0
// ROS-SF, Figs. 3 and 11: an image on the stack, filled and published.
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

int main(int argc, char** argv) {
  ros::init(argc, argv, "painter");
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<sensor_msgs::Image>("image", 1);
  ros::Rate rate(30);
  while (ros::ok()) {
    sensor_msgs::Image img;
    img.encoding = "rgb8";
    img.height = 10;
    img.width = 10;
    img.step = 3 * img.width;
    img.data.resize(img.step * img.height);
    for (std::size_t i = 0; i < img.data.size(); ++i) img.data[i] = static_cast<std::uint8_t>(i);
    publisher.publish(img);
    rate.sleep();
  }
}
