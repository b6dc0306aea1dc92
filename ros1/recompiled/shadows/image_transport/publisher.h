// SPDX-License-Identifier: Apache-2.0
// In the place of image_transport's header of this name, for recompiled programs: see image_transport.h.
//
// Thread rules: as image_transport's.
#pragma once

#ifdef IMAGE_TRANSPORT_PUBLISHER_H
#error "image_transport's own publisher.h was included before Baton's header of that name"
#endif
#define IMAGE_TRANSPORT_PUBLISHER_H

#include <image_transport/exception.h>
#include <image_transport/loader_fwds.h>
#include <image_transport/single_subscriber_publisher.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <algorithm>
#include <boost/shared_ptr.hpp>
#include <boost/weak_ptr.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "baton/ros1/recompiled/stock/image_transport.hpp"

#ifndef BATON_ROS1_STOCK_image_transport
#error \
    "this Baton was built without libimage-transport-dev, and so without what image_transport needs in recompiled programs"
#endif

namespace image_transport {
inline namespace baton_recompiled {

class Publisher {
 public:
  Publisher() {}

  /// Of all transports.
  std::uint32_t getNumSubscribers() const { return is_valid() ? impl_->subscribers() : 0; }
  std::string getTopic() const { return impl_ ? impl_->topic : std::string(); }

  void publish(const sensor_msgs::Image& message) const {
    if (!can_publish()) return;
    if (impl_->raw && impl_->raw.getNumSubscribers() > 0) impl_->raw.publish(message);
    impl_->publish_by_others(message);
  }
  /// Handed over if it was made by boost::make_shared or new.
  void publish(const sensor_msgs::ImageConstPtr& message) const {
    if (!can_publish()) return;
    if (impl_->raw && impl_->raw.getNumSubscribers() > 0) impl_->raw.publish(message);
    impl_->publish_by_others(*message);
  }

  void shutdown() {
    if (impl_) impl_->shutdown();
    impl_.reset();
  }

  operator void*() const {  // NOLINT(google-explicit-constructor)
    return is_valid() ? impl_.get() : nullptr;
  }
  bool operator<(const Publisher& rhs) const { return impl_ < rhs.impl_; }
  bool operator!=(const Publisher& rhs) const { return impl_ != rhs.impl_; }
  bool operator==(const Publisher& rhs) const { return impl_ == rhs.impl_; }

 private:
  struct Impl {
    ~Impl() { shutdown(); }
    std::uint32_t subscribers() const {
      return (raw ? raw.getNumSubscribers() : 0) + (others ? others->subscribers() : 0);
    }
    void publish_by_others(const sensor_msgs::Image& image) const {
      if (!others || others->subscribers() == 0) return;
      others->publish(view_of(image));
    }
    static baton::ros1::recompiled::stock::ImageView view_of(const sensor_msgs::Image& image) {
      return {image.header.seq, image.header.stamp, image.header.frame_id, image.height,     image.width,
              image.encoding,   image.is_bigendian, image.step,            image.data.data(), image.data.size()};
    }
    void shutdown() {
      is_shut_down = true;
      raw.shutdown();
      if (others) others->shutdown();
    }

    std::string topic;
    std::mutex being_made;  // a callback may come before the publishers that it counts are there
    ros::Publisher raw;
    std::unique_ptr<baton::ros1::recompiled::stock::ImagePublisher> others;
    bool is_shut_down = false;
  };

  Publisher(ros::NodeHandle& handle, const std::string& base_topic, std::uint32_t queue_size,
            const SubscriberStatusCallback& connect, const SubscriberStatusCallback& disconnect,
            const ros::VoidPtr& tracked_object, bool latch)
      : impl_(new Impl) {
    const std::lock_guard<std::mutex> lock(impl_->being_made);
    impl_->topic = handle.resolveName(base_topic);
    std::vector<std::string> disabled;
    handle.getParam(impl_->topic + "/disable_pub_plugins", disabled);
    if (std::find(disabled.begin(), disabled.end(), "image_transport/raw") == disabled.end()) {
      impl_->raw = handle.advertise<sensor_msgs::Image>(impl_->topic, queue_size, callback_of_raw(connect),
                                                        callback_of_raw(disconnect), tracked_object, latch);
    }
    impl_->others = std::make_unique<baton::ros1::recompiled::stock::ImagePublisher>(
        handle, impl_->topic, queue_size, callback_of_others(connect), callback_of_others(disconnect), tracked_object,
        latch, disabled);
    // After ros::shutdown() roscpp advertises nothing, and that is no error.
    if (!impl_->raw && impl_->others->empty() && ros::ok()) {
      throw Exception("No transport is left for " + impl_->topic + ": see the parameter " + impl_->topic +
                      "/disable_pub_plugins");
    }
  }

  bool is_valid() const { return impl_ && !impl_->is_shut_down; }
  bool can_publish() const {
    ROS_ASSERT_MSG(is_valid(), "Call to publish() on an invalid image_transport::Publisher");
    return is_valid();
  }

  baton::ros1::recompiled::stock::ImagePublisher::Status callback_of_others(
      const SubscriberStatusCallback& program) const {
    if (!program) return {};
    return [call = callback(program)](const std::string& name,
                                      const baton::ros1::recompiled::stock::ImagePublisher::Send& send) {
      call(name, [&send](const sensor_msgs::Image& image) { send(Impl::view_of(image)); });
    };
  }
  ros::SubscriberStatusCallback callback_of_raw(const SubscriberStatusCallback& program) const {
    if (!program) return {};
    return [call = callback(program)](const ros::SingleSubscriberPublisher& subscriber) {
      call(subscriber.getSubscriberName(),
           [&subscriber](const sensor_msgs::Image& image) { subscriber.publish(image); });
    };
  }
  boost::function<void(const std::string&, const SingleSubscriberPublisher::PublishFn&)> callback(
      const SubscriberStatusCallback& program) const {
    return [weak = boost::weak_ptr<Impl>(impl_), program](const std::string& name,
                                                          const SingleSubscriberPublisher::PublishFn& publish) {
      const boost::shared_ptr<Impl> impl = weak.lock();
      if (!impl) return;
      { const std::lock_guard<std::mutex> until_made(impl->being_made); }
      program(SingleSubscriberPublisher(name, impl->topic, [impl] { return impl->subscribers(); }, publish));
    };
  }

  boost::shared_ptr<Impl> impl_;

  friend class ImageTransport;
};

}  // namespace baton_recompiled
}  // namespace image_transport
