// SPDX-License-Identifier: Apache-2.0
// talker.cpp with types of Baton: publishes numbered images on each line of its input "publish BYTES COUNT PERIOD_MS"; "drop" ends its
// publisher. Arguments: topic, queue size, "latch" or "volatile".
#include <ros/ros.h>

#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "pattern.hpp"

using baton::msg::sensor_msgs::Image;

int main(int argc, char** argv) {
  ros::init(argc, argv, "talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 4) return 2;
  ros::NodeHandle node;
  baton::ros1::AdvertiseOptions options;
  options.latch = std::string(argv[3]) == "latch";
  auto publisher =
      baton::ros1::advertise<Image>(node, argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])), options);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "subscribers") {  // waits for so many
      unsigned wanted = 0;
      words >> wanted;
      const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      bool is_late = false;
      while (publisher.getNumSubscribers() != wanted) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (is_late || std::chrono::steady_clock::now() < late) continue;
        is_late = true;
        const auto all = publisher.subscribers();
        std::cerr << "subscribers: " << all.own << " own, " << all.handles << " by handle, " << all.serialized
                  << " serialized" << std::endl;
      }
    } else if (word == "publish") {
      std::size_t bytes = 0, count = 0, period_ms = 0;
      words >> bytes >> count >> period_ms;
      for (std::size_t i = 0; i < count; ++i) {
        auto image = publisher.loan();
        image->header.frame_id = "camera";
        image->width = ++number;
        image->header.stamp = ros::Time(number, 0);
        image->height = 1;
        image->encoding = "mono8";
        image->data.resize_for_overwrite(bytes);
        pattern::fill(image->data, number);
        publisher.publish(std::move(image));
        if (period_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(period_ms));
      }
    } else if (word == "serialized") {  // how many subscribers get messages of roscpp
      std::cout << "serialized " << publisher.subscribers().serialized << std::endl;
    } else if (word == "writer") {  // its id in Baton, which every process of the domain can see
      std::cout << "writer ";
      for (const std::uint8_t byte : publisher.own().gid()) {
        std::cout << std::hex << (byte >> 4) << (byte & 15) << std::dec;
      }
      std::cout << std::endl;
    } else if (word == "drop") {
      publisher.shutdown();
    } else {
      return 3;
    }
    std::cout << "done " << line << std::endl;
  }
}
