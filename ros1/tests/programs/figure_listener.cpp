// SPDX-License-Identifier: Apache-2.0
// An ordinary roscpp program: prints each message of a topic as ROS shows it, without its number, and "---". Arguments: topic,
// "image", "disparity" or "cloud".
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <sensor_msgs/PointCloud.h>
#include <stereo_msgs/DisparityImage.h>

#include <iostream>
#include <string>

template <class Message>
void print(const boost::shared_ptr<const Message>& message) {
  Message shown = *message;
  shown.header.seq = 0;
  std::cout << shown << "---" << std::endl;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "figure_listener", ros::init_options::AnonymousName);
  if (argc != 3) return 2;
  const std::string kind = argv[2];
  ros::NodeHandle node;
  ros::Subscriber subscriber;
  if (kind == "image") subscriber = node.subscribe(argv[1], 4, print<sensor_msgs::Image>);
  if (kind == "disparity") subscriber = node.subscribe(argv[1], 4, print<stereo_msgs::DisparityImage>);
  if (kind == "cloud") subscriber = node.subscribe(argv[1], 4, print<sensor_msgs::PointCloud>);
  if (!subscriber) return 3;
  ros::spin();
}
