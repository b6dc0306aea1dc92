// SPDX-License-Identifier: Apache-2.0
// The unit quaternion (x, y, z, w) of a rotation matrix, with w >= 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>

namespace tum_slam {

inline cv::Vec4d quaternion(const cv::Matx33d& r) {
  const auto half_root = [](double value) { return 0.5 * std::sqrt(std::max(0.0, value)); };
  cv::Vec4d q(half_root(1 + r(0, 0) - r(1, 1) - r(2, 2)), half_root(1 - r(0, 0) + r(1, 1) - r(2, 2)),
              half_root(1 - r(0, 0) - r(1, 1) + r(2, 2)), half_root(1 + r(0, 0) + r(1, 1) + r(2, 2)));
  q[0] = std::copysign(q[0], r(2, 1) - r(1, 2));
  q[1] = std::copysign(q[1], r(0, 2) - r(2, 0));
  q[2] = std::copysign(q[2], r(1, 0) - r(0, 1));
  return q / cv::norm(q);
}

}  // namespace tum_slam
