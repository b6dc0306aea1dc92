// SPDX-License-Identifier: Apache-2.0
#include <ros/ros.h>

#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <utility>

using baton::msg::sensor_msgs::Image;  // was: using sensor_msgs::Image;

int main(int argc, char** argv) {
  ros::init(argc, argv, "camera");
  ros::NodeHandle node;
  auto publisher = baton::ros1::advertise<Image>(node, "image", 4);  // was: node.advertise<Image>("image", 4)
  for (ros::Rate rate(30); ros::ok(); rate.sleep()) {
    auto image = publisher.loan();  // was: sensor_msgs::ImagePtr image(new sensor_msgs::Image)
    image->header.frame_id = "camera";
    image->width = 640;
    image->height = 480;
    image->step = 640 * 3;  // bytes of a row
    image->encoding = "rgb8";
    image->data.resize_for_overwrite(640 * 480 * 3);  // was: resize, which fills with zeros first
    for (auto& byte : image->data) byte = 128;
    publisher.publish(std::move(image));  // was: publish(image)
  }
}
