// SPDX-License-Identifier: Apache-2.0
// listener.cpp with types of Baton: prints "NUMBER SEQ BYTES good|bad" for each image. Arguments: topic, queue size, how many messages
// to keep for ever, milliseconds that each callback takes; with LISTENER_UDP set it asks stock publishers for UDPROS. With
// LISTENER_OWN_THREAD set callbacks run in the subscription's own thread, and nothing spins but the line "spin" of its input. The
// callback of the image with the number LISTENER_LAST ends the subscription. From the line "hold" on a callback that has printed goes on
// only after the line "release". On the line "tcp" it prints the bytes that its TCP
// connections received, on "handles" its HandleCounters; "shutdown" ends ROS, its input's end ends it.
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <atomic>
#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pattern.hpp"
#include "tcp_bytes.hpp"

using baton::msg::sensor_msgs::Image;

int main(int argc, char** argv) {
  ros::init(argc, argv, "listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 5) return 2;
  const std::size_t keep = std::stoul(argv[3]);
  const auto pause = std::chrono::milliseconds(std::stoul(argv[4]));
  std::mutex mutex;
  std::vector<Image::ConstPtr> kept;
  std::atomic<bool> holds{false};
  const bool own_thread = std::getenv("LISTENER_OWN_THREAD") != nullptr;
  const char* const last = std::getenv("LISTENER_LAST");
  baton::ros1::Subscriber<Image> subscriber;
  const auto callback = [&](const Image::ConstPtr& image) {
    const std::lock_guard<std::mutex> lock(mutex);
    std::cout << image->width << ' ' << image->header.seq << ' ' << image->data.size() << ' '
              << (image->header.frame_id == "camera" && pattern::matches(image->data, image->width) ? "good" : "bad")
              << std::endl;
    if (kept.size() < keep) kept.push_back(image);
    if (last != nullptr && image->width == std::stoul(last)) subscriber.shutdown();
    std::this_thread::sleep_for(pause);
    while (holds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ros::NodeHandle node;
  baton::ros1::SubscribeOptions options;
  if (std::getenv("LISTENER_UDP") != nullptr) options.hints = ros::TransportHints().unreliable();
  options.own_thread = own_thread;
  subscriber =
      baton::ros1::subscribe<Image>(node, argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])), callback, options);
  ros::Subscriber stock;
  ros::AsyncSpinner spinner(1);
  if (!own_thread) spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "hold") holds = true;
    if (line == "release") holds = false;
    if (line == "spin") ros::spinOnce();
    if (line == "shutdown") ros::shutdown();
    const std::lock_guard<std::mutex> lock(mutex);
    if (line == "stock") {  // one more subscription of this process, which Baton does not serve
      stock = node.subscribe<sensor_msgs::Image>(
          argv[1], 100,
          boost::function<void(const sensor_msgs::ImageConstPtr&)>(
              [](const sensor_msgs::ImageConstPtr& image) { std::cout << "stock " << image->width << std::endl; }));
    }
    if (line == "handles") {
      const baton::ros1::HandleCounters of = subscriber.handles();
      std::cout << "handles taken " << of.taken << " carried " << of.carried << " overwritten " << of.overwritten
                << " held_limit " << of.held_limit << " refused " << of.refused << std::endl;
    }
    if (line == "tcp") std::cout << "tcp " << tcp_bytes() << std::endl;
    if (line == "spin" || line == "shutdown" || line == "hold") std::cout << "done " << line << std::endl;
  }
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& image : kept) {
    if (!pattern::matches(image->data, image->width)) return 4;
  }
}
