// SPDX-License-Identifier: Apache-2.0
// Commands the base to brake when the red light is seen. Prints "ready" when it is connected to both neighbours.
#include <geometry_msgs/Twist.h>
#include <ros/ros.h>
#include <std_msgs/Header.h>

#include <iostream>

int main(int argc, char** argv) {
  ros::init(argc, argv, "controller", ros::init_options::NoRosout);
  ros::NodeHandle node;
  const ros::Publisher commands = node.advertise<geometry_msgs::Twist>("cmd_vel", 1);
  const ros::Subscriber lights = node.subscribe<std_msgs::Header>(
      "red_light", 1, boost::function<void(const std_msgs::Header::ConstPtr&)>([&](const std_msgs::Header::ConstPtr&) {
        commands.publish(geometry_msgs::Twist());
      }),
      ros::VoidConstPtr(), ros::TransportHints().tcpNoDelay());
  while (ros::ok() && (commands.getNumSubscribers() == 0 || lights.getNumPublishers() == 0))
    ros::WallDuration(0.01).sleep();
  std::cout << "ready" << std::endl;
  ros::spin();
}
