// SPDX-License-Identifier: Apache-2.0
// cv_bridge's functions for images that are types of Baton. Needs cv_bridge's headers (libcv-bridge-dev) and libraries, and a
// generated sensor_msgs/Image (ROS1). The program links cv_bridge and OpenCV.
//
// Thread rules: none of their own.
#pragma once

#include <cv_bridge/cv_bridge.h>

#include <boost/endian/conversion.hpp>
#include <boost/make_shared.hpp>
#include <cstring>
#include <string>

#include "baton/ros1/ros1.hpp"
#include "baton/ros1/sensor_msgs/image.hpp"

namespace baton::ros1 {
namespace detail {

inline std_msgs::Header stock_header(const msg::std_msgs::Header& header) {
  std_msgs::Header stock;
  stock.seq = header.seq;
  stock.stamp = static_cast<ros::Time>(header.stamp);
  stock.frame_id = std::string(header.frame_id);
  return stock;
}

inline bool has_order_of_machine(const msg::sensor_msgs::Image& image) {
  return image.is_bigendian == (boost::endian::order::native == boost::endian::order::big);
}

/// The image as roscpp's type: a copy, for what only cv_bridge itself can convert.
inline sensor_msgs::ImagePtr stock_image(const msg::sensor_msgs::Image& image) {
  auto stock = boost::make_shared<sensor_msgs::Image>();
  stock->header = stock_header(image.header);
  stock->height = image.height;
  stock->width = image.width;
  stock->encoding = std::string(image.encoding);
  stock->is_bigendian = image.is_bigendian;
  stock->step = image.step;
  stock->data.assign(image.data.begin(), image.data.end());
  return stock;
}

}  // namespace detail

/// As cv_bridge::toCvShare(): OpenCV sees the pixels in shared memory, and the result keeps the message. If `encoding` is
/// given and another one, the pixels are converted into memory of the program. `message` is a pointer of a callback.
/// Throws cv_bridge::Exception for encodings and sizes that cv_bridge refuses.
template <class Pointer>
cv_bridge::CvImageConstPtr toCvShare(const Pointer& message, const std::string& encoding = {}) {
  const msg::sensor_msgs::Image& image = *message;
  const std::string own_encoding(image.encoding);
  const int type = cv_bridge::getCvType(own_encoding);
  const std::size_t row = std::size_t{image.width} * static_cast<std::size_t>(CV_ELEM_SIZE(type));
  if (!detail::has_order_of_machine(image) || image.step < row ||
      std::size_t{image.step} * image.height != image.data.size()) {
    return cv_bridge::toCvShare(sensor_msgs::ImageConstPtr(detail::stock_image(image)), encoding);
  }
  struct Kept {
    cv_bridge::CvImage view;
    Pointer message;
  };
  const auto kept = boost::make_shared<Kept>();
  kept->message = message;
  kept->view = cv_bridge::CvImage(
      detail::stock_header(image.header), own_encoding,
      cv::Mat(static_cast<int>(image.height), static_cast<int>(image.width), type,
              const_cast<std::uint8_t*>(image.data.data()), image.step));  // a CvImageConstPtr is not written to
  const cv_bridge::CvImageConstPtr shared(kept, &kept->view);
  return encoding.empty() || encoding == own_encoding ? shared : cv_bridge::cvtColor(shared, encoding);
}

/// As cv_bridge::toCvCopy(): the pixels are copied, or converted, into memory of the program, which may write them.
template <class Pointer>
cv_bridge::CvImagePtr toCvCopy(const Pointer& message, const std::string& encoding = {}) {
  const cv_bridge::CvImageConstPtr shared = toCvShare(message);
  return cv_bridge::cvtColor(shared, encoding.empty() ? shared->encoding : encoding);
}

/// As CvImage::toImageMsg(): the copy is made in the publisher's memory, so publish(std::move(loan)) adds none.
/// Throws what Publisher::loan() throws.
inline Loan<msg::sensor_msgs::Image> toImageMsg(Publisher<msg::sensor_msgs::Image>& publisher,
                                                const cv_bridge::CvImage& image) {
  auto message = publisher.loan();
  message->header.stamp = image.header.stamp;
  message->header.frame_id = image.header.frame_id;
  message->height = static_cast<std::uint32_t>(image.image.rows);
  message->width = static_cast<std::uint32_t>(image.image.cols);
  message->encoding = image.encoding;
  message->is_bigendian = boost::endian::order::native == boost::endian::order::big;
  const std::size_t row = static_cast<std::size_t>(image.image.cols) * image.image.elemSize();
  message->step = static_cast<std::uint32_t>(row);
  message->data.resize_for_overwrite(row * static_cast<std::size_t>(image.image.rows));
  for (int y = 0; y < image.image.rows; ++y) {
    std::memcpy(message->data.data() + row * static_cast<std::size_t>(y), image.image.ptr(y), row);
  }
  return message;
}

}  // namespace baton::ros1
