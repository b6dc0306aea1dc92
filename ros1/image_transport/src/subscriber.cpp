// SPDX-License-Identifier: Apache-2.0
// The subscriber's side of the transport `baton`.
#include <image_transport/subscriber_plugin.h>
#include <ros/console.h>
#include <class_loader/class_loader.hpp>

#include <boost/weak_ptr.hpp>
#include <utility>

#include "baton/ros1/ros1.hpp"
#include "images.hpp"

namespace baton::image_transport_plugin {

/// As roscpp's Subscriber: its functions may be called from callbacks, and by one thread at a time.
class Subscriber final : public ::image_transport::SubscriberPlugin {
 public:
  std::string getTransportName() const override { return "baton"; }
  std::string getTopic() const override { return memory_ ? memory_.getTopic() : links_.getTopic(); }
  std::uint32_t getNumPublishers() const override {
    return memory_ ? memory_.getNumPublishers() : links_.getNumPublishers();
  }
  void shutdown() override {
    memory_ = {};
    links_.shutdown();
  }

 protected:
  void subscribeImpl(ros::NodeHandle& handle, const std::string& base_topic, std::uint32_t queue_size,
                     const Callback& callback, const ros::VoidPtr& tracked_object,
                     const ::image_transport::TransportHints& hints) override {
    shutdown();
    const std::string topic = base_topic + "/" + getTransportName();
    try {
      const bool tracks = tracked_object != nullptr;
      const boost::weak_ptr<void> tracked = tracked_object;
      ros1::SubscribeOptions options;
      options.hints = hints.getRosHints();
      memory_ = ros1::subscribe<msg::sensor_msgs::Image>(
          handle, topic, queue_size,
          [callback, tracks, tracked](const msg::sensor_msgs::Image& image) {
            const boost::shared_ptr<void> alive = tracked.lock();
            if (!tracks || alive) callback(copy_of(image));
          },
          options);
    } catch (const Exception& error) {
      ROS_ERROR("baton: images on %s come by TCP: %s", handle.resolveName(topic).c_str(), error.what());
      links_ = handle.subscribe<sensor_msgs::Image>(topic, queue_size, callback, tracked_object, hints.getRosHints());
    }
  }

 private:
  ros1::Subscriber<msg::sensor_msgs::Image> memory_;
  ros::Subscriber links_;  // if this process cannot use Baton
};

}  // namespace baton::image_transport_plugin

CLASS_LOADER_REGISTER_CLASS(baton::image_transport_plugin::Subscriber, image_transport::SubscriberPlugin)
