// SPDX-License-Identifier: Apache-2.0
// Publishes the images of a sequence in the layout of TUM RGB-D on the topic `image`.
// Parameters: ~sequence (the folder), ~rate (images per second), ~images (that many at most; 0: all). Prints at its end, for each image, "frame STAMP TIME": the stamp of the
// message in ns, and the image's time in the sequence.
#include <cv_bridge/cv_bridge.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <exception>
#include <iostream>
#include <opencv2/imgcodecs.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "sequence.hpp"

namespace {

void play(ros::NodeHandle& node, const ros::NodeHandle& settings) {
  std::vector<tum_slam::ListedImage> images = tum_slam::read_list(settings.param<std::string>("sequence", "."));
  if (const int most = settings.param("images", 0); most > 0 && images.size() > static_cast<std::size_t>(most))
    images.resize(static_cast<std::size_t>(most));
  ros::Publisher publisher = node.advertise<sensor_msgs::Image>("image", 50);
  while (ros::ok() && publisher.getNumSubscribers() == 0) ros::WallDuration(0.01).sleep();
  ros::Rate rate(settings.param("rate", 30.0));
  for (const tum_slam::ListedImage& image : images) {
    // In the second half of the period: decoding shall not compete for a CPU with the nodes that work on the image before.
    (rate.expectedCycleTime() * 0.5).sleep();
    const cv::Mat picture = cv::imread(image.file, cv::IMREAD_COLOR);
    if (picture.empty()) throw std::runtime_error(image.file + ": is no image that OpenCV reads");
    rate.sleep();
    if (!ros::ok()) break;
    std_msgs::Header header;
    header.stamp = ros::Time::now();
    header.frame_id = "camera";
    publisher.publish(cv_bridge::CvImage(header, "bgr8", picture).toImageMsg());
    std::cout << "frame " << header.stamp.toNSec() << ' ' << std::to_string(image.time) << '\n';
  }
  std::cout << "end" << std::endl;
  ros::waitForShutdown();  // the last images are on their way
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "pub_tum", ros::init_options::NoRosout);
  ros::NodeHandle node;
  const ros::NodeHandle settings("~");
  try {
    play(node, settings);
  } catch (const std::exception& problem) {
    std::cerr << "pub_tum: " << problem.what() << std::endl;
    return 1;
  }
}
