// SPDX-License-Identifier: Apache-2.0
// An ordinary program of rosbag's C++ API and of topic_tools, compiled as it is and recompiled. It knows sensor_msgs/Image, and
// publishes it without an object of it.
//   write BAG FIRST COUNT BYTES   images as those of the talker of ends.cpp
//   play BAG TOPIC COUNT          advertises; when COUNT subscribers are there, publishes the bag's images and prints "played";
//                                 its input's end ends it
//   relay FROM TO COUNT           publishes what comes on FROM; prints "ready" when COUNT subscribers are there
//   latch BAG TOPIC               as play, latched, and without waiting
//   record BAG TOPIC COUNT        a bag of COUNT messages of any type, by rosbag::Recorder; prints "recording"
#include <ros/ros.h>
#include <rosbag/bag.h>
#include <rosbag/player.h>
#include <rosbag/recorder.h>
#include <rosbag/view.h>
#include <sensor_msgs/Image.h>
#include <topic_tools/shape_shifter.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "pattern.hpp"

namespace {

void write(const std::string& path, std::uint32_t first, std::uint32_t count, std::size_t bytes) {
  rosbag::Bag bag(path, rosbag::bagmode::Write);
  for (std::uint32_t number = first; number < first + count; ++number) {
    const sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
    image->header.frame_id = "camera";
    image->width = number;
    image->height = 1;
    image->encoding = "mono8";
    image->data.resize(bytes);
    pattern::fill(image->data, number);
    bag.write("/images", ros::Time(1000 + number), image);
  }
}

void wait_for_subscribers(const ros::Publisher& publisher, std::uint32_t count) {
  while (publisher.getNumSubscribers() < count) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

int play(const std::string& path, const std::string& topic, std::uint32_t count, bool latch) {
  ros::NodeHandle node;
  rosbag::Bag bag(path);
  rosbag::View view(bag);
  ros::AdvertiseOptions options = rosbag::createAdvertiseOptions(*view.begin(), 100);
  if (options.datatype != ros::message_traits::datatype<sensor_msgs::Image>()) return 3;
  options.topic = topic;
  options.latch = latch;
  const ros::Publisher publisher = node.advertise(options);
  wait_for_subscribers(publisher, count);
  for (const rosbag::MessageInstance& each : view) publisher.publish(each);
  std::cout << "played" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

void relay(const std::string& from, const std::string& to, std::uint32_t count) {
  ros::NodeHandle node;
  const ros::Publisher publisher = node.advertise<sensor_msgs::Image>(to, 100);
  const boost::function<void(const topic_tools::ShapeShifter::ConstPtr&)> forward =
      [&](const topic_tools::ShapeShifter::ConstPtr& message) { publisher.publish(message); };
  const ros::Subscriber subscriber = node.subscribe<topic_tools::ShapeShifter>(from, 100, forward);
  wait_for_subscribers(publisher, count);
  while (subscriber.getNumPublishers() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::cout << "ready" << std::endl;
  ros::spin();
}

int record(const std::string& path, const std::string& topic, std::uint32_t count) {
  rosbag::RecorderOptions options;
  options.topics.push_back(topic);
  options.prefix = path;
  options.append_date = false;
  options.quiet = true;
  options.limit = count;
  rosbag::Recorder recorder(options);
  std::cout << "recording" << std::endl;
  return recorder.run();
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "bag_images", ros::init_options::AnonymousName);
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::stoul(argv[i])); };
  if (verb == "write" && argc == 6) {
    write(argv[2], number(3), number(4), number(5));
  } else if (verb == "play" && argc == 5) {
    return play(argv[2], argv[3], number(4), false);
  } else if (verb == "latch" && argc == 4) {
    return play(argv[2], argv[3], 0, true);
  } else if (verb == "relay" && argc == 5) {
    relay(argv[2], argv[3], number(4));
  } else if (verb == "record" && argc == 5) {
    return record(argv[2], argv[3], number(4));
  } else {
    return 2;
  }
}
