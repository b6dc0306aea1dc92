// SPDX-License-Identifier: Apache-2.0
// In the place of image_transport's header of this name, for recompiled programs: see image_transport.h.
//
// Thread rules: as image_transport's.
#pragma once

#ifdef IMAGE_TRANSPORT_CAMERA_SUBSCRIBER_H
#error "image_transport's own camera_subscriber.h was included before Baton's header of that name"
#endif
#define IMAGE_TRANSPORT_CAMERA_SUBSCRIBER_H

#include <image_transport/subscriber.h>
#include <image_transport/transport_hints.h>
#include <message_filters/simple_filter.h>
#include <message_filters/subscriber.h>
#include <message_filters/time_synchronizer.h>
#include <ros/ros.h>
#include <sensor_msgs/CameraInfo.h>
#include <sensor_msgs/Image.h>

#include <boost/function.hpp>
#include <boost/shared_ptr.hpp>
#include <cstdint>
#include <string>

namespace image_transport {
inline namespace baton_recompiled {

class ImageTransport;

/// Images with the calibrations of their stamps.
class CameraSubscriber {
 public:
  typedef boost::function<void(const sensor_msgs::ImageConstPtr&, const sensor_msgs::CameraInfoConstPtr&)> Callback;

  CameraSubscriber() {}

  std::string getTopic() const { return impl_ ? impl_->images.getTopic() : std::string(); }
  std::string getInfoTopic() const { return impl_ ? impl_->infos.getTopic() : std::string(); }
  /// Of the images.
  std::uint32_t getNumPublishers() const { return impl_ ? impl_->images.getNumPublishers() : 0; }
  std::string getTransport() const { return impl_ ? impl_->images.getTransport() : std::string(); }

  void shutdown() {
    if (impl_) impl_->shutdown();
  }

  operator void*() const {  // NOLINT(google-explicit-constructor)
    return impl_ && !impl_->is_shut_down ? impl_.get() : nullptr;
  }
  bool operator<(const CameraSubscriber& rhs) const { return impl_ < rhs.impl_; }
  bool operator!=(const CameraSubscriber& rhs) const { return impl_ != rhs.impl_; }
  bool operator==(const CameraSubscriber& rhs) const { return impl_ == rhs.impl_; }

 private:
  struct Impl {
    explicit Impl(std::uint32_t queue_size) : synchronizer(queue_size) {}
    ~Impl() { shutdown(); }
    void shutdown() {
      is_shut_down = true;
      images.shutdown();
      infos.unsubscribe();
    }
    void look() {
      if (images_seen > 3 * pairs_seen || infos_seen > 3 * pairs_seen) {
        ROS_WARN_NAMED("sync",
                       "[image_transport] Topics '%s' and '%s' do not appear to be synchronized. In the last 10 s came "
                       "%u images and %u calibrations, and %u pairs had one stamp.",
                       images.getTopic().c_str(), infos.getTopic().c_str(), images_seen, infos_seen, pairs_seen);
      }
      images_seen = infos_seen = pairs_seen = 0;
    }

    /// What the synchronizer takes images from.
    struct Images : message_filters::SimpleFilter<sensor_msgs::Image> {
      void take(const sensor_msgs::ImageConstPtr& image) { signalMessage(image); }
    };
    Images source;
    message_filters::Subscriber<sensor_msgs::CameraInfo> infos;
    message_filters::TimeSynchronizer<sensor_msgs::Image, sensor_msgs::CameraInfo> synchronizer;
    Subscriber images;  // ends before the source that its callback uses
    bool is_shut_down = false;
    unsigned images_seen = 0, infos_seen = 0, pairs_seen = 0;
    ros::WallTimer timer;
  };

  boost::shared_ptr<Impl> impl_;

  friend class ImageTransport;
};

}  // namespace baton_recompiled
}  // namespace image_transport
