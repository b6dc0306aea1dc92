// SPDX-License-Identifier: Apache-2.0
// An ordinary program of image_transport, compiled as it is and recompiled: publishes numbered images and their calibrations by
// pointer. Lines of its input: "subscribers N" waits for so many, "publish BYTES COUNT", "counts" (payload_counter.hpp).
// Argument: base topic.
#include <image_transport/image_transport.h>
#include <ros/ros.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "pattern.hpp"
#include "payload_counter.hpp"

int main(int argc, char** argv) {
  ros::init(argc, argv, "camera_talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
  image_transport::CameraPublisher publisher = transport.advertiseCamera(argv[1], 100);
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
      words >> bytes >> count;
      for (std::size_t i = 0; i < count; ++i) {
        sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
        sensor_msgs::CameraInfoPtr info = boost::make_shared<sensor_msgs::CameraInfo>();
        image->header.stamp = info->header.stamp = ros::Time::now();
        image->header.frame_id = info->header.frame_id = "camera";
        image->width = info->width = ++number;
        image->height = 1;
        image->encoding = "mono8";
        image->data.resize(bytes);
        pattern::fill(image->data, number);
        publisher.publish(image, info);
      }
    } else if (word == "counts") {
      std::cout << "counts " << payload::copies << ' ' << payload::allocations << std::endl;
      continue;
    }
    std::cout << "done " << line << std::endl;
  }
}
