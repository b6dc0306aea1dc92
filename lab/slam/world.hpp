// SPDX-License-Identifier: Apache-2.0
// A room with boxes in it, all with textures, and a camera that moves through the room on a known curve.
#pragma once

#include <opencv2/core.hpp>
#include <vector>

namespace tum_slam {

/// Where a camera is in the world: x right, y down and z forward are the columns of `rotation`. Meters.
struct CameraPose {
  cv::Matx33d rotation;
  cv::Vec3d position;
};

/// The camera's pose `seconds` after the beginning.
CameraPose camera_pose(double seconds);

/// The camera's matrix for pictures of this size: the opening angle of TUM's cameras, the center in the middle.
cv::Matx33d camera_matrix(cv::Size size);

/// Thread rules: draw() from any thread.
class World {
 public:
  World();

  /// The camera's picture (BGR). The same pose and size give the same picture.
  cv::Mat draw(const CameraPose& pose, cv::Size size) const;

 private:
  struct Face {
    cv::Vec3d corner, right, up, normal;  // unit vectors; seen from the side to which the normal points
    double width, height;
    cv::Mat texture;
  };

  void add_face(const cv::Vec3d& corner, const cv::Vec3d& right, const cv::Vec3d& up, double width, double height);
  void add_box(const cv::Vec3d& low, const cv::Vec3d& high);

  std::vector<Face> faces_;
  cv::RNG random_{17};
};

}  // namespace tum_slam
