// SPDX-License-Identifier: Apache-2.0
// The publisher's side of the transport `baton`: images on `<base topic>/baton`, a topic of sensor_msgs/Image. Subscribers
// that have Baton take them from shared memory, all others (rosbag, other machines) from roscpp.
#include <image_transport/publisher_plugin.h>
#include <ros/console.h>
#include <class_loader/class_loader.hpp>

#include <boost/weak_ptr.hpp>
#include <memory>
#include <mutex>
#include <utility>

#include "baton/os/lock.hpp"
#include "baton/ros1/ros1.hpp"
#include "images.hpp"

namespace baton::image_transport_plugin {

/// image_transport calls publish() only while getNumSubscribers() is not 0. Thread-safe.
class Publisher final : public ::image_transport::PublisherPlugin {
 public:
  std::string getTransportName() const override { return "baton"; }
  std::uint32_t getNumSubscribers() const override { return ends().subscribers(); }
  std::string getTopic() const override { return ends().links.getTopic(); }

  using PublisherPlugin::publish;
  void publish(const sensor_msgs::Image& image) const override { publish(image, image.data.data(), image.data.size()); }
  void publish(const sensor_msgs::Image& image, const std::uint8_t* data) const override {
    publish(image, data, std::size_t{image.step} * image.height);
  }
  void shutdown() override {
    Ends ended;
    {
      const os::Lock lock(mutex_);
      std::swap(ended, ends_);
    }
    if (ended.calls) {
      const std::lock_guard<std::recursive_mutex> wait(ended.calls->mutex);
      ended.calls->ended = true;
    }
    ended.memory = {};
    ended.links.shutdown();
  }
  ~Publisher() override { shutdown(); }

 protected:
  void advertiseImpl(ros::NodeHandle& handle, const std::string& base_topic, std::uint32_t queue_size,
                     const ::image_transport::SubscriberStatusCallback& connected,
                     const ::image_transport::SubscriberStatusCallback& disconnected,
                     const ros::VoidPtr& tracked_object, bool latch) override {
    shutdown();
    const std::string topic = base_topic + "/" + getTransportName();
    const auto calls = std::make_shared<Calls>();
    // Baton's callbacks wait until all ends are there.
    const std::lock_guard<std::recursive_mutex> early(calls->mutex);
    const auto keep = [&](auto member, auto end) {
      const os::Lock lock(mutex_);
      ends_.*member = std::move(end);
    };
    keep(&Ends::calls, calls);
    try {
      ros1::AdvertiseOptions options;
      options.latch = latch;
      if (connected || disconnected) {
        options.subscribers_changed = [this, calls, connected, disconnected, tracks = tracked_object != nullptr,
                                       tracked = boost::weak_ptr<void>(tracked_object), before = 0U]() mutable {
          const std::lock_guard<std::recursive_mutex> call(calls->mutex);
          const boost::shared_ptr<void> alive = tracked.lock();
          std::uint32_t now = 0;
          if (auto memory = ends().memory; memory && !calls->ended) {
            const auto all = memory.subscribers();
            now = all.own + all.handles;  // of the others roscpp's callbacks say all
          } else {
            return;  // shutdown() is under way
          }
          const std::uint32_t old = std::exchange(before, now);
          if (now == old || (tracks && !alive)) return;
          subscribers_of_baton(now > old ? connected : disconnected);
        };
      }
      options.memory.policy = memory::Policy::kNone;  // an image that waits is not given up for one that can go by TCP
      keep(&Ends::memory, ros1::advertise<msg::sensor_msgs::Image>(handle, topic, queue_size, options));
    } catch (const Exception& error) {
      ROS_ERROR("baton: images on %s go by TCP: %s", handle.resolveName(topic).c_str(), error.what());
    }
    // roscpp has one publication of the topic, and this is a second owner of it, for the callbacks.
    // They may be called before `links` is there, and count what `memory` has.
    const std::string name = handle.resolveName(topic);
    keep(&Ends::links, handle.advertise<sensor_msgs::Image>(topic, queue_size, with_image(connected, name),
                                                            with_image(disconnected, name), tracked_object, latch));
  }

 private:
  /// Those of the status callbacks by Baton: none comes before the ends are there, and none after shutdown(), which waits for one in
  /// another thread.
  struct Calls {
    std::recursive_mutex mutex;  // held during calls; a callback may shut the publisher down
    bool ended = false;          // with it
  };
  struct Ends {
    ros1::Publisher<msg::sensor_msgs::Image> memory;  // empty if this process cannot use Baton: roscpp has all images
    ros::Publisher links;
    std::shared_ptr<Calls> calls;

    /// Not the number of roscpp, which counts a link a moment before `memory` serves it: an image would be lost then.
    std::uint32_t subscribers() const {
      return memory ? memory.getNumSubscribers() : links ? links.getNumSubscribers() : 0;
    }
  };
  Ends ends() const {
    const os::Lock lock(mutex_);
    return ends_;
  }

  void publish(const sensor_msgs::Image& image, const std::uint8_t* data, std::size_t size) const {
    Ends ends = this->ends();
    if (!ends.links) {
      ROS_ERROR("baton: an image is lost: publish() on an image_transport publisher that was shut down");
      return;
    }
    if (!ends.memory) {
      publish_by_tcp(ends.links, image, data, size);
      return;
    }
    try {
      auto loan = ends.memory.loan();
      fill(*loan, image, data, size);
      ends.memory.publish(std::move(loan));
    } catch (const Exception& error) {
      // Baton has no memory for it. Not by `ends.links`: its subscribers drop as doubles what roscpp sends of this topic.
      ends.memory.publish_by_tcp(serialized(image, data, size));
      const os::Lock lock(mutex_);
      ++by_tcp_;
      if ((by_tcp_ & (by_tcp_ - 1)) == 0) {  // the 1st, 2nd, 4th, 8th ...: a word, and not one for each image
        ROS_WARN("baton: %llu images on %s went by TCP so far; the last one: %s",
                 static_cast<unsigned long long>(by_tcp_), ends.links.getTopic().c_str(), error.what());
      }
    }
  }
  static ros::SerializedMessage serialized(const sensor_msgs::Image& image, const std::uint8_t* data,
                                           std::size_t size) {
    if (data == image.data.data()) return ros::serialization::serializeMessage(image);
    sensor_msgs::Image with_data = image;
    with_data.data.assign(data, data + size);
    return ros::serialization::serializeMessage(with_data);
  }
  static void publish_by_tcp(const ros::Publisher& links, const sensor_msgs::Image& image, const std::uint8_t* data,
                             std::size_t size) {
    if (data == image.data.data()) {
      links.publish(image);
      return;
    }
    sensor_msgs::Image with_data = image;
    with_data.data.assign(data, data + size);
    links.publish(with_data);
  }

  /// roscpp's callback for one of image_transport. Empty for an empty one.
  ros::SubscriberStatusCallback with_image(const ::image_transport::SubscriberStatusCallback& callback,
                                           const std::string& topic) {
    if (!callback) return {};
    return [this, callback, topic](const ros::SingleSubscriberPublisher& subscriber) {
      const ::image_transport::SingleSubscriberPublisher single(
          subscriber.getSubscriberName(), topic, [this] { return getNumSubscribers(); },
          [&subscriber](const sensor_msgs::Image& image) { subscriber.publish(image); });
      callback(single);
    };
  }

  /// roscpp calls the callbacks for its own subscribers, whose ends of Baton come and go a moment earlier or later. So here
  /// is left: subscribers that only Baton knows, and a last subscriber that Baton still counted when roscpp called.
  void subscribers_of_baton(const ::image_transport::SubscriberStatusCallback& callback) {
    if (!callback || ends().links.getNumSubscribers() > 0) return;
    callback(::image_transport::SingleSubscriberPublisher(
        "", getTopic(), [this] { return getNumSubscribers(); },
        [this](const sensor_msgs::Image& image) { publish(image); }));
  }

  mutable os::Mutex mutex_;
  Ends ends_ BATON_GUARDED_BY(mutex_);
  mutable std::uint64_t by_tcp_ BATON_GUARDED_BY(mutex_) = 0;
};

}  // namespace baton::image_transport_plugin

CLASS_LOADER_REGISTER_CLASS(baton::image_transport_plugin::Publisher, image_transport::PublisherPlugin)
