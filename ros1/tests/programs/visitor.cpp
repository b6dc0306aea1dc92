// SPDX-License-Identifier: Apache-2.0
// An ordinary roscpp program, compiled as it is and recompiled: on each line of its input subscribes, waits for one message,
// ends the subscription and prints "visited". On the line "leave" it ends the subscription while another thread runs its callback, and
// prints whether the callback was over then. Argument: topic.
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

int main(int argc, char** argv) {
  ros::init(argc, argv, "visitor", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "leave") {
      std::atomic<bool> runs{false}, over{false};
      const boost::function<void(const sensor_msgs::ImageConstPtr&)> slow = [&](const sensor_msgs::ImageConstPtr&) {
        runs = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        over = true;
      };
      ros::Subscriber subscriber = node.subscribe(argv[1], 4, slow);
      ros::AsyncSpinner spinner(1);
      spinner.start();
      while (!runs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      subscriber.shutdown();
      std::cout << (over ? "left after the callback" : "left during the callback") << std::endl;
      continue;
    }
    bool came = false;
    const boost::function<void(const sensor_msgs::ImageConstPtr&)> on_image =
        [&came](const sensor_msgs::ImageConstPtr&) { came = true; };
    ros::Subscriber subscriber = node.subscribe(argv[1], 4, on_image);
    while (!came) ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(1.0));
    subscriber.shutdown();
    std::cout << "visited" << std::endl;
  }
}
