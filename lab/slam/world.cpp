// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/imgproc.hpp>

namespace tum_slam {

namespace {

constexpr double kTexels = 250;  // of a meter

/// Rectangles and disks of all sizes, of random colors: corners for any distance.
cv::Mat texture(double width, double height, cv::RNG& random) {
  const cv::Size size(static_cast<int>(width * kTexels) + 2, static_cast<int>(height * kTexels) + 2);
  const auto color = [&] {
    return cv::Scalar(random.uniform(20, 235), random.uniform(20, 235), random.uniform(20, 235));
  };
  cv::Mat picture(size, CV_8UC3, color());
  const int shapes = std::max(30, static_cast<int>(width * height * 120));
  for (int i = 0; i < shapes; ++i) {
    // Large ones first, so that small ones remain visible.
    const double largest = 0.5 * kTexels * std::pow(0.03, 1.0 * i / shapes);
    const cv::Point at(random.uniform(0, size.width), random.uniform(0, size.height));
    const cv::Size2f extent(static_cast<float>(largest * random.uniform(0.3, 1.0)),
                            static_cast<float>(largest * random.uniform(0.3, 1.0)));
    if (random.uniform(0, 3) == 0) {
      cv::circle(picture, at, static_cast<int>(extent.width / 2) + 1, color(), -1, cv::LINE_AA);
    } else {
      cv::Point2f corners[4];
      cv::RotatedRect(at, extent, random.uniform(0.F, 90.F)).points(corners);
      const std::vector<cv::Point> polygon(corners, corners + 4);
      cv::fillConvexPoly(picture, polygon, color(), cv::LINE_AA);
    }
  }
  cv::GaussianBlur(picture, picture, {}, 0.7);
  return picture;
}

cv::Vec3b texel(const cv::Mat& picture, double x, double y) {
  const int column = std::clamp(static_cast<int>(x), 0, picture.cols - 2);
  const int row = std::clamp(static_cast<int>(y), 0, picture.rows - 2);
  const auto right = static_cast<float>(std::clamp(x - column, 0.0, 1.0)),
             down = static_cast<float>(std::clamp(y - row, 0.0, 1.0));
  const cv::Vec3b* above = picture.ptr<cv::Vec3b>(row) + column;
  const cv::Vec3b* below = picture.ptr<cv::Vec3b>(row + 1) + column;
  cv::Vec3b mixed;
  for (int i = 0; i < 3; ++i)
    mixed[i] = static_cast<unsigned char>(
        (static_cast<float>(above[0][i]) * (1 - right) + static_cast<float>(above[1][i]) * right) * (1 - down) +
        (static_cast<float>(below[0][i]) * (1 - right) + static_cast<float>(below[1][i]) * right) * down + 0.5F);
  return mixed;
}

}  // namespace

CameraPose camera_pose(double seconds) {
  const double turn = 2 * CV_PI * seconds / 10;  // the curve is closed: ten seconds
  CameraPose pose;
  pose.position = {0.8 * std::sin(turn), -1.3 + 0.4 * std::cos(turn), 1.3 + 0.2 * std::sin(2 * turn)};
  const cv::Vec3d target(0.5 * std::sin(turn - 0.6), 1.2, 0.9 + 0.2 * std::cos(turn));
  const cv::Vec3d forward = cv::normalize(target - pose.position);
  const cv::Vec3d right = cv::normalize(forward.cross(cv::Vec3d(0, 0, 1)));
  const cv::Vec3d down = forward.cross(right);
  for (int i = 0; i < 3; ++i) {
    pose.rotation(i, 0) = right[i];
    pose.rotation(i, 1) = down[i];
    pose.rotation(i, 2) = forward[i];
  }
  return pose;
}

cv::Matx33d camera_matrix(cv::Size size) {
  const double focal = 525 * size.width / 640.0;
  return {focal, 0, (size.width - 1) / 2.0, 0, focal, (size.height - 1) / 2.0, 0, 0, 1};
}

World::World() {
  const cv::Vec3d x(1, 0, 0), y(0, 1, 0), z(0, 0, 1);
  // Walls, floor and ceiling, seen from inside.
  add_face({-2.5, 2.5, 0}, x, z, 5, 2.6);
  add_face({2.5, -2.5, 0}, -x, z, 5, 2.6);
  add_face({-2.5, -2.5, 0}, y, z, 5, 2.6);
  add_face({2.5, 2.5, 0}, -y, z, 5, 2.6);
  add_face({-2.5, -2.5, 0}, x, y, 5, 5);
  add_face({-2.5, 2.5, 2.6}, x, -y, 5, 5);
  add_box({-0.9, 0.6, 0}, {0.7, 1.4, 0.75});     // a desk
  add_box({-0.7, 0.8, 0.75}, {-0.3, 1.1, 1.2});  // and the objects on it
  add_box({0.0, 0.7, 0.75}, {0.25, 0.95, 1.0});
  add_box({0.35, 1.0, 0.75}, {0.6, 1.3, 1.4});
  add_box({-2.1, 1.5, 0}, {-1.3, 2.2, 1.8});  // a cupboard
  add_box({1.4, 1.2, 0}, {2.0, 2.0, 1.1});
}

void World::add_face(const cv::Vec3d& corner, const cv::Vec3d& right, const cv::Vec3d& up, double width,
                     double height) {
  faces_.push_back({corner, right, up, right.cross(up), width, height, texture(width, height, random_)});
}

void World::add_box(const cv::Vec3d& low, const cv::Vec3d& high) {
  const cv::Vec3d x(1, 0, 0), y(0, 1, 0), z(0, 0, 1), size = high - low;
  add_face(low, x, z, size[0], size[2]);                          // front
  add_face({high[0], high[1], low[2]}, -x, z, size[0], size[2]);  // back
  add_face({low[0], high[1], low[2]}, -y, z, size[1], size[2]);   // left
  add_face({high[0], low[1], low[2]}, y, z, size[1], size[2]);    // right
  add_face({low[0], low[1], high[2]}, x, y, size[0], size[1]);    // top
}

cv::Mat World::draw(const CameraPose& pose, cv::Size size) const {
  const cv::Matx33d to_ray = pose.rotation * camera_matrix(size).inv();
  std::vector<const Face*> visible;
  for (const Face& face : faces_)
    if (face.normal.dot(pose.position - face.corner) > 0) visible.push_back(&face);
  cv::Mat picture(size, CV_8UC3);
  for (int row = 0; row < size.height; ++row) {
    auto* pixels = picture.ptr<cv::Vec3b>(row);
    for (int column = 0; column < size.width; ++column) {
      const cv::Vec3d ray = to_ray * cv::Vec3d(column, row, 1);
      double nearest = std::numeric_limits<double>::infinity(), across = 0, along = 0;
      const Face* seen = nullptr;
      for (const Face* face : visible) {
        const double approach = face->normal.dot(ray);
        if (approach >= 0) continue;
        const cv::Vec3d from = pose.position - face->corner;
        const double distance = -face->normal.dot(from) / approach;
        if (distance >= nearest) continue;
        const cv::Vec3d at = from + distance * ray;
        const double right = face->right.dot(at), up = face->up.dot(at);
        if (right < 0 || up < 0 || right > face->width || up > face->height) continue;
        nearest = distance;
        across = right;
        along = up;
        seen = face;
      }
      pixels[column] = seen == nullptr ? cv::Vec3b() : texel(seen->texture, across * kTexels, along * kTexels);
    }
  }
  return picture;
}

}  // namespace tum_slam
