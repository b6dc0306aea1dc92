// SPDX-License-Identifier: Apache-2.0
// ROS-SF, Fig. 20: a message that the caller owns gets its size. The caller may have given it one before.
#include <ros/ros.h>
#include <stereo_msgs/DisparityImage.h>

#include <vector>

class Matcher {
 public:
  void match(const std::vector<float>& disparities, unsigned width, unsigned height,
             stereo_msgs::DisparityImage& out) const;
};

void Matcher::match(const std::vector<float>& disparities, unsigned width, unsigned height,
                    stereo_msgs::DisparityImage& out) const {
  sensor_msgs::Image& picture = out.image;
  picture.height = height;
  picture.width = width;
  picture.step = width * sizeof(float);
  picture.data.resize(picture.step * picture.height);
  float* values = reinterpret_cast<float*>(&picture.data[0]);
  for (unsigned i = 0; i < width * height; ++i) values[i] = disparities[i];
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "matcher");
  ros::NodeHandle node;
  const ros::Publisher publisher = node.advertise<stereo_msgs::DisparityImage>("disparity", 1);
  const Matcher matcher;
  stereo_msgs::DisparityImage disparity;
  for (ros::Rate rate(30); ros::ok(); rate.sleep()) {
    // Coarse, then fine: the second call resizes what the first one sized, and the next turn does so again.
    matcher.match(std::vector<float>(8 * 4, 1.5F), 8, 4, disparity);
    matcher.match(std::vector<float>(16 * 8, 2.5F), 16, 8, disparity);
    publisher.publish(disparity);
  }
}
