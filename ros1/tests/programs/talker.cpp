// SPDX-License-Identifier: Apache-2.0
// An ordinary roscpp program: publishes numbered images on each line of its input "publish BYTES COUNT PERIOD_MS"; "reuse BYTES
// COUNT" does so with one message, which it changes as soon as it is published; "greet" publishes one as soon as a subscriber is
// counted; "welcome TOPIC" publishes one there for each subscriber that comes; "introduce TOPIC BYTES latch|volatile" publishes three
// there to each subscriber that comes alone; "announce BYTES" publishes one there to all; "drop" ends its publisher. Arguments: topic,
// queue size, "latch" or "volatile".
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <atomic>
#include <boost/make_shared.hpp>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "pattern.hpp"

namespace {

sensor_msgs::ImagePtr image_of(std::uint32_t number, std::size_t bytes) {
  const sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
  image->header.frame_id = "camera";
  image->header.seq = 77;
  image->width = number;
  image->data.resize(bytes);
  pattern::fill(image->data, number);
  return image;
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 4) return 2;
  ros::NodeHandle node;
  ros::Publisher publisher =
      node.advertise<sensor_msgs::Image>(argv[1], std::stoul(argv[2]), std::string(argv[3]) == "latch");
  ros::Publisher welcoming;
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  std::atomic<std::uint32_t> introduced{0};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "subscribers") {  // waits for so many
      unsigned wanted = 0;
      words >> wanted;
      while (publisher.getNumSubscribers() != wanted) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } else if (word == "publish") {
      std::size_t bytes = 0, count = 0, period_ms = 0;
      words >> bytes >> count >> period_ms;
      for (std::size_t i = 0; i < count; ++i) {
        sensor_msgs::Image image;
        image.header.frame_id = "camera";
        image.width = ++number;
        image.height = 1;
        image.encoding = "mono8";
        image.data.resize(bytes);
        pattern::fill(image.data, number);
        publisher.publish(image);
        if (period_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(period_ms));
      }
    } else if (word == "reuse") {
      std::size_t bytes = 0, count = 0;
      words >> bytes >> count;
      sensor_msgs::Image image;
      for (std::size_t i = 0; i < count; ++i) {
        image.header.frame_id = "camera";
        image.width = ++number;
        image.data.resize(bytes);
        pattern::fill(image.data, number);
        publisher.publish(image);
        image.header.frame_id = "changed after publishing";
        image.width = 0;
        pattern::fill(image.data, number + 1);
        image.data.resize(bytes / 2);
      }
    } else if (word == "greet") {
      while (publisher.getNumSubscribers() == 0) {
      }
      publisher.publish(sensor_msgs::Image());
    } else if (word == "welcome") {
      std::string topic;
      words >> topic;
      const ros::SubscriberStatusCallback publish = [&](const ros::SingleSubscriberPublisher&) {
        welcoming.publish(sensor_msgs::Image());
      };
      welcoming = node.advertise<sensor_msgs::Image>(topic, 4, publish);
    } else if (word == "introduce") {
      std::string topic, latch;
      std::size_t bytes = 0;
      words >> topic >> bytes >> latch;
      const ros::SubscriberStatusCallback to_one = [&introduced, bytes](const ros::SingleSubscriberPublisher& one) {
        one.publish(*image_of(++introduced, bytes));
        one.publish(image_of(++introduced, bytes));
        one.publish(sensor_msgs::ImageConstPtr(image_of(++introduced, bytes)));
      };
      welcoming = node.advertise<sensor_msgs::Image>(topic, 100, to_one, ros::SubscriberStatusCallback(),
                                                     ros::VoidConstPtr(), latch == "latch");
    } else if (word == "announce") {
      std::size_t bytes = 0;
      words >> bytes;
      welcoming.publish(image_of(++introduced, bytes));
    } else if (word == "drop") {
      publisher.shutdown();
    } else {
      return 3;
    }
    std::cout << "done " << line << std::endl;
  }
}
