// SPDX-License-Identifier: Apache-2.0
// An ordinary roscpp program, compiled as it is and recompiled: on each line of its input subscribes, waits for one message,
// ends the subscription and prints "visited". Argument: topic.
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  ros::init(argc, argv, "visitor", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  for (std::string line; std::getline(std::cin, line);) {
    bool came = false;
    const boost::function<void(const sensor_msgs::ImageConstPtr&)> on_image =
        [&came](const sensor_msgs::ImageConstPtr&) { came = true; };
    ros::Subscriber subscriber = node.subscribe(argv[1], 4, on_image);
    while (!came) ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(1.0));
    subscriber.shutdown();
    std::cout << "visited" << std::endl;
  }
}
