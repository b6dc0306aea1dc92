// SPDX-License-Identifier: Apache-2.0
// In the place of image_geometry's header of this name, with its interface, for recompiled programs. The program links OpenCV (core,
// imgproc and calib3d), and needs no library of image_geometry.
//
// As in cv_bridge's header, the classes lie in an inline namespace, so that the stock library never takes their place: it was
// compiled with ROS's messages, and the model has a message as a member. Exception knows no message, and lies outside of it.
//
// Thread rules: none of their own. As in image_geometry, constant functions write what they keep for the next call.
#pragma once

#ifdef IMAGE_GEOMETRY_PINHOLE_CAMERA_MODEL_H
#error "image_geometry's own pinhole_camera_model.h was included before Baton's header of that name"
#endif
#define IMAGE_GEOMETRY_PINHOLE_CAMERA_MODEL_H

#include <math.h>
#include <ros/time.h>
#include <sensor_msgs/CameraInfo.h>
#include <sensor_msgs/RegionOfInterest.h>
#include <sensor_msgs/distortion_models.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <boost/shared_ptr.hpp>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <opencv2/calib3d/calib3d.hpp>
#include <opencv2/core/mat.hpp>
#include <opencv2/imgproc/imgproc.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace image_geometry {

class Exception : public std::runtime_error {
 public:
  Exception(const std::string& description) : std::runtime_error(description) {}  // NOLINT(google-explicit-constructor)
};

inline namespace baton_recompiled {

/// What the calibration in a sensor_msgs/CameraInfo says of pixels and rays. Only fromCameraInfo(), initialized() and copies are
/// for a model without a calibration.
class PinholeCameraModel {
 public:
  PinholeCameraModel() {}
  PinholeCameraModel(const PinholeCameraModel& other) { *this = other; }
  PinholeCameraModel& operator=(const PinholeCameraModel& other) {
    if (other.initialized()) fromCameraInfo(other.cam_info_);
    return *this;
  }

  /// True if anything but the header differs from the calibration before.
  bool fromCameraInfo(const sensor_msgs::CameraInfo& msg);
  bool fromCameraInfo(const sensor_msgs::CameraInfoConstPtr& msg) { return fromCameraInfo(*msg); }

  std::string tfFrame() const {
    assert(initialized());
    return cam_info_.header.frame_id;
  }
  ros::Time stamp() const {
    assert(initialized());
    return cam_info_.header.stamp;
  }

  /// The resolution of the calibration.
  cv::Size fullResolution() const {
    assert(initialized());
    return cv::Size(static_cast<int>(cam_info_.width), static_cast<int>(cam_info_.height));
  }
  /// That of the rectified image, after binning and the region of interest.
  cv::Size reducedResolution() const {
    const cv::Rect roi = rectifiedRoi();
    return cv::Size(divided(roi.width, binningX()), divided(roi.height, binningY()));
  }

  cv::Point2d toFullResolution(const cv::Point2d& uv_reduced) const {
    const cv::Rect roi = rectifiedRoi();
    return cv::Point2d(uv_reduced.x * binningX() + roi.x, uv_reduced.y * binningY() + roi.y);
  }
  cv::Rect toFullResolution(const cv::Rect& roi_reduced) const {
    const cv::Rect roi = rectifiedRoi();
    return cv::Rect(multiplied(roi_reduced.x, binningX()) + roi.x, multiplied(roi_reduced.y, binningY()) + roi.y,
                    multiplied(roi_reduced.width, binningX()), multiplied(roi_reduced.height, binningY()));
  }
  cv::Point2d toReducedResolution(const cv::Point2d& uv_full) const {
    const cv::Rect roi = rectifiedRoi();
    return cv::Point2d((uv_full.x - roi.x) / binningX(), (uv_full.y - roi.y) / binningY());
  }
  cv::Rect toReducedResolution(const cv::Rect& roi_full) const {
    const cv::Rect roi = rectifiedRoi();
    return cv::Rect(divided(roi_full.x - roi.x, binningX()), divided(roi_full.y - roi.y, binningY()),
                    divided(roi_full.width, binningX()), divided(roi_full.height, binningY()));
  }

  /// The camera's region of interest, in pixels of the full resolution.
  cv::Rect rawRoi() const {
    assert(initialized());
    const sensor_msgs::RegionOfInterest& roi = cam_info_.roi;
    return cv::Rect(static_cast<int>(roi.x_offset), static_cast<int>(roi.y_offset), static_cast<int>(roi.width),
                    static_cast<int>(roi.height));
  }
  cv::Rect rectifiedRoi() const;

  /// The rectified pixel that shows a point.
  cv::Point2d project3dToPixel(const cv::Point3d& xyz) const {
    assert(initialized());
    assert(P_(2, 3) == 0.0);  // cameras of a calibrated stereo pair have one plane
    return cv::Point2d((fx() * xyz.x + Tx()) / xyz.z + cx(), (fy() * xyz.y + Ty()) / xyz.z + cy());
  }
  /// The ray through a rectified pixel, with z = 1.
  cv::Point3d projectPixelTo3dRay(const cv::Point2d& uv_rect) const { return projectPixelTo3dRay(uv_rect, P_); }
  cv::Point3d projectPixelTo3dRay(const cv::Point2d& uv_rect, const cv::Matx34d& P) const {
    assert(initialized());
    return cv::Point3d((uv_rect.x - P(0, 2) - P(0, 3)) / P(0, 0), (uv_rect.y - P(1, 2) - P(1, 3)) / P(1, 1), 1.0);
  }

  /// These throw Exception if the model of the distortion is none of plumb_bob, rational_polynomial and equidistant.
  void rectifyImage(const cv::Mat& raw, cv::Mat& rectified, int interpolation = cv::INTER_LINEAR) const {
    if (has_distortion("rectifyImage")) initRectificationMaps();
    remap(raw, rectified, interpolation, cache_->rectification);
  }
  void unrectifyImage(const cv::Mat& rectified, cv::Mat& raw, int interpolation = cv::INTER_LINEAR) const {
    if (has_distortion("unrectifyImage")) initUnrectificationMaps();
    remap(rectified, raw, interpolation, cache_->unrectification);
  }
  cv::Point2d rectifyPoint(const cv::Point2d& uv_raw) const { return rectifyPoint(uv_raw, K_, P_); }
  cv::Point2d rectifyPoint(const cv::Point2d& uv_raw, const cv::Matx33d& K, const cv::Matx34d& P) const;
  cv::Point2d unrectifyPoint(const cv::Point2d& uv_rect) const { return unrectifyPoint(uv_rect, K_, P_); }
  cv::Point2d unrectifyPoint(const cv::Point2d& uv_rect, const cv::Matx33d& K, const cv::Matx34d& P) const;
  cv::Rect rectifyRoi(const cv::Rect& roi_raw) const;
  cv::Rect unrectifyRoi(const cv::Rect& roi_rect) const;

  /// The message as the model has it: with a binning of 1 instead of 0, and the full image instead of a region of zeros.
  const sensor_msgs::CameraInfo& cameraInfo() const { return cam_info_; }
  const cv::Matx33d& intrinsicMatrix() const { return K_; }
  const cv::Mat_<double>& distortionCoeffs() const { return D_; }
  const cv::Matx33d& rotationMatrix() const { return R_; }
  const cv::Matx34d& projectionMatrix() const { return P_; }
  const cv::Matx33d& fullIntrinsicMatrix() const { return K_full_; }
  const cv::Matx34d& fullProjectionMatrix() const { return P_full_; }

  double fx() const { return P_(0, 0); }
  double fy() const { return P_(1, 1); }
  double cx() const { return P_(0, 2); }
  double cy() const { return P_(1, 2); }
  double Tx() const { return P_(0, 3); }
  double Ty() const { return P_(1, 3); }
  double fovX() const { return 2 * std::atan(rawRoi().width / (2 * fx())); }
  double fovY() const { return 2 * std::atan(rawRoi().height / (2 * fy())); }
  std::uint32_t binningX() const { return cam_info_.binning_x; }
  std::uint32_t binningY() const { return cam_info_.binning_y; }

  /// Between lengths at depth Z and pixels of the rectified image.
  double getDeltaU(double deltaX, double Z) const {
    assert(initialized());
    return fx() * deltaX / Z;
  }
  double getDeltaV(double deltaY, double Z) const {
    assert(initialized());
    return fy() * deltaY / Z;
  }
  double getDeltaX(double deltaU, double Z) const {
    assert(initialized());
    return Z * deltaU / fx();
  }
  double getDeltaY(double deltaV, double Z) const {
    assert(initialized());
    return Z * deltaV / fy();
  }

  bool initialized() const { return cache_ != nullptr; }

 protected:
  /// OpenCV's maps of a rectification or of its inverse.
  struct Maps {
    bool full_known = false, reduced_known = false;
    cv::Mat full[2], reduced[2];
  };
  struct Cache {
    bool is_known_model = false, is_fisheye = false, is_distorted = false;
    Maps rectification, unrectification;
    bool rectified_roi_known = false;
    cv::Rect rectified_roi;
  };

  sensor_msgs::CameraInfo cam_info_;
  cv::Mat_<double> D_;  // shows the message's memory
  cv::Matx33d R_;
  cv::Matx33d K_;  // after binning and the region of interest
  cv::Matx34d P_;  // the same
  cv::Matx33d K_full_;
  cv::Matx34d P_full_;
  boost::shared_ptr<Cache> cache_;

  void initRectificationMaps() const;
  void initUnrectificationMaps() const;

  friend class StereoCameraModel;

 private:
  // Integers as image_geometry calculates with them: without a sign.
  static int divided(int number, std::uint32_t by) { return static_cast<int>(static_cast<std::uint32_t>(number) / by); }
  static int multiplied(int number, std::uint32_t by) {
    return static_cast<int>(static_cast<std::uint32_t>(number) * by);
  }

  /// The rectangle between two corners, which may be far out.
  static cv::Rect between(double left, double top, double right, double bottom) {
    const int x = static_cast<int>(left), y = static_cast<int>(top);
    const auto size = [](double end, int begin) {
      return static_cast<int>(static_cast<std::uint32_t>(static_cast<int>(end)) - static_cast<std::uint32_t>(begin));
    };
    return cv::Rect(x, y, size(right, x), size(bottom, y));
  }

  template <class Mine, class Given>
  static bool assign(Mine& mine, const Given& given) {
    if (mine == given) return false;
    mine = given;
    return true;
  }

  void bin(cv::Matx33d& K, cv::Matx34d& P) const;
  bool has_distortion(const char* function) const;
  void rectify(const cv::Mat& from, cv::Mat& to, const cv::Matx33d& K, const cv::Matx34d& P) const;
  void reduce(Maps& maps) const;
  void remap(const cv::Mat& from, cv::Mat& to, int interpolation, const Maps& maps) const;
};

/// Scales what describes the full image to the image after binning.
inline void PinholeCameraModel::bin(cv::Matx33d& K, cv::Matx34d& P) const {
  const std::uint32_t binnings[] = {binningX(), binningY()};
  for (int row = 0; row < 2; ++row) {
    if (binnings[row] <= 1) continue;
    const double scale = 1.0 / binnings[row];
    K(row, row) *= scale;
    K(row, 2) *= scale;
    P(row, row) *= scale;
    P(row, 2) *= scale;
    P(row, 3) *= scale;
  }
}

inline bool PinholeCameraModel::fromCameraInfo(const sensor_msgs::CameraInfo& msg) {
  namespace models = sensor_msgs::distortion_models;
  if (!cache_) cache_ = boost::make_shared<Cache>();
  sensor_msgs::RegionOfInterest roi = msg.roi;
  if (roi.x_offset == 0 && roi.y_offset == 0 && roi.width == 0 && roi.height == 0) {
    roi.width = msg.width;
    roi.height = msg.height;
  }
  cam_info_.header = msg.header;

  bool full = assign(cam_info_.height, msg.height);
  full |= assign(cam_info_.width, msg.width);
  full |= assign(cam_info_.distortion_model, msg.distortion_model);
  full |= assign(cam_info_.D, msg.D);
  full |= assign(cam_info_.K, msg.K);
  full |= assign(cam_info_.R, msg.R);
  full |= assign(cam_info_.P, msg.P);
  full |= assign(cam_info_.binning_x, msg.binning_x != 0 ? msg.binning_x : 1);
  full |= assign(cam_info_.binning_y, msg.binning_y != 0 ? msg.binning_y : 1);
  bool reduced = full;
  reduced |= assign(cam_info_.roi.x_offset, roi.x_offset);
  reduced |= assign(cam_info_.roi.y_offset, roi.y_offset);
  reduced |= assign(cam_info_.roi.height, roi.height);
  reduced |= assign(cam_info_.roi.width, roi.width);
  reduced |= assign(cam_info_.roi.do_rectify, roi.do_rectify);
  if (!reduced) return false;

  for (Maps* const maps : {&cache_->rectification, &cache_->unrectification}) {
    if (full) maps->full_known = false;
    maps->reduced_known = false;
  }
  cache_->rectified_roi_known = false;

  const std::size_t coefficients = cam_info_.D.size();
  D_ = coefficients == 0 ? cv::Mat_<double>() : cv::Mat_<double>(1, static_cast<int>(coefficients), cam_info_.D.data());
  R_ = cv::Matx33d(cam_info_.R.data());
  K_ = K_full_ = cv::Matx33d(cam_info_.K.data());
  P_ = P_full_ = cv::Matx34d(cam_info_.P.data());
  // As image_geometry does it: the offset of the raw region, for the rectified image as well.
  for (const int row : {0, 1}) {
    const std::uint32_t offset = row == 0 ? roi.x_offset : roi.y_offset;
    K_(row, 2) -= offset;
    P_(row, 2) -= offset;
  }
  bin(K_, P_);

  cache_->is_fisheye = cam_info_.distortion_model == models::EQUIDISTANT;
  cache_->is_known_model = cache_->is_fisheye || cam_info_.distortion_model == models::PLUMB_BOB ||
                           cam_info_.distortion_model == models::RATIONAL_POLYNOMIAL;
  cache_->is_distorted =
      std::any_of(cam_info_.D.begin(), cam_info_.D.end(), [](double coefficient) { return coefficient != 0; });
  return true;
}

inline cv::Rect PinholeCameraModel::rectifiedRoi() const {
  assert(initialized());
  if (!cache_->rectified_roi_known) {
    cache_->rectified_roi = cam_info_.roi.do_rectify ? rectifyRoi(rawRoi()) : rawRoi();
    cache_->rectified_roi_known = true;
  }
  return cache_->rectified_roi;
}

inline bool PinholeCameraModel::has_distortion(const char* function) const {
  assert(initialized());
  if (!cache_->is_known_model) {
    throw Exception(std::string(function) + ": the distortion is unknown; the message's model is '" +
                    std::string(cam_info_.distortion_model) +
                    "', and known are plumb_bob, rational_polynomial and equidistant");
  }
  return cache_->is_distorted;
}

/// Both of CV_32FC2.
inline void PinholeCameraModel::rectify(const cv::Mat& from, cv::Mat& to, const cv::Matx33d& K,
                                        const cv::Matx34d& P) const {
  if (cache_->is_fisheye) {
    cv::fisheye::undistortPoints(from, to, K, D_, R_, P);
  } else {
    cv::undistortPoints(from, to, K, D_, R_, P);
  }
}

inline cv::Point2d PinholeCameraModel::rectifyPoint(const cv::Point2d& uv_raw, const cv::Matx33d& K,
                                                    const cv::Matx34d& P) const {
  if (!has_distortion("rectifyPoint")) return uv_raw;
  cv::Point2f raw = uv_raw, rectified;  // float, and so the results are those of image_geometry
  cv::Mat to(1, 1, CV_32FC2, &rectified);
  rectify(cv::Mat(1, 1, CV_32FC2, &raw), to, K, P);
  return rectified;
}

inline cv::Point2d PinholeCameraModel::unrectifyPoint(const cv::Point2d& uv_rect, const cv::Matx33d& K,
                                                      const cv::Matx34d& P) const {
  if (!has_distortion("unrectifyPoint")) return uv_rect;
  const std::vector<cv::Point3d> ray = {projectPixelTo3dRay(uv_rect, P)};
  cv::Mat rotation;
  cv::Rodrigues(R_.t(), rotation);
  const cv::Mat nowhere = cv::Mat_<double>::zeros(3, 1);
  std::vector<cv::Point2d> pixel;
  if (cache_->is_fisheye) {
    cv::fisheye::projectPoints(ray, pixel, rotation, nowhere, K, D_);
  } else {
    cv::projectPoints(ray, rotation, nowhere, K, D_, pixel);
  }
  return pixel.front();
}

/// The largest whole pixels in the rectified corners.
inline cv::Rect PinholeCameraModel::rectifyRoi(const cv::Rect& roi_raw) const {
  const auto corner = [&](int x, int y) { return rectifyPoint(cv::Point2d(x, y), K_full_, P_full_); };
  const int left = roi_raw.x, top = roi_raw.y, right = left + roi_raw.width, bottom = top + roi_raw.height;
  const cv::Point2d left_top = corner(left, top), right_top = corner(right, top), right_bottom = corner(right, bottom),
                    left_bottom = corner(left, bottom);
  return between(std::ceil(std::min(left_top.x, left_bottom.x)), std::ceil(std::min(left_top.y, right_top.y)),
                 std::floor(std::max(right_top.x, right_bottom.x)),
                 std::floor(std::max(left_bottom.y, right_bottom.y)));
}

/// The smallest whole pixels around the raw corners, for the image after binning, as image_geometry does it.
inline cv::Rect PinholeCameraModel::unrectifyRoi(const cv::Rect& roi_rect) const {
  const auto corner = [&](int x, int y) { return unrectifyPoint(cv::Point2d(x, y)); };
  const int left = roi_rect.x, top = roi_rect.y, right = left + roi_rect.width, bottom = top + roi_rect.height;
  const cv::Point2d left_top = corner(left, top), right_top = corner(right, top), right_bottom = corner(right, bottom),
                    left_bottom = corner(left, bottom);
  return between(std::floor(std::min(left_top.x, left_bottom.x)), std::floor(std::min(left_top.y, right_top.y)),
                 std::ceil(std::max(right_top.x, right_bottom.x)), std::ceil(std::max(left_bottom.y, right_bottom.y)));
}

inline void PinholeCameraModel::initRectificationMaps() const {
  Maps& maps = cache_->rectification;
  if (!maps.full_known) {
    cv::Matx33d K = K_full_;
    cv::Matx34d P = P_full_;
    bin(K, P);
    const cv::Size size = fullResolution();
    const cv::Size binned(divided(size.width, binningX()), divided(size.height, binningY()));
    if (cache_->is_fisheye) {
      cv::fisheye::initUndistortRectifyMap(K, D_, R_, P, binned, CV_16SC2, maps.full[0], maps.full[1]);
    } else {
      cv::initUndistortRectifyMap(K, D_, R_, P, binned, CV_16SC2, maps.full[0], maps.full[1]);
    }
    maps.full_known = true;
  }
  reduce(maps);
}

inline void PinholeCameraModel::initUnrectificationMaps() const {
  Maps& maps = cache_->unrectification;
  if (!maps.full_known) {
    cv::Matx33d K = K_full_;
    cv::Matx34d P = P_full_;
    bin(K, P);
    const cv::Size size = fullResolution();
    const cv::Size binned(divided(size.width, binningX()), divided(size.height, binningY()));
    std::vector<cv::Point2f> pixels;
    pixels.reserve(static_cast<std::size_t>(binned.area()));
    for (int y = 0; y < binned.height; ++y) {
      for (int x = 0; x < binned.width; ++x) pixels.emplace_back(static_cast<float>(x), static_cast<float>(y));
    }
    cv::Mat rectified(1, static_cast<int>(pixels.size()), CV_32FC2);
    if (!pixels.empty()) rectify(cv::Mat(1, rectified.cols, CV_32FC2, pixels.data()), rectified, K, P);
    cv::convertMaps(rectified.reshape(2, binned.height), cv::Mat(), maps.full[0], maps.full[1], CV_16SC2);
    maps.full_known = true;
  }
  reduce(maps);
}

/// The maps of the region of interest.
inline void PinholeCameraModel::reduce(Maps& maps) const {
  if (maps.reduced_known) return;
  cv::Rect roi = rawRoi();
  const cv::Size size = fullResolution();
  if (roi.x != 0 || roi.y != 0 || (roi.height != 0 && roi.height != size.height) ||
      (roi.width != 0 && roi.width != size.width)) {
    roi = cv::Rect(divided(roi.x, binningX()), divided(roi.y, binningY()), divided(roi.width, binningX()),
                   divided(roi.height, binningY()));
    maps.reduced[0] = maps.full[0](roi) - cv::Scalar(roi.x, roi.y);
    maps.reduced[1] = maps.full[1](roi);
  } else {
    maps.reduced[0] = maps.full[0];
    maps.reduced[1] = maps.full[1];
  }
  maps.reduced_known = true;
}

/// A copy if there is no distortion.
inline void PinholeCameraModel::remap(const cv::Mat& from, cv::Mat& to, int interpolation, const Maps& maps) const {
  if (!cache_->is_distorted) {
    from.copyTo(to);
  } else if (from.depth() == CV_32F || from.depth() == CV_64F) {
    cv::remap(from, to, maps.reduced[0], maps.reduced[1], interpolation, cv::BORDER_CONSTANT,
              cv::Scalar(std::numeric_limits<float>::quiet_NaN()));
  } else {
    cv::remap(from, to, maps.reduced[0], maps.reduced[1], interpolation);
  }
}

}  // namespace baton_recompiled
}  // namespace image_geometry
