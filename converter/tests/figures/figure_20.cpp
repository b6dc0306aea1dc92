// SPDX-License-Identifier: Apache-2.0
// ROS-SF, Fig. 20: a message that the caller owns gets its size. The caller may have given it one before.
#include <stereo_msgs/DisparityImage.h>

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
