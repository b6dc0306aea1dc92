// SPDX-License-Identifier: Apache-2.0
// A stock roscpp program: prints "NUMBER SEQ BYTES good|bad" for each image. Arguments: topic, queue size, how many messages
// to keep for ever, milliseconds that each callback takes. On the line "tcp" of its input it prints the bytes that its TCP
// connections received; from the line "hold" on a callback that has printed goes on only after "release". Its input's end ends it.
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pattern.hpp"
#include "tcp_bytes.hpp"

int main(int argc, char** argv) {
  ros::init(argc, argv, "listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 5) return 2;
  const std::size_t keep = std::stoul(argv[3]);
  const auto pause = std::chrono::milliseconds(std::stoul(argv[4]));
  std::mutex mutex;
  std::vector<sensor_msgs::ImageConstPtr> kept;
  std::atomic<bool> holds{false};
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> callback =
      [&](const sensor_msgs::ImageConstPtr& image) {
        const std::lock_guard<std::mutex> lock(mutex);
        std::cout << image->width << ' ' << image->header.seq << ' ' << image->data.size() << ' '
                  << (image->header.frame_id == "camera" && pattern::matches(image->data, image->width) ? "good"
                                                                                                        : "bad")
                  << std::endl;
        if (kept.size() < keep) kept.push_back(image);
        std::this_thread::sleep_for(pause);
        while (holds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      };
  ros::NodeHandle node;
  const ros::Subscriber subscriber = node.subscribe<sensor_msgs::Image>(argv[1], std::stoul(argv[2]), callback);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "hold") holds = true;
    if (line == "release") holds = false;
    const std::lock_guard<std::mutex> lock(mutex);
    if (line == "hold") std::cout << "done hold" << std::endl;
    if (line == "tcp") std::cout << "tcp " << tcp_bytes() << std::endl;
  }
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& image : kept) {
    if (!pattern::matches(image->data, image->width)) return 4;
  }
}
