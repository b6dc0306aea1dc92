// SPDX-License-Identifier: Apache-2.0
// A publisher of types of Baton that works only while somebody listens, as image_proc's nodelets do: while it has subscribers it
// has a subscription of the topic "in", and hands on what comes there. Prints a line for each change, with the number.
#include <ros/ros.h>

#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <iostream>
#include <string>

using baton::msg::sensor_msgs::Image;

int main(int argc, char** argv) {
  ros::init(argc, argv, "watch", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  ros::NodeHandle node;
  baton::ros1::Publisher<Image> publisher;
  baton::ros1::Subscriber<Image> subscriber;
  baton::ros1::AdvertiseOptions options;
  options.subscribers_changed = [&] {
    const auto now = publisher.getNumSubscribers();
    std::cout << "subscribers " << now << std::endl;
    if (now == 0) {
      subscriber.shutdown();
    } else if (!subscriber) {
      subscriber = baton::ros1::subscribe<Image>(node, "in", 10,
                                                 [&](const Image::ConstPtr& image) { publisher.publish(image); });
    }
  };
  publisher = baton::ros1::advertise<Image>(node, "out", 10, options);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
  }
  publisher.shutdown();
  std::cout << "ended" << std::endl;
}
