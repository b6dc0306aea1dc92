// SPDX-License-Identifier: Apache-2.0
// An ordinary program of cv_bridge, compiled as it is and recompiled: prints "NUMBER COLUMNSxROWS good|bad" for each image of
// cv_talker, and " shared" if OpenCV sees the pixels where the message has them. It keeps the last images, and not their
// messages, and at the end of its input exits with 1 if one of them has changed. On the line "counts" of its input it prints
// what payload_counter.hpp counts. Arguments: topic; "message" or, for a subscription to CvImage itself, "cvimage"; images to keep.
#include <cv_bridge/cv_bridge.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <deque>
#include <iostream>
#include <string>

#include "pattern.hpp"
#include "payload_counter.hpp"

namespace {

std::size_t g_keep = 0;
std::deque<cv_bridge::CvImageConstPtr> g_kept;

bool is_good(const cv_bridge::CvImage& image) {
  const auto number = static_cast<std::uint32_t>(std::stoul(std::string(image.header.frame_id)));
  bool good = image.encoding == "mono8" && image.image.isContinuous();
  for (std::size_t at = 0; at < image.image.total(); ++at) {
    good = good && image.image.data[at] == pattern::at(number, at);
  }
  return good;
}

void on_image(const cv_bridge::CvImageConstPtr& image, const char* words) {
  std::cout << std::string(image->header.frame_id) << ' ' << image->image.cols << 'x' << image->image.rows << ' '
            << (is_good(*image) ? "good" : "bad") << words << std::endl;
  g_kept.push_back(image);
  if (g_kept.size() > g_keep) g_kept.pop_front();
}

void on_message(const sensor_msgs::ImageConstPtr& message) {
  const cv_bridge::CvImageConstPtr image = cv_bridge::toCvShare(message);
  on_image(image, image->image.data == message->data.data() ? " shared" : "");
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "cv_listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 4) return 2;
  g_keep = std::stoul(argv[3]);
  ros::NodeHandle node;
  const boost::function<void(const cv_bridge::CvImageConstPtr&)> on_cv_image =
      [](const cv_bridge::CvImageConstPtr& image) { on_image(image, ""); };
  ros::Subscriber subscriber = std::string(argv[2]) == "message"
                                   ? node.subscribe(argv[1], 100, on_message)
                                   : node.subscribe<cv_bridge::CvImage>(argv[1], 100, on_cv_image);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line != "counts") continue;
    std::cout << "counts " << payload::copies << ' ' << payload::allocations << std::endl;
  }
  spinner.stop();
  subscriber.shutdown();
  bool good = true;
  for (const auto& image : g_kept) good = good && is_good(*image);
  g_kept.clear();
  return good ? 0 : 1;
}
