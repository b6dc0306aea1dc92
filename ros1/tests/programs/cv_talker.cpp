// SPDX-License-Identifier: Apache-2.0
// An ordinary program of cv_bridge, compiled as it is and recompiled: publishes images of OpenCV, with their number as frame_id.
// Lines of its input: "subscribers N" waits for so many, "publish ROWS COLUMNS COUNT", "counts" (payload_counter.hpp).
// Arguments: topic; "message" or, for topics of CvImage itself, "cvimage", "pointer" or "const_pointer".
#include <cv_bridge/cv_bridge.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "pattern.hpp"
#include "payload_counter.hpp"

int main(int argc, char** argv) {
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
      std::cout << "counts " << payload::copies << ' ' << payload::allocations << std::endl;
      continue;
    }
    std::cout << "done " << line << std::endl;
  }
}
