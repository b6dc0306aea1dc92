// SPDX-License-Identifier: Apache-2.0
// image_transport's plugins other than raw, for the header <image_transport/image_transport.h> of recompiled programs. The
// plugins know ROS's messages alone; ros1/recompiled/stock/image_transport.cpp is compiled with those, and images go
// between the two as plain types.
//
// Thread rules: as image_transport's: publish() and subscribers() of one object may run at the same time, shutdown() not.
#pragma once

#include <image_transport/transport_hints.h>
#include <ros/forwards.h>
#include <ros/node_handle.h>
#include <ros/time.h>

#include <boost/function.hpp>
#include <boost/shared_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace baton::ros1::recompiled::stock {

/// A sensor_msgs/Image of either kind; valid as long as it is.
struct ImageView {
  std::uint32_t seq;
  ros::Time stamp;
  std::string_view frame_id;
  std::uint32_t height, width;
  std::string_view encoding;
  std::uint8_t is_bigendian;
  std::uint32_t step;
  const std::uint8_t* data;
  std::size_t bytes;
};

/// The publishers of an image topic's other transports.
class ImagePublisher {
 public:
  using Send = boost::function<void(const ImageView&)>;
  /// Called with the subscriber's name, and a function that sends an image to this subscriber alone, for use during the call.
  using Status = boost::function<void(const std::string&, const Send&)>;

  /// The plugins that are not in `disabled`; one that cannot be loaded is missing, as in image_transport. `topic` is resolved.
  ImagePublisher(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, const Status& connect,
                 const Status& disconnect, const ros::VoidPtr& tracked_object, bool latch,
                 const std::vector<std::string>& disabled);
  ~ImagePublisher();
  ImagePublisher(const ImagePublisher&) = delete;
  ImagePublisher& operator=(const ImagePublisher&) = delete;

  bool empty() const;
  std::uint32_t subscribers() const;
  /// Costs a copy of the image. For nothing if there are no subscribers.
  void publish(const ImageView& image) const;
  void shutdown();

 private:
  struct Plugins;
  const std::unique_ptr<Plugins> plugins_;
};

/// A subscription by a transport other than raw.
class ImageSubscriber {
 public:
  using Callback = boost::function<void(const ImageView&)>;

  /// Throws image_transport::TransportLoadException.
  ImageSubscriber(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, const Callback& callback,
                  const ros::VoidPtr& tracked_object, const image_transport::TransportHints& hints);
  ~ImageSubscriber();
  ImageSubscriber(const ImageSubscriber&) = delete;
  ImageSubscriber& operator=(const ImageSubscriber&) = delete;

  std::string topic() const;
  std::uint32_t publishers() const;
  std::string transport() const;
  void shutdown();

 private:
  struct Plugin;
  const std::unique_ptr<Plugin> plugin_;
};

/// As image_transport names them, "image_transport/raw" among them.
std::vector<std::string> declared_image_transports();
std::vector<std::string> loadable_image_transports();

}  // namespace baton::ros1::recompiled::stock
