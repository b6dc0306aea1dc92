// SPDX-License-Identifier: Apache-2.0
// A library that plug_in_host.cpp loads, compiled as it is and recompiled. Prints `word number` for each image that comes.
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <boost/make_shared.hpp>
#include <iostream>
#include <memory>
#include <string>

namespace {

struct Ends {
  ros::NodeHandle node;
  ros::Publisher publisher;
  ros::Subscriber subscriber;
};
std::unique_ptr<Ends> g_ends;

}  // namespace

extern "C" {

void advertise() {
  if (!g_ends) g_ends = std::make_unique<Ends>();
  g_ends->publisher = g_ends->node.advertise<sensor_msgs::Image>("images", 100);
}

void subscribe(const char* word) {
  if (!g_ends) g_ends = std::make_unique<Ends>();
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> on_image =
      [text = std::string(word)](const sensor_msgs::ImageConstPtr& image) {
        std::cout << text << ' ' << image->width << std::endl;
      };
  g_ends->subscriber = g_ends->node.subscribe("images", 100, on_image);
}

void publish(unsigned number) {
  const sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
  image->width = number;
  image->data.resize(100000);
  g_ends->publisher.publish(image);
}

void stop() { g_ends.reset(); }
}
