// SPDX-License-Identifier: Apache-2.0
// In the place of image_transport's header of this name, for recompiled programs: see image_transport.h.
//
// Thread rules: as image_transport's.
#pragma once

#ifdef IMAGE_TRANSPORT_SUBSCRIBER_H
#error "image_transport's own subscriber.h was included before Baton's header of that name"
#endif
#define IMAGE_TRANSPORT_SUBSCRIBER_H

#include <image_transport/exception.h>
#include <image_transport/loader_fwds.h>
#include <image_transport/transport_hints.h>
#include <ros/names.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <algorithm>
#include <boost/function.hpp>
#include <boost/make_shared.hpp>
#include <boost/shared_ptr.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "baton/ros1/recompiled/stock/image_transport.hpp"

namespace image_transport {
inline namespace baton_recompiled {

class Subscriber {
 public:
  Subscriber() {}

  /// The transport's topic.
  std::string getTopic() const {
    if (!impl_) return std::string();
    return impl_->other ? impl_->other->topic() : impl_->raw.getTopic();
  }
  std::uint32_t getNumPublishers() const {
    if (!impl_) return 0;
    return impl_->other ? impl_->other->publishers() : impl_->raw.getNumPublishers();
  }
  std::string getTransport() const {
    if (!impl_) return std::string();
    return impl_->other ? impl_->other->transport() : "raw";
  }

  void shutdown() {
    if (impl_) impl_->shutdown();
  }

  operator void*() const {  // NOLINT(google-explicit-constructor)
    return impl_ && !impl_->is_shut_down ? impl_.get() : nullptr;
  }
  bool operator<(const Subscriber& rhs) const { return impl_ < rhs.impl_; }
  bool operator!=(const Subscriber& rhs) const { return impl_ != rhs.impl_; }
  bool operator==(const Subscriber& rhs) const { return impl_ == rhs.impl_; }

 private:
  using Callback = boost::function<void(const sensor_msgs::ImageConstPtr&)>;

  struct Impl {
    ~Impl() { shutdown(); }
    void shutdown() {
      is_shut_down = true;
      raw.shutdown();
      if (other) other->shutdown();
    }

    ros::Subscriber raw;
    std::unique_ptr<baton::ros1::recompiled::stock::ImageSubscriber> other;
    bool is_shut_down = false;
  };

  Subscriber(ros::NodeHandle& handle, const std::string& base_topic, std::uint32_t queue_size, const Callback& callback,
             const ros::VoidPtr& tracked_object, const TransportHints& hints)
      : impl_(new Impl) {
    namespace stock = baton::ros1::recompiled::stock;
    warn_of_transport_in(base_topic);
    if (hints.getTransport() == "raw") {
      impl_->raw =
          handle.subscribe<sensor_msgs::Image>(base_topic, queue_size, callback, tracked_object, hints.getRosHints());
      return;
    }
    impl_->other = std::make_unique<stock::ImageSubscriber>(
        handle, base_topic, queue_size,
        [callback](const stock::ImageView& view) {
          const sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
          image->header.seq = view.seq;
          image->header.stamp = view.stamp;
          image->header.frame_id = view.frame_id;
          image->height = view.height;
          image->width = view.width;
          image->encoding = view.encoding;
          image->is_bigendian = view.is_bigendian;
          image->step = view.step;
          image->data.resize_for_overwrite(view.bytes);
          if (view.bytes > 0) std::memcpy(image->data.data(), view.data, view.bytes);
          callback(image);
        },
        tracked_object, hints);
  }

  static void warn_of_transport_in(const std::string& base_topic) {
    const std::string topic = ros::names::clean(base_topic);
    const std::size_t slash = topic.rfind('/');
    if (slash == std::string::npos) return;
    const std::string last = topic.substr(slash + 1);
    const std::vector<std::string> transports = baton::ros1::recompiled::stock::declared_image_transports();
    if (std::find(transports.begin(), transports.end(), "image_transport/" + last) == transports.end()) return;
    ROS_WARN(
        "[image_transport] '%s' looks like the topic of a transport, and its messages are then no images. Subscribe to "
        "'%s' instead, with the parameter ~image_transport of '%s' (on the command line, _image_transport:=%s).",
        topic.c_str(), topic.substr(0, slash).c_str(), last.c_str(), last.c_str());
  }

  boost::shared_ptr<Impl> impl_;

  friend class ImageTransport;
};

}  // namespace baton_recompiled
}  // namespace image_transport
