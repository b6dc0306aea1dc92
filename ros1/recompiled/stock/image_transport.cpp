// SPDX-License-Identifier: Apache-2.0
// Compiled with ROS's own messages: no header of recompiled programs may be included here but the one below.
#include "baton/ros1/recompiled/stock/image_transport.hpp"

#include <image_transport/exception.h>
#include <image_transport/publisher_plugin.h>
#include <image_transport/subscriber_plugin.h>
#include <ros/console.h>
#include <sensor_msgs/Image.h>

#include <algorithm>
#include <boost/algorithm/string/erase.hpp>
#include <boost/make_shared.hpp>
#include <pluginlib/class_loader.hpp>
#include <stdexcept>

#ifdef BATON_ROS1_RECOMPILED
#error "this file must see ROS's own messages"
#endif

namespace baton::ros1::recompiled::stock {
namespace {

using image_transport::PublisherPlugin;
using image_transport::SubscriberPlugin;

constexpr const char* kRawPublisher = "image_transport/raw_pub";

// They live until the process ends: plugins may be used by objects with static storage.
pluginlib::ClassLoader<PublisherPlugin>& publishers() {
  static auto& one =
      *new pluginlib::ClassLoader<PublisherPlugin>("image_transport", "image_transport::PublisherPlugin");
  return one;
}
pluginlib::ClassLoader<SubscriberPlugin>& subscribers() {
  static auto& one =
      *new pluginlib::ClassLoader<SubscriberPlugin>("image_transport", "image_transport::SubscriberPlugin");
  return one;
}

sensor_msgs::ImagePtr message_of(const ImageView& view) {
  sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
  image->header.seq = view.seq;
  image->header.stamp = view.stamp;
  image->header.frame_id = view.frame_id;
  image->height = view.height;
  image->width = view.width;
  image->encoding = view.encoding;
  image->is_bigendian = view.is_bigendian;
  image->step = view.step;
  image->data.assign(view.data, view.data + view.bytes);
  return image;
}

ImageView view_of(const sensor_msgs::Image& image) {
  return {image.header.seq,   image.header.stamp, image.header.frame_id, image.height,     image.width, image.encoding,
          image.is_bigendian, image.step,         image.data.data(),     image.data.size()};
}

image_transport::SubscriberStatusCallback status_callback(const ImagePublisher::Status& status) {
  if (!status) return {};
  return [status](const image_transport::SingleSubscriberPublisher& subscriber) {
    status(subscriber.getSubscriberName(),
           [&subscriber](const ImageView& view) { subscriber.publish(message_of(view)); });
  };
}

}  // namespace

struct ImagePublisher::Plugins {
  std::vector<boost::shared_ptr<PublisherPlugin>> all;
};

ImagePublisher::ImagePublisher(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size,
                               const Status& connect, const Status& disconnect, const ros::VoidPtr& tracked_object,
                               bool latch, const std::vector<std::string>& disabled)
    : plugins_(std::make_unique<Plugins>()) {
  for (const std::string& name : publishers().getDeclaredClasses()) {
    const std::string transport = boost::erase_last_copy(name, "_pub");
    if (name == kRawPublisher || std::find(disabled.begin(), disabled.end(), transport) != disabled.end()) continue;
    try {
      const boost::shared_ptr<PublisherPlugin> plugin = publishers().createInstance(name);
      plugin->advertise(handle, topic, queue_size, status_callback(connect), status_callback(disconnect),
                        tracked_object, latch);
      plugins_->all.push_back(plugin);
    } catch (const std::runtime_error& error) {
      ROS_DEBUG("image_transport's plugin %s was not loaded: %s", name.c_str(), error.what());
    }
  }
}

ImagePublisher::~ImagePublisher() { shutdown(); }

bool ImagePublisher::empty() const { return plugins_->all.empty(); }

std::uint32_t ImagePublisher::subscribers() const {
  std::uint32_t count = 0;
  for (const auto& plugin : plugins_->all) count += plugin->getNumSubscribers();
  return count;
}

void ImagePublisher::publish(const ImageView& view) const {
  sensor_msgs::ImageConstPtr image;
  for (const auto& plugin : plugins_->all) {
    if (plugin->getNumSubscribers() == 0) continue;
    if (!image) image = message_of(view);
    plugin->publish(image);
  }
}

void ImagePublisher::shutdown() {
  for (const auto& plugin : plugins_->all) plugin->shutdown();
  plugins_->all.clear();
}

struct ImageSubscriber::Plugin {
  boost::shared_ptr<SubscriberPlugin> one;
};

ImageSubscriber::ImageSubscriber(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size,
                                 const Callback& callback, const ros::VoidPtr& tracked_object,
                                 const image_transport::TransportHints& hints)
    : plugin_(std::make_unique<Plugin>()) {
  try {
    plugin_->one = stock::subscribers().createInstance(SubscriberPlugin::getLookupName(hints.getTransport()));
  } catch (const pluginlib::PluginlibException& error) {
    throw image_transport::TransportLoadException(hints.getTransport(), error.what());
  }
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> deliver =
      [callback](const sensor_msgs::ImageConstPtr& image) { callback(view_of(*image)); };
  plugin_->one->subscribe(handle, topic, queue_size, deliver, tracked_object, hints);
}

ImageSubscriber::~ImageSubscriber() { shutdown(); }

std::string ImageSubscriber::topic() const { return plugin_->one->getTopic(); }
std::uint32_t ImageSubscriber::publishers() const { return plugin_->one->getNumPublishers(); }
std::string ImageSubscriber::transport() const { return plugin_->one->getTransportName(); }
void ImageSubscriber::shutdown() { plugin_->one->shutdown(); }

std::vector<std::string> declared_image_transports() {
  std::vector<std::string> names = subscribers().getDeclaredClasses();
  for (std::string& name : names) boost::erase_last(name, "_sub");
  return names;
}

std::vector<std::string> loadable_image_transports() {
  std::vector<std::string> names;
  for (const std::string& name : subscribers().getDeclaredClasses()) {
    try {
      subscribers().createInstance(name);
      names.push_back(boost::erase_last_copy(name, "_sub"));
    } catch (const pluginlib::PluginlibException&) {  // declared, and not loadable
    }
  }
  return names;
}

}  // namespace baton::ros1::recompiled::stock
