// SPDX-License-Identifier: Apache-2.0
// Finds a lit lamp in the middle of a picture, with OpenCV's matchTemplate and minMaxLoc in a region of interest (TZC IV-E).
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <opencv2/core.hpp>

#include "picture.hpp"

namespace baton::robot {

class LampFinder {
 public:
  LampFinder(Lamp lamp, Size size);
  /// 0: exactly the lamp. `rgb` is only read.
  double difference(const std::uint8_t* rgb);
  bool finds(const std::uint8_t* rgb) { return difference(rgb) < kAlike; }

 private:
  /// A lit lamp has below 0.12, everything else in this world above 0.2 (lamp_finder_test.cpp).
  static constexpr double kAlike = 0.15;
  const Size size_;
  cv::Mat template_, differences_;
};

}  // namespace baton::robot
