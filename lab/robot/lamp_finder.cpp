// SPDX-License-Identifier: Apache-2.0
#include "lamp_finder.hpp"

#include <opencv2/imgproc.hpp>
#include <vector>

namespace baton::robot {
namespace {

/// A view on the pixels, which are only read: OpenCV has no cv::Mat of constant elements.
cv::Mat view_of(const std::uint8_t* rgb, Size size, Box box) {
  const cv::Mat whole(static_cast<int>(size.height), static_cast<int>(size.width), CV_8UC3,
                      const_cast<std::uint8_t*>(rgb), size.step());
  return whole(cv::Rect(static_cast<int>(box.x), static_cast<int>(box.y), static_cast<int>(box.width),
                        static_cast<int>(box.height)));
}

}  // namespace

LampFinder::LampFinder(Lamp lamp, Size size) : size_(size) {
  std::vector<std::uint8_t> picture(size.bytes());
  draw(template_view(lamp), size, picture.data());
  template_ = view_of(picture.data(), size, lamp_box(size, lamp)).clone();
}

double LampFinder::difference(const std::uint8_t* rgb) {
  // Not a correlation: that ignores brightness, and so whether the lamp is lit.
  cv::matchTemplate(view_of(rgb, size_, region_of_interest(size_)), template_, differences_, cv::TM_SQDIFF_NORMED);
  double least = 0;
  cv::minMaxLoc(differences_, &least);
  return least;
}

}  // namespace baton::robot
