// SPDX-License-Identifier: Apache-2.0
// In the place of image_transport's header of this name, for recompiled programs: see image_transport.h.
//
// Thread rules: as image_transport's.
#pragma once

#ifdef IMAGE_TRANSPORT_CAMERA_PUBLISHER_H
#error "image_transport's own camera_publisher.h was included before Baton's header of that name"
#endif
#define IMAGE_TRANSPORT_CAMERA_PUBLISHER_H

#include <image_transport/publisher.h>
#include <image_transport/single_subscriber_publisher.h>
#include <ros/ros.h>
#include <sensor_msgs/CameraInfo.h>
#include <sensor_msgs/Image.h>

#include <algorithm>
#include <boost/shared_ptr.hpp>
#include <cstdint>
#include <string>

namespace image_transport {
inline namespace baton_recompiled {

class ImageTransport;

/// Images and their calibrations.
class CameraPublisher {
 public:
  CameraPublisher() {}

  /// Of the topic that has more of them.
  std::uint32_t getNumSubscribers() const {
    return is_valid() ? std::max(impl_->images.getNumSubscribers(), impl_->infos.getNumSubscribers()) : 0;
  }
  std::string getTopic() const { return impl_ ? impl_->images.getTopic() : std::string(); }
  std::string getInfoTopic() const { return impl_ ? impl_->infos.getTopic() : std::string(); }

  void publish(const sensor_msgs::Image& image, const sensor_msgs::CameraInfo& info) const {
    if (!can_publish()) return;
    impl_->images.publish(image);
    impl_->infos.publish(info);
  }
  void publish(const sensor_msgs::ImageConstPtr& image, const sensor_msgs::CameraInfoConstPtr& info) const {
    if (!can_publish()) return;
    impl_->images.publish(image);
    impl_->infos.publish(info);
  }
  /// Writes `stamp` into both.
  void publish(sensor_msgs::Image& image, sensor_msgs::CameraInfo& info, ros::Time stamp) const {
    if (!can_publish()) return;
    image.header.stamp = stamp;
    info.header.stamp = stamp;
    publish(image, info);
  }

  void shutdown() {
    if (impl_) impl_->shutdown();
    impl_.reset();
  }

  operator void*() const {  // NOLINT(google-explicit-constructor)
    return is_valid() ? impl_.get() : nullptr;
  }
  bool operator<(const CameraPublisher& rhs) const { return impl_ < rhs.impl_; }
  bool operator!=(const CameraPublisher& rhs) const { return impl_ != rhs.impl_; }
  bool operator==(const CameraPublisher& rhs) const { return impl_ == rhs.impl_; }

 private:
  struct Impl {
    ~Impl() { shutdown(); }
    void shutdown() {
      is_shut_down = true;
      images.shutdown();
      infos.shutdown();
    }

    Publisher images;
    ros::Publisher infos;
    bool is_shut_down = false;
  };

  bool is_valid() const { return impl_ && !impl_->is_shut_down; }
  bool can_publish() const {
    ROS_ASSERT_MSG(is_valid(), "Call to publish() on an invalid image_transport::CameraPublisher");
    return is_valid();
  }

  boost::shared_ptr<Impl> impl_;

  friend class ImageTransport;
};

}  // namespace baton_recompiled
}  // namespace image_transport
