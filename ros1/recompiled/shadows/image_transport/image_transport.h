// SPDX-License-Identifier: Apache-2.0
// In the place of image_transport's header of this name, with its interface, for recompiled programs; the program links
// image_transport's and pluginlib's libraries, as before.
//
// The transport raw is an ordinary topic of a recompiled program, without copies. The other transports are image_transport's
// plugins, which were compiled with ROS's messages: they get and give copies
// (baton/ros1/recompiled/stock/image_transport.hpp).
//
// As in cv_bridge's header, the classes lie in an inline namespace, so that those of the stock library never take their
// place. Its headers exception.h, transport_hints.h, camera_common.h and loader_fwds.h know no message, and are used as they are.
//
// Thread rules: as image_transport's.
#pragma once

#ifdef IMAGE_TRANSPORT_IMAGE_TRANSPORT_H
#error "image_transport's own image_transport.h was included before Baton's header of that name"
#endif
#define IMAGE_TRANSPORT_IMAGE_TRANSPORT_H

#include <image_transport/camera_common.h>
#include <image_transport/camera_publisher.h>
#include <image_transport/camera_subscriber.h>
#include <image_transport/publisher.h>
#include <image_transport/subscriber.h>
#include <ros/ros.h>
#include <sensor_msgs/CameraInfo.h>
#include <sensor_msgs/Image.h>

#include <boost/bind/bind.hpp>
#include <boost/function.hpp>
#include <boost/shared_ptr.hpp>
#include <boost/weak_ptr.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/ros1/recompiled/stock/image_transport.hpp"

namespace image_transport {
inline namespace baton_recompiled {

class ImageTransport {
 public:
  explicit ImageTransport(const ros::NodeHandle& nh) : handle_(nh) {}

  Publisher advertise(const std::string& base_topic, std::uint32_t queue_size, bool latch = false) {
    return advertise(base_topic, queue_size, SubscriberStatusCallback(), SubscriberStatusCallback(), ros::VoidPtr(),
                     latch);
  }
  Publisher advertise(const std::string& base_topic, std::uint32_t queue_size,
                      const SubscriberStatusCallback& connect_cb,
                      const SubscriberStatusCallback& disconnect_cb = SubscriberStatusCallback(),
                      const ros::VoidPtr& tracked_object = ros::VoidPtr(), bool latch = false) {
    return Publisher(handle_, base_topic, queue_size, connect_cb, disconnect_cb, tracked_object, latch);
  }

  /// Throws TransportLoadException if the transport of the hints is not installed.
  Subscriber subscribe(const std::string& base_topic, std::uint32_t queue_size,
                       const boost::function<void(const sensor_msgs::ImageConstPtr&)>& callback,
                       const ros::VoidPtr& tracked_object = ros::VoidPtr(),
                       const TransportHints& transport_hints = TransportHints()) {
    return Subscriber(handle_, base_topic, queue_size, callback, tracked_object, transport_hints);
  }
  Subscriber subscribe(const std::string& base_topic, std::uint32_t queue_size,
                       void (*fp)(const sensor_msgs::ImageConstPtr&),
                       const TransportHints& transport_hints = TransportHints()) {
    return subscribe(base_topic, queue_size, boost::function<void(const sensor_msgs::ImageConstPtr&)>(fp),
                     ros::VoidPtr(), transport_hints);
  }
  template <class T>
  Subscriber subscribe(const std::string& base_topic, std::uint32_t queue_size,
                       void (T::*fp)(const sensor_msgs::ImageConstPtr&), T* obj,
                       const TransportHints& transport_hints = TransportHints()) {
    return subscribe(base_topic, queue_size, image_callback(fp, obj), ros::VoidPtr(), transport_hints);
  }
  template <class T>
  Subscriber subscribe(const std::string& base_topic, std::uint32_t queue_size,
                       void (T::*fp)(const sensor_msgs::ImageConstPtr&), const boost::shared_ptr<T>& obj,
                       const TransportHints& transport_hints = TransportHints()) {
    return subscribe(base_topic, queue_size, image_callback(fp, obj.get()), obj, transport_hints);
  }

  CameraPublisher advertiseCamera(const std::string& base_topic, std::uint32_t queue_size, bool latch = false) {
    return advertiseCamera(base_topic, queue_size, SubscriberStatusCallback(), SubscriberStatusCallback(),
                           ros::SubscriberStatusCallback(), ros::SubscriberStatusCallback(), ros::VoidPtr(), latch);
  }
  CameraPublisher advertiseCamera(
      const std::string& base_topic, std::uint32_t queue_size, const SubscriberStatusCallback& image_connect_cb,
      const SubscriberStatusCallback& image_disconnect_cb = SubscriberStatusCallback(),
      const ros::SubscriberStatusCallback& info_connect_cb = ros::SubscriberStatusCallback(),
      const ros::SubscriberStatusCallback& info_disconnect_cb = ros::SubscriberStatusCallback(),
      const ros::VoidPtr& tracked_object = ros::VoidPtr(), bool latch = false) {
    CameraPublisher camera;
    camera.impl_.reset(new CameraPublisher::Impl);
    const std::string topic = handle_.resolveName(base_topic);  // before the other topic's name is made of it
    camera.impl_->images = advertise(topic, queue_size, image_connect_cb, image_disconnect_cb, tracked_object, latch);
    camera.impl_->infos = handle_.advertise<sensor_msgs::CameraInfo>(
        getCameraInfoTopic(topic), queue_size, info_connect_cb, info_disconnect_cb, tracked_object, latch);
    return camera;
  }

  /// The callback is not called any more when `tracked_object` is gone.
  CameraSubscriber subscribeCamera(const std::string& base_topic, std::uint32_t queue_size,
                                   const CameraSubscriber::Callback& callback,
                                   const ros::VoidPtr& tracked_object = ros::VoidPtr(),
                                   const TransportHints& transport_hints = TransportHints()) {
    CameraSubscriber camera;
    camera.impl_.reset(new CameraSubscriber::Impl(queue_size));
    CameraSubscriber::Impl* const impl = camera.impl_.get();
    const std::string topic = handle_.resolveName(base_topic);
    impl->synchronizer.connectInput(impl->source, impl->infos);
    const bool is_tracked = tracked_object != nullptr;
    const CameraSubscriber::Callback pair = [impl, callback, is_tracked, weak = boost::weak_ptr<void>(tracked_object)](
                                                const sensor_msgs::ImageConstPtr& image,
                                                const sensor_msgs::CameraInfoConstPtr& info) {
      ++impl->pairs_seen;
      const boost::shared_ptr<void> tracked = weak.lock();
      if (!is_tracked || tracked) callback(image, info);
    };
    // The synchronizer calls with nine arguments what is not made by bind.
    impl->synchronizer.registerCallback(boost::bind(pair, boost::placeholders::_1, boost::placeholders::_2));
    impl->infos.registerCallback(boost::function<void(const sensor_msgs::CameraInfoConstPtr&)>(
        [impl](const sensor_msgs::CameraInfoConstPtr&) { ++impl->infos_seen; }));
    impl->timer =
        handle_.createWallTimer(ros::WallDuration(10.0), [impl](const ros::WallTimerEvent&) { impl->look(); });
    impl->infos.subscribe(handle_, getCameraInfoTopic(topic), queue_size, transport_hints.getRosHints());
    impl->images = subscribe(
        topic, queue_size,
        boost::function<void(const sensor_msgs::ImageConstPtr&)>([impl](const sensor_msgs::ImageConstPtr& image) {
          ++impl->images_seen;
          impl->source.take(image);
        }),
        ros::VoidPtr(), transport_hints);
    return camera;
  }
  CameraSubscriber subscribeCamera(const std::string& base_topic, std::uint32_t queue_size,
                                   void (*fp)(const sensor_msgs::ImageConstPtr&,
                                              const sensor_msgs::CameraInfoConstPtr&),
                                   const TransportHints& transport_hints = TransportHints()) {
    return subscribeCamera(base_topic, queue_size, CameraSubscriber::Callback(fp), ros::VoidPtr(), transport_hints);
  }
  template <class T>
  CameraSubscriber subscribeCamera(const std::string& base_topic, std::uint32_t queue_size,
                                   void (T::*fp)(const sensor_msgs::ImageConstPtr&,
                                                 const sensor_msgs::CameraInfoConstPtr&),
                                   T* obj, const TransportHints& transport_hints = TransportHints()) {
    return subscribeCamera(base_topic, queue_size, camera_callback(fp, obj), ros::VoidPtr(), transport_hints);
  }
  template <class T>
  CameraSubscriber subscribeCamera(const std::string& base_topic, std::uint32_t queue_size,
                                   void (T::*fp)(const sensor_msgs::ImageConstPtr&,
                                                 const sensor_msgs::CameraInfoConstPtr&),
                                   const boost::shared_ptr<T>& obj,
                                   const TransportHints& transport_hints = TransportHints()) {
    return subscribeCamera(base_topic, queue_size, camera_callback(fp, obj.get()), obj, transport_hints);
  }

  /// Such as "image_transport/raw".
  std::vector<std::string> getDeclaredTransports() const {
    return baton::ros1::recompiled::stock::declared_image_transports();
  }
  std::vector<std::string> getLoadableTransports() const {
    return baton::ros1::recompiled::stock::loadable_image_transports();
  }

 private:
  template <class T>
  static boost::function<void(const sensor_msgs::ImageConstPtr&)> image_callback(
      void (T::*fp)(const sensor_msgs::ImageConstPtr&), T* obj) {
    return [fp, obj](const sensor_msgs::ImageConstPtr& image) { (obj->*fp)(image); };
  }
  template <class T>
  static CameraSubscriber::Callback camera_callback(void (T::*fp)(const sensor_msgs::ImageConstPtr&,
                                                                  const sensor_msgs::CameraInfoConstPtr&),
                                                    T* obj) {
    return [fp, obj](const sensor_msgs::ImageConstPtr& image, const sensor_msgs::CameraInfoConstPtr& info) {
      (obj->*fp)(image, info);
    };
  }

  ros::NodeHandle handle_;
};

}  // namespace baton_recompiled
}  // namespace image_transport
