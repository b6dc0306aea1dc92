// SPDX-License-Identifier: Apache-2.0
// An ordinary roscpp program, compiled as it is and recompiled: publishes numbered images by pointer. Lines of its input:
// "subscribers N" waits for so many, "publish BYTES COUNT", "publish BYTES COUNT constant" (each is a copy of one on the stack), "counts"
// (payload_counter.hpp). Argument: topic.
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "pattern.hpp"
#include "payload_counter.hpp"

int main(int argc, char** argv) {
  ros::init(argc, argv, "pointer_talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<sensor_msgs::Image>(argv[1], 100);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "subscribers") {
      unsigned wanted = 0;
      words >> wanted;
      while (publisher.getNumSubscribers() < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } else if (word == "publish") {
      std::size_t bytes = 0, count = 0;
      words >> bytes >> count >> word;
      for (std::size_t i = 0; i < count; ++i) {
        sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
        image->header.stamp = ros::Time::now();
        image->header.frame_id = "camera";
        image->width = ++number;
        image->height = 1;
        image->encoding = "mono8";
        image->data.resize(bytes);
        pattern::fill(image->data, number);
        if (word == "constant") {
          const sensor_msgs::Image on_stack = *image;
          image.reset();
          publisher.publish(boost::make_shared<const sensor_msgs::Image>(on_stack));
        } else {
          publisher.publish(image);
        }
      }
    } else if (word == "counts") {
      std::cout << "counts " << payload::copies << ' ' << payload::allocations << std::endl;
      continue;
    }
    std::cout << "done " << line << std::endl;
  }
}
