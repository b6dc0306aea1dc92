// SPDX-License-Identifier: Apache-2.0
// Two ordinary nodelets, compiled as they are and recompiled: the source publishes numbered images when it has as many subscribers as
// its parameter `subscribers` says, and both print number and address of each.
#include <nodelet/nodelet.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <boost/make_shared.hpp>
#include <class_loader/class_loader.hpp>
#include <iostream>
#include <sstream>

namespace ros1_test {

void print(const char* word, const sensor_msgs::Image& image) {
  std::ostringstream line;  // one write for a line: the two may have threads of their own
  line << word << ' ' << image.width << ' ' << static_cast<const void*>(&image) << '\n';
  std::cout << line.str() << std::flush;
}

class Source : public nodelet::Nodelet {
  void onInit() override {
    const int wanted = getPrivateNodeHandle().param("subscribers", 2);
    publisher_ = getNodeHandle().advertise<sensor_msgs::Image>("images", 100);
    timer_ = getNodeHandle().createWallTimer(ros::WallDuration(0.01), [this, wanted](const ros::WallTimerEvent&) {
      if (number_ == 20 || static_cast<int>(publisher_.getNumSubscribers()) < wanted) return;
      const auto image = boost::make_shared<sensor_msgs::Image>();
      image->width = ++number_;
      image->data.resize(1'000'000);
      print("sent", *image);
      publisher_.publish(image);
    });
  }
  ros::Publisher publisher_;
  ros::WallTimer timer_;
  std::uint32_t number_ = 0;
};

class Sink : public nodelet::Nodelet {
  void onInit() override {
    subscriber_ = getNodeHandle().subscribe<sensor_msgs::Image>(
        "images", 100,
        boost::function<void(const sensor_msgs::ImageConstPtr&)>(
            [](const sensor_msgs::ImageConstPtr& image) { print("got", *image); }));
  }
  ros::Subscriber subscriber_;
};

}  // namespace ros1_test

CLASS_LOADER_REGISTER_CLASS(ros1_test::Source, nodelet::Nodelet)
CLASS_LOADER_REGISTER_CLASS(ros1_test::Sink, nodelet::Nodelet)
