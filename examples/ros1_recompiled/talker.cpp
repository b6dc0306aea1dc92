// SPDX-License-Identifier: Apache-2.0
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <boost/make_shared.hpp>

int main(int argc, char** argv) {
  ros::init(argc, argv, "talker");
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<sensor_msgs::Image>("image", 4);
  for (ros::Rate rate(30); ros::ok(); rate.sleep()) {
    sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
    image->header.stamp = ros::Time::now();
    image->header.frame_id = "camera";
    image->width = 640;
    image->height = 480;
    image->encoding = "rgb8";
    image->step = 3 * image->width;
    image->data.resize(image->step * image->height, 128);
    publisher.publish(image);
  }
}
