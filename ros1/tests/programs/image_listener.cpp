// SPDX-License-Identifier: Apache-2.0
// listener.cpp with image_transport: prints "NUMBER SEQ BYTES good|bad" for each image. Arguments: base topic, transport, queue size, how
// many images to keep for ever, milliseconds that each callback takes. Lines of its input: "tcp" prints the bytes that its TCP connections
// received; "publishers" prints how many it has; "drop" ends its subscription; from "hold" on a callback that has printed goes on only after
// "release".
#include <image_transport/image_transport.h>
#include <ros/ros.h>

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
  if (argc != 6) return 2;
  const std::size_t keep = std::stoul(argv[4]);
  const auto pause = std::chrono::milliseconds(std::stoul(argv[5]));
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
  image_transport::ImageTransport transport(node);
  image_transport::Subscriber subscriber =
      transport.subscribe(argv[1], static_cast<std::uint32_t>(std::stoul(argv[3])), callback, ros::VoidPtr(),
                          image_transport::TransportHints(argv[2]));
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "hold") holds = true;
    if (line == "release") holds = false;
    if (line == "drop") subscriber.shutdown();
    const std::lock_guard<std::mutex> lock(mutex);
    if (line == "tcp") std::cout << "tcp " << tcp_bytes() << std::endl;
    if (line == "hold") std::cout << "done " << line << std::endl;
    if (line == "publishers") std::cout << "publishers " << subscriber.getNumPublishers() << std::endl;
  }
  spinner.stop();
  for (const auto& image : kept) {
    if (!pattern::matches(image->data, image->width)) return 4;
  }
}
