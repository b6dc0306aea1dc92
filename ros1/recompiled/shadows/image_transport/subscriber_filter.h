// SPDX-License-Identifier: Apache-2.0
// In the place of image_transport's header of this name, for recompiled programs: see image_transport.h.
//
// Thread rules: as image_transport's.
#pragma once

#ifdef IMAGE_TRANSPORT_SUBSCRIBER_FILTER_H
#error "image_transport's own subscriber_filter.h was included before Baton's header of that name"
#endif
#define IMAGE_TRANSPORT_SUBSCRIBER_FILTER_H

#include <image_transport/image_transport.h>
#include <message_filters/simple_filter.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <boost/function.hpp>
#include <cstdint>
#include <string>

namespace image_transport {
inline namespace baton_recompiled {

/// Images as the source of filters.
class SubscriberFilter : public message_filters::SimpleFilter<sensor_msgs::Image> {
 public:
  SubscriberFilter() {}
  SubscriberFilter(ImageTransport& it, const std::string& base_topic, std::uint32_t queue_size,
                   const TransportHints& transport_hints = TransportHints()) {
    subscribe(it, base_topic, queue_size, transport_hints);
  }
  ~SubscriberFilter() { unsubscribe(); }

  void subscribe(ImageTransport& it, const std::string& base_topic, std::uint32_t queue_size,
                 const TransportHints& transport_hints = TransportHints()) {
    unsubscribe();
    const boost::function<void(const sensor_msgs::ImageConstPtr&)> signal =
        [this](const sensor_msgs::ImageConstPtr& image) { signalMessage(image); };
    subscriber_ = it.subscribe(base_topic, queue_size, signal, ros::VoidPtr(), transport_hints);
  }
  void unsubscribe() { subscriber_.shutdown(); }

  std::string getTopic() const { return subscriber_.getTopic(); }
  std::uint32_t getNumPublishers() const { return subscriber_.getNumPublishers(); }
  std::string getTransport() const { return subscriber_.getTransport(); }
  const Subscriber& getSubscriber() const { return subscriber_; }

 private:
  Subscriber subscriber_;
};

}  // namespace baton_recompiled
}  // namespace image_transport
