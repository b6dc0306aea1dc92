// SPDX-License-Identifier: Apache-2.0
// An ordinary roscpp program, compiled as it is and recompiled: prints "NUMBER SEQ BYTES good|bad" for each image, and on
// the lines "counts" and "tcp" of its input what payload_counter.hpp and tcp_bytes.hpp count;
// its input's end ends it. Argument: topic.
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <iostream>
#include <string>

#include "pattern.hpp"
#include "payload_counter.hpp"
#include "tcp_bytes.hpp"

void on_image(const sensor_msgs::ImageConstPtr& image) {
  const bool good = image->header.frame_id == "camera" && image->encoding == "mono8" && !image->header.stamp.isZero() &&
                    pattern::matches(image->data, image->width);
  std::cout << image->width << ' ' << image->header.seq << ' ' << image->data.size() << ' ' << (good ? "good" : "bad")
            << std::endl;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "pointer_listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  const ros::Subscriber subscriber = node.subscribe(argv[1], 100, on_image);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "tcp") std::cout << "tcp " << tcp_bytes() << std::endl;
    if (line != "counts") continue;
    std::cout << "counts " << payload::copies << ' ' << payload::allocations << std::endl;
  }
}
