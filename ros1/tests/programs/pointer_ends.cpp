// SPDX-License-Identifier: Apache-2.0
// Ordinary roscpp programs, compiled as they are and recompiled, that pass images by pointer. The first argument says which; what each
// does and takes stands above its function.
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "ends.hpp"
#include "pattern.hpp"
#include "payload_counter.hpp"

namespace {

void fill(sensor_msgs::Image& image, std::uint32_t number, std::size_t bytes) {
  image.header.stamp = ros::Time::now();
  ends::fill(image, number, bytes);
}

// An ordinary roscpp program, compiled as it is and recompiled: publishes numbered images by pointer. Lines of its input: "subscribers N"
// waits for so many, "publish BYTES COUNT", "publish BYTES COUNT constant" (each is a copy of one on the stack), "publish BYTES COUNT
// object" (by reference, as the programs of ROS-SF's Fig. 11 do), "... standard" (the same of std::make_shared), "... changed" (written
// afterwards), "... again" (one object for all), "counts" (payload_counter.hpp). Argument: topic.
int talker(int argc, char** argv) {
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
      std::shared_ptr<sensor_msgs::Image> object;
      for (std::size_t i = 0; i < count; ++i) {
        if (word == "object" || word == "changed" || word == "standard" || word == "again") {
          if (word == "standard") {
            object = std::make_shared<sensor_msgs::Image>();
          } else if (word != "again" || !object) {
            object.reset(new sensor_msgs::Image);
          }
          sensor_msgs::Image& image = *object;
          fill(image, ++number, bytes);
          publisher.publish(image);
          if (image.header.seq != 0) std::cout << "the object got a number" << std::endl;
          if (!pattern::matches(image.data, number)) std::cout << "the object has changed" << std::endl;
          if (word == "changed") {
            image.encoding = "a longer name of an encoding";
            std::fill(image.data.begin(), image.data.end(), 7);
            image.data.resize(2 * bytes, 8);
            image.width = 0;
          }
          continue;
        }
        sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
        fill(*image, ++number, bytes);
        if (word == "constant") {
          const sensor_msgs::Image on_stack = *image;
          image.reset();
          publisher.publish(boost::make_shared<const sensor_msgs::Image>(on_stack));
        } else {
          publisher.publish(image);
        }
      }
    } else if (word == "counts") {
      payload::say_counts();
      continue;
    }
    std::cout << "done " << line << std::endl;
  }
  return 0;
}

void on_image(const sensor_msgs::ImageConstPtr& image) {
  const bool good = image->header.frame_id == "camera" && image->encoding == "mono8" && !image->header.stamp.isZero() &&
                    pattern::matches(image->data, image->width);
  std::cout << image->width << ' ' << image->header.seq << ' ' << image->data.size() << ' ' << (good ? "good" : "bad")
            << std::endl;
}

// An ordinary roscpp program, compiled as it is and recompiled: prints "NUMBER SEQ BYTES good|bad" for each image, and on the lines
// "counts" and "tcp" of its input what payload_counter.hpp and tcp_bytes.hpp count; its input's end ends it. Argument: topic.
int listener(int argc, char** argv) {
  ros::init(argc, argv, "pointer_listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  const ros::Subscriber subscriber = node.subscribe(argv[1], 100, on_image);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "tcp") ends::say("tcp " + std::to_string(tcp_bytes()));
    if (line == "counts") payload::say_counts();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "talker") return talker(argc - 1, argv + 1);
  if (role == "listener") return listener(argc - 1, argv + 1);
  return 2;
}
