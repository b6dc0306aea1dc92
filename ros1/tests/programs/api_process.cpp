// SPDX-License-Identifier: Apache-2.0
// Both ends of a topic in one process, as two nodelets of a manager are. Prints for each image "shared" if the subscriber reads the
// publisher's bytes, else "copied"; then the TCP bytes of the process. Argument: how many images.
#include <ros/ros.h>

#include <atomic>
#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "pattern.hpp"
#include "tcp_bytes.hpp"

using baton::msg::sensor_msgs::Image;

int main(int argc, char** argv) {
  ros::init(argc, argv, "process", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  std::atomic<std::uint8_t*> published{nullptr};
  std::atomic<int> received{0};
  const auto subscriber = baton::ros1::subscribe<Image>(node, "images", 10, [&](const Image& image) {
    const bool good = pattern::matches(image.data, image.width);
    // The subscriber's mapping is another one, of the same memory: what is written in the one is seen in the other.
    const auto* const first = static_cast<const volatile std::uint8_t*>(image.data.data());
    const std::uint8_t before = *first;
    *published = static_cast<std::uint8_t>(before + 1);
    std::cout << (!good ? "bad" : *first != before ? "shared" : "copied") << std::endl;
    ++received;
  });
  auto publisher = baton::ros1::advertise<Image>(node, "images", 10);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  while (publisher.getNumSubscribers() != 1 || publisher.subscribers().serialized != 0 ||
         (publisher.subscribers().own == 0 && publisher.own().matched() == 0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (int i = 1; i <= std::stoi(argv[1]); ++i) {
    auto image = publisher.loan();
    image->width = static_cast<std::uint32_t>(i);
    image->data.resize_for_overwrite(1'000'000);
    pattern::fill(image->data, static_cast<std::uint32_t>(i));
    published = image->data.data();
    publisher.publish(std::move(image));
    while (received < i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::cout << "tcp " << tcp_bytes() << std::endl;
}
