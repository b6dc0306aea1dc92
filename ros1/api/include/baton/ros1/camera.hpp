// SPDX-License-Identifier: Apache-2.0
// A camera's images with their calibrations, as image_transport::CameraSubscriber: images are types of Baton, and calibrations,
// which are small, are roscpp's. Needs message_filters' headers and library (libmessage-filters-dev).
//
// Thread rules: those of ros1.hpp.
#pragma once

#include <message_filters/subscriber.h>
#include <message_filters/time_synchronizer.h>
#include <ros/names.h>
#include <sensor_msgs/CameraInfo.h>

#include <boost/bind/bind.hpp>
#include <boost/shared_ptr.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "baton/ros1/message_filters.hpp"
#include "baton/ros1/sensor_msgs/image.hpp"

namespace baton::ros1 {

/// Copies refer to the same subscription, which ends with the last one.
class CameraSubscriber {
 public:
  using Image = msg::sensor_msgs::Image;
  using ImageConstPtr = boost::shared_ptr<const Image>;  ///< what message_filters hands on
  using Callback = std::function<void(const ImageConstPtr&, const sensor_msgs::CameraInfoConstPtr&)>;

  CameraSubscriber() = default;
  explicit operator bool() const noexcept { return state_ != nullptr; }
  std::string getTopic() const { return state_ ? state_->images.getTopic() : std::string(); }
  std::string getInfoTopic() const { return state_ ? state_->infos.getTopic() : std::string(); }
  void shutdown() { state_.reset(); }

 private:
  friend CameraSubscriber subscribe_camera(ros::NodeHandle&, const std::string&, std::uint32_t, Callback);
  struct State {
    State(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, Callback callback,
          const SubscribeOptions& options)
        : both(images, infos, queue_size) {
      both.registerCallback(
          boost::bind(std::move(callback), boost::placeholders::_1, boost::placeholders::_2));  // before messages come
      images.subscribe(handle, topic, queue_size, options);
      infos.subscribe(handle, ros::names::parentNamespace(handle.resolveName(topic)) + "/camera_info", queue_size);
    }
    FilterSubscriber<Image> images;
    message_filters::Subscriber<sensor_msgs::CameraInfo> infos;
    message_filters::TimeSynchronizer<Image, sensor_msgs::CameraInfo> both;
  };
  std::shared_ptr<State> state_;
};

/// Calls `callback` with each image of `topic` and the calibration that has the same stamp, of the topic `camera_info` beside
/// it. `queue_size` bounds both queues and the images that wait for their calibration. Throws what subscribe() throws.
[[nodiscard]] inline CameraSubscriber subscribe_camera(ros::NodeHandle& handle, const std::string& topic,
                                                       std::uint32_t queue_size, CameraSubscriber::Callback callback) {
  CameraSubscriber subscriber;
  SubscribeOptions options;
  options.held += queue_size;
  subscriber.state_ =
      std::make_shared<CameraSubscriber::State>(handle, topic, queue_size, std::move(callback), options);
  return subscriber;
}
/// The same with a member function. `object` must outlive the CameraSubscriber.
template <class Member, class Object, class = std::enable_if_t<std::is_member_function_pointer_v<Member>>>
[[nodiscard]] CameraSubscriber subscribe_camera(ros::NodeHandle& handle, const std::string& topic,
                                                std::uint32_t queue_size, Member member, Object* object) {
  return subscribe_camera(handle, topic, queue_size,
                          [member, object](const auto& image, const auto& info) { (object->*member)(image, info); });
}

}  // namespace baton::ros1
