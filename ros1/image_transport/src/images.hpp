// SPDX-License-Identifier: Apache-2.0
// The two copies of the transport: from the publisher's image into a message of Baton, and from a received one into the
// subscriber's image.
#pragma once

#include <sensor_msgs/Image.h>

#include <boost/make_shared.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "baton/ros1/ros1.hpp"
#include "baton/ros1/sensor_msgs/image.hpp"

namespace baton::image_transport_plugin {

/// Fills `to`, a fresh loan, from `from` and `size` bytes of pixels at `data`. The publisher numbers header.seq. Throws
/// baton::Exception when there is no memory for the pixels.
inline void fill(msg::sensor_msgs::Image& to, const sensor_msgs::Image& from, const std::uint8_t* data,
                 std::size_t size) {
  to.header.stamp = from.header.stamp;
  to.header.frame_id = from.header.frame_id;
  to.height = from.height;
  to.width = from.width;
  to.encoding = from.encoding;
  to.is_bigendian = from.is_bigendian;
  to.step = from.step;
  to.data.resize_for_overwrite(size);
  if (size > 0) std::memcpy(to.data.data(), data, size);
}

/// An image of the subscriber's own. It is a copy because sensor_msgs::Image owns its pixels on the heap, and its
/// receivers may keep as many images as they like: message_filters and queues of programs do, and an image that they
/// keep must not take memory from the publisher.
inline sensor_msgs::ImagePtr copy_of(const msg::sensor_msgs::Image& from) {
  const auto to = boost::make_shared<sensor_msgs::Image>();
  to->header.seq = from.header.seq;
  to->header.stamp = from.header.stamp;
  to->header.frame_id.assign(from.header.frame_id.data(), from.header.frame_id.size());
  to->height = from.height;
  to->width = from.width;
  to->encoding.assign(from.encoding.data(), from.encoding.size());
  to->is_bigendian = from.is_bigendian;
  to->step = from.step;
  to->data.assign(from.data.data(), from.data.data() + from.data.size());
  return to;
}

}  // namespace baton::image_transport_plugin
