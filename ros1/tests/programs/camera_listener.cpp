// SPDX-License-Identifier: Apache-2.0
// An ordinary program of image_transport, compiled as it is and recompiled: prints "NUMBER BYTES good|bad" for each image that
// came with its calibration, and on the lines "counts" and "tcp" of its input what payload_counter.hpp and tcp_bytes.hpp count;
// its input's end ends it. Argument: base topic.
#include <image_transport/image_transport.h>
#include <ros/ros.h>

#include <iostream>
#include <string>

#include "pattern.hpp"
#include "payload_counter.hpp"
#include "tcp_bytes.hpp"

void on_image(const sensor_msgs::ImageConstPtr& image, const sensor_msgs::CameraInfoConstPtr& info) {
  const bool good = image->header.frame_id == "camera" && info->header.frame_id == "camera" &&
                    info->header.stamp == image->header.stamp && info->width == image->width &&
                    image->encoding == "mono8" && pattern::matches(image->data, image->width);
  std::cout << image->width << ' ' << image->data.size() << ' ' << (good ? "good" : "bad") << std::endl;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "camera_listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
  const image_transport::CameraSubscriber subscriber = transport.subscribeCamera(argv[1], 100, on_image);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "tcp") std::cout << "tcp " << tcp_bytes() << std::endl;
    if (line != "counts") continue;
    std::cout << "counts " << payload::copies << ' ' << payload::allocations << std::endl;
  }
}
