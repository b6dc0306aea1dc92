// SPDX-License-Identifier: Apache-2.0
// Ordinary programs of cv_bridge, compiled as they are and recompiled. The first argument says which; what each does and takes stands
// above its function.
#include <cv_bridge/cv_bridge.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "pattern.hpp"
#include "payload_counter.hpp"

namespace {

// An ordinary program of cv_bridge, compiled as it is and recompiled: publishes images of OpenCV, with their number as frame_id. Lines of
// its input: "subscribers N" waits for so many, "publish ROWS COLUMNS COUNT", "counts" (payload_counter.hpp). Arguments: topic; "message"
// or, for topics of CvImage itself, "cvimage", "pointer" or "const_pointer".
int talker(int argc, char** argv) {
  ros::init(argc, argv, "cv_talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 3) return 2;
  const std::string form = argv[2];
  ros::NodeHandle node;
  const ros::Publisher publisher = form == "message" ? node.advertise<sensor_msgs::Image>(argv[1], 100)
                                                     : node.advertise<cv_bridge::CvImage>(argv[1], 100);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  cv::Mat pixels;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "subscribers") {
      unsigned wanted = 0;
      words >> wanted;
      while (publisher.getNumSubscribers() < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } else if (word == "publish") {
      int rows = 0, columns = 0, count = 0;
      words >> rows >> columns >> count;
      pixels.create(rows, columns, CV_8UC1);
      for (int i = 0; i < count; ++i) {
        std_msgs::Header header;
        header.frame_id = std::to_string(++number);
        for (std::size_t at = 0; at < pixels.total(); ++at) pixels.data[at] = pattern::at(number, at);
        const auto image = boost::make_shared<cv_bridge::CvImage>(header, "mono8", pixels);
        if (form == "message") publisher.publish(image->toImageMsg());
        if (form == "cvimage") publisher.publish(*image);
        if (form == "pointer") publisher.publish(image);
        if (form == "const_pointer") publisher.publish(cv_bridge::CvImageConstPtr(image));
      }
    } else if (word == "counts") {
      payload::say_counts();
      continue;
    }
    std::cout << "done " << line << std::endl;
  }
  return 0;
}

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

// An ordinary program of cv_bridge, compiled as it is and recompiled: prints "NUMBER COLUMNSxROWS good|bad" for each image of cv_talker,
// and " shared" if OpenCV sees the pixels where the message has them. It keeps the last images, and not their messages, and at the end of
// its input exits with 1 if one of them has changed. On the line "counts" of its input it prints what payload_counter.hpp counts.
// Arguments: topic; "message" or, for a subscription to CvImage itself, "cvimage"; images to keep.
int listener(int argc, char** argv) {
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
    if (line == "counts") payload::say_counts();
  }
  spinner.stop();
  subscriber.shutdown();
  bool good = true;
  for (const auto& image : g_kept) good = good && is_good(*image);
  g_kept.clear();
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "talker") return talker(argc - 1, argv + 1);
  if (role == "listener") return listener(argc - 1, argv + 1);
  return 2;
}
