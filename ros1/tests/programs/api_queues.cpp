// SPDX-License-Identifier: Apache-2.0
// Several subscriptions of one topic with types of Baton, in callback queues of their own: "slow" with a queue of 2 messages that
// nothing runs until the line "slow" of the input, and "fast", "other" in the global queue with several threads. Prints "NAME
// NUMBER" for each image, and "overlap" if two callbacks of one subscription run at the same time; "ready" when all subscriptions are there.
// Argument: topic.
#include <ros/callback_queue.h>
#include <ros/ros.h>

#include <atomic>
#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

using baton::msg::sensor_msgs::Image;

namespace {

std::mutex output;
void print(const std::string& line) {
  const std::lock_guard<std::mutex> lock(output);
  std::cout << line << std::endl;
}

struct Printer {
  std::string name;
  std::atomic<int> running{0};
  void on_image(const Image::ConstPtr& image) {
    if (++running > 1) print("overlap");
    print(name + " " + std::to_string(image->width));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --running;
  }
};

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "queues", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node, beside;
  ros::CallbackQueue queue;
  beside.setCallbackQueue(&queue);
  Printer slow{"slow"}, fast{"fast"}, other{"other"};
  const auto first = baton::ros1::subscribe<Image>(beside, argv[1], 2, &Printer::on_image, &slow);
  const auto second = baton::ros1::subscribe<Image>(node, argv[1], 1000, &Printer::on_image, &fast);
  const auto third = baton::ros1::subscribe<Image>(node, argv[1], 1000, &Printer::on_image, &other);
  ros::AsyncSpinner spinner(4);
  spinner.start();
  print("ready");
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "slow") queue.callAvailable(ros::WallDuration(1));
    print("done " + line);
  }
}
