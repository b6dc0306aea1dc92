// SPDX-License-Identifier: Apache-2.0
// Simultaneous localization and mapping with one camera: ORB features, two-view initialization by the essential matrix, then each pose by
// PnP from the map points that the image shows, and new map points triangulated between keyframes. There is no bundle adjustment.
//
// 1. The same images give the same results, bit by bit: OpenCV's RANSAC has fixed seeds, and there is one thread (cv::setNumThreads(1)).
// 2. The map's frame is that of the first keyframe's camera; its unit is the median depth of the first map points.
#pragma once

#include <array>
#include <bitset>
#include <deque>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <vector>

namespace tum_slam {

struct Camera {
  cv::Matx33d matrix;
  std::array<double, 5> distortion{};  // k1, k2, p1, p2, k3
};

/// A rigid motion: x -> rotation * x + translation.
struct Motion {
  cv::Matx33d rotation = cv::Matx33d::eye();
  cv::Vec3d translation{0, 0, 0};

  cv::Vec3d operator()(const cv::Vec3d& x) const { return rotation * x + translation; }
  Motion operator*(const Motion& first) const {
    return {rotation * first.rotation, rotation * first.translation + translation};
  }
  Motion inverse() const { return {rotation.t(), -(rotation.t() * translation)}; }
};

/// The result of tracking one image.
struct Tracked {
  bool found = false;                  // else there is no pose and there are no points
  cv::Matx33d rotation;                // of the camera in the map
  cv::Vec3d position;                  // of the camera in the map
  std::vector<cv::KeyPoint> features;  // in the image
  std::vector<cv::Point2f> pixels;     // the features that are map points ...
  std::vector<cv::Point3d> points;     // ... and these map points, in the same order
};

class VisualSlam {
 public:
  VisualSlam(const Camera& camera, int features);

  /// Localizes the camera of the next image (gray), and extends the map.
  Tracked track(const cv::Mat& image);

 private:
  using Descriptor = std::bitset<256>;

  struct Frame {
    std::vector<cv::KeyPoint> features;
    std::vector<cv::Point2f> pixels;  // of the features, without distortion
    cv::Mat descriptors;
    std::vector<Descriptor> bits;                 // the same
    std::vector<int> points;                      // the features' map points, -1 where there is none
    std::vector<std::vector<std::size_t>> cells;  // the features by their place, row by row
    Motion pose;                                  // from the map to the camera
    cv::Size size;
  };

  /// Of the features near a place, the one whose descriptor is most alike.
  struct Nearest {
    std::size_t feature = 0;
    std::size_t bits = 256, next_bits = 256;  // in which the descriptor differs, and the next feature's does
  };

  struct Sight {         // of a map point
    cv::Vec3d eye, ray;  // the camera's place, and the direction to the point, a unit vector
  };

  struct MapPoint {
    cv::Vec3d position;
    Descriptor descriptor;
    Sight first;
    double parallax;              // between the two sights that gave the position
    int expected = 0, found = 0;  // images that should show it, and that did

    bool reliable() const { return expected < 10 || 4 * found >= expected; }
  };

  Frame detect(const cv::Mat& image) const;
  static Nearest nearest(const Frame& frame, cv::Point2f place, float radius, const Descriptor& descriptor);
  static std::vector<cv::DMatch> pairs(const Frame& first, const Frame& second);
  bool initialize(Frame& frame);
  bool localize(Frame& frame);
  void assign(Frame& frame, float radius, bool count);
  void assign_by_descriptors(Frame& frame);
  bool solve(Frame& frame, bool robust) const;
  int drop_outliers(Frame& frame) const;
  int triangulate(Frame& first, Frame& second, const std::vector<cv::DMatch>& alike, double least_parallax);
  void refine(const Frame& frame);
  void extend(Frame& frame);
  Sight sight(const Frame& frame, std::size_t feature) const;
  cv::Point2d project(const cv::Vec3d& in_camera) const;

  const Camera camera_;
  const cv::Matx33d inverse_;  // of the camera's matrix
  const cv::Ptr<cv::ORB> orb_;
  std::vector<MapPoint> map_;
  std::deque<Frame> keyframes_;  // the newest ones
  Motion pose_, velocity_;       // the pose of the last image, and the motion from the image before to it
  int since_keyframe_ = 0;
  bool initialized_ = false, lost_ = false;
};

}  // namespace tum_slam
