// SPDX-License-Identifier: Apache-2.0
// In the place of image_geometry's header of this name, with its interface, for recompiled programs: see pinhole_camera_model.h.
//
// Thread rules: none of their own.
#pragma once

#ifdef IMAGE_GEOMETRY_STEREO_CAMERA_MODEL_H
#error "image_geometry's own stereo_camera_model.h was included before Baton's header of that name"
#endif
#define IMAGE_GEOMETRY_STEREO_CAMERA_MODEL_H

#include <image_geometry/pinhole_camera_model.h>
#include <sensor_msgs/CameraInfo.h>

#include <cassert>
#include <opencv2/calib3d/calib3d.hpp>
#include <opencv2/core/mat.hpp>
#include <string>

namespace image_geometry {
inline namespace baton_recompiled {

/// What the calibrations of two rectified cameras say of disparities and depths.
class StereoCameraModel {
 public:
  StereoCameraModel() { reset_q(); }
  StereoCameraModel(const StereoCameraModel& other) : left_(other.left_), right_(other.right_) {
    reset_q();
    if (other.initialized()) updateQ();
  }
  StereoCameraModel& operator=(const StereoCameraModel& other) {
    if (other.initialized()) fromCameraInfo(other.left_.cameraInfo(), other.right_.cameraInfo());
    return *this;
  }

  /// True if anything but a header differs from the calibrations before.
  bool fromCameraInfo(const sensor_msgs::CameraInfo& left, const sensor_msgs::CameraInfo& right) {
    const bool left_differs = left_.fromCameraInfo(left), right_differs = right_.fromCameraInfo(right);
    assert(left_.tfFrame() == right_.tfFrame());
    assert(left_.fx() == right_.fx());
    assert(left_.fy() == right_.fy());
    assert(left_.cy() == right_.cy());
    if (left_differs || right_differs) updateQ();
    return left_differs || right_differs;
  }
  bool fromCameraInfo(const sensor_msgs::CameraInfoConstPtr& left, const sensor_msgs::CameraInfoConstPtr& right) {
    return fromCameraInfo(*left, *right);
  }

  const PinholeCameraModel& left() const { return left_; }
  const PinholeCameraModel& right() const { return right_; }
  std::string tfFrame() const { return left_.tfFrame(); }

  /// The point that the left camera's rectified pixel shows.
  void projectDisparityTo3d(const cv::Point2d& left_uv_rect, float disparity, cv::Point3d& xyz) const {
    assert(initialized());
    const double depth = Q_(3, 2) * static_cast<double>(disparity) + Q_(3, 3);
    xyz = cv::Point3d(Q_(0, 0) * left_uv_rect.x + Q_(0, 3), Q_(1, 1) * left_uv_rect.y + Q_(1, 3), Q_(2, 3)) *
          (1.0 / depth);
  }
  /// With handleMissingValues, a point of the least disparity gets the depth MISSING_Z.
  void projectDisparityImageTo3d(const cv::Mat& disparity, cv::Mat& point_cloud,
                                 bool handleMissingValues = false) const {
    assert(initialized());
    cv::reprojectImageTo3D(disparity, point_cloud, Q_, handleMissingValues);
  }
  static constexpr double MISSING_Z = 10000.;

  const cv::Matx44d& reprojectionMatrix() const { return Q_; }
  double baseline() const { return -right_.Tx() / right_.fx(); }
  double getZ(double disparity) const {
    assert(initialized());
    return -right_.Tx() / (disparity - (left().cx() - right().cx()));
  }
  double getDisparity(double Z) const {
    assert(initialized());
    return -right_.Tx() / Z + (left().cx() - right().cx());
  }

  bool initialized() const { return left_.initialized() && right_.initialized(); }

 protected:
  PinholeCameraModel left_, right_;
  cv::Matx44d Q_;  // (x, y, z, 1) times a factor is Q * (u, v, disparity, 1)

  void updateQ() {
    const double Tx = -baseline(), fx = left_.fx(), fy = left_.fy();
    Q_(0, 0) = fy * Tx;
    Q_(0, 3) = -fy * left_.cx() * Tx;
    Q_(1, 1) = fx * Tx;
    Q_(1, 3) = -fx * left_.cy() * Tx;
    Q_(2, 3) = fx * fy * Tx;
    Q_(3, 2) = -fy;
    Q_(3, 3) = fy * (left_.cx() - right_.cx());
  }

 private:
  void reset_q() {
    Q_ = cv::Matx44d();
    Q_(0, 0) = Q_(1, 1) = 1.0;
  }
};

}  // namespace baton_recompiled
}  // namespace image_geometry
