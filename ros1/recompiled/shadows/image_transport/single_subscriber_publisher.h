// SPDX-License-Identifier: Apache-2.0
// In the place of image_transport's header of this name, for recompiled programs: see image_transport.h.
//
// Thread rules: as image_transport's.
#pragma once

#ifdef IMAGE_TRANSPORT_SINGLE_SUBSCRIBER_PUBLISHER
#error "image_transport's own single_subscriber_publisher.h was included before Baton's header of that name"
#endif
#define IMAGE_TRANSPORT_SINGLE_SUBSCRIBER_PUBLISHER

#include <sensor_msgs/Image.h>

#include <boost/function.hpp>
#include <cstdint>
#include <string>

namespace image_transport {
inline namespace baton_recompiled {

/// The subscriber that came or went, in a connect callback.
class SingleSubscriberPublisher {
 public:
  typedef boost::function<std::uint32_t()> GetNumSubscribersFn;
  typedef boost::function<void(const sensor_msgs::Image&)> PublishFn;

  SingleSubscriberPublisher(const std::string& caller_id, const std::string& topic,
                            const GetNumSubscribersFn& num_subscribers_fn, const PublishFn& publish_fn)
      : name_(caller_id), topic_(topic), subscribers_(num_subscribers_fn), publish_(publish_fn) {}
  SingleSubscriberPublisher(const SingleSubscriberPublisher&) = delete;
  SingleSubscriberPublisher& operator=(const SingleSubscriberPublisher&) = delete;

  std::string getSubscriberName() const { return name_; }
  std::string getTopic() const { return topic_; }
  /// Of all transports.
  std::uint32_t getNumSubscribers() const { return subscribers_(); }
  /// To this subscriber alone, by its transport. Costs copies of the image.
  void publish(const sensor_msgs::Image& message) const { publish_(message); }
  void publish(const sensor_msgs::ImageConstPtr& message) const { publish_(*message); }

 private:
  const std::string name_, topic_;
  const GetNumSubscribersFn subscribers_;
  const PublishFn publish_;
};

typedef boost::function<void(const SingleSubscriberPublisher&)> SubscriberStatusCallback;

}  // namespace baton_recompiled
}  // namespace image_transport
