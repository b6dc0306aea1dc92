// SPDX-License-Identifier: Apache-2.0
// Ends of Baton with real message types. The payload is the large array of each.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/perf_msgs/array16k.hpp"
#include "baton/msg/perf_msgs/array16m.hpp"
#include "baton/msg/perf_msgs/array1k.hpp"
#include "baton/msg/perf_msgs/array1m.hpp"
#include "baton/msg/perf_msgs/array256k.hpp"
#include "baton/msg/perf_msgs/array2m.hpp"
#include "baton/msg/perf_msgs/array32k.hpp"
#include "baton/msg/perf_msgs/array4k.hpp"
#include "baton/msg/perf_msgs/array4m.hpp"
#include "baton/msg/perf_msgs/array60k.hpp"
#include "baton/msg/perf_msgs/array64k.hpp"
#include "baton/msg/perf_msgs/array8m.hpp"
#include "baton/msg/perf_msgs/lidar.hpp"
#include "baton/msg/perf_msgs/struct16.hpp"
#include "baton/msg/perf_msgs/struct256.hpp"
#include "baton/msg/perf_msgs/struct32k.hpp"
#include "baton/msg/perf_msgs/struct4k.hpp"
#include "baton/msg/perf_msgs/way_points.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "baton/msg/sensor_msgs/laser_scan.hpp"
#include "baton/msg/sensor_msgs/point_cloud2.hpp"
#include "baton/node/real_time.hpp"
#include "peer.hpp"

namespace baton::perf {

using msg::sensor_msgs::Image;
using msg::sensor_msgs::LaserScan;
using msg::sensor_msgs::PointCloud2;

/// A part of a message that is plain bytes.
struct Bytes {
  const std::byte* data;
  std::size_t size;
};

template <class Container>
Bytes bytes_of(const Container& container) {
  return {reinterpret_cast<const std::byte*>(container.data()), container.size() * sizeof *container.data()};
}

// prepare(): the fields that a user sets besides the payload, and room for `bytes` of payload. payload(): its place.

inline void prepare(Image& image, std::size_t bytes) {
  image.header.frame_id = "camera";
  image.height = 1;
  image.width = image.step = static_cast<std::uint32_t>(bytes);
  image.encoding = "mono8";
  image.data.resize_for_overwrite(bytes);
}
inline Bytes payload(const Image& image) { return bytes_of(image.data); }

inline void prepare(PointCloud2& cloud, std::size_t bytes) {
  cloud.header.frame_id = "lidar";
  cloud.height = 1;
  cloud.width = static_cast<std::uint32_t>(bytes / 16);
  cloud.point_step = 16;
  cloud.row_step = cloud.width * 16;
  cloud.fields.resize(4);
  const char* const names[] = {"x", "y", "z", "intensity"};
  for (std::uint32_t i = 0; i < 4; ++i) {
    cloud.fields[i].name = names[i];
    cloud.fields[i].offset = 4 * i;
    cloud.fields[i].datatype = 7;  // FLOAT32
    cloud.fields[i].count = 1;
  }
  cloud.data.resize_for_overwrite(bytes);
}
inline Bytes payload(const PointCloud2& cloud) { return bytes_of(cloud.data); }

inline void prepare(LaserScan& scan, std::size_t bytes) {
  scan.header.frame_id = "laser";
  scan.ranges.resize_for_overwrite((bytes + 3) / 4);
}
inline Bytes payload(const LaserScan& scan) { return bytes_of(scan.ranges); }

inline void prepare(msg::perf_msgs::WayPoints& points, std::size_t bytes) {
  points.way_points.resize((bytes + 71) / 72);
}
inline Bytes payload(const msg::perf_msgs::WayPoints& points) { return bytes_of(points.way_points); }
inline void prepare(msg::perf_msgs::Lidar& lidar, std::size_t bytes) { lidar.packets.resize((bytes + 1249) / 1250); }
inline Bytes payload(const msg::perf_msgs::Lidar& lidar) { return bytes_of(lidar.packets); }

// Types of fixed size: the whole array, or the whole struct.
template <class T>
auto prepare(T& message, std::size_t bytes) -> decltype(message.array.size(), void()) {
  if (bytes != message.array.size())
    throw std::runtime_error("this type has a payload of " + std::to_string(message.array.size()) + " bytes");
}
template <class T>
auto payload(const T& message) -> decltype(message.array.size(), Bytes()) {
  return bytes_of(message.array);
}
template <class T>
auto prepare(T& message, std::size_t bytes) -> decltype(message.stamp.size(), void()) {
  if (bytes != sizeof message)
    throw std::runtime_error("this type has a payload of " + std::to_string(sizeof message) + " bytes");
}
template <class T>
auto payload(const T& message) -> decltype(message.stamp.size(), Bytes()) {
  return {reinterpret_cast<const std::byte*>(&message), sizeof message};
}

inline QoS qos_of(const RunPlan& plan) {
  QoS qos(std::max(1U, plan.depth));
  if (plan.depth == 0) qos.keep_all();
  if (!plan.reliable) qos.best_effort();
  if (plan.transient) qos.transient_local();
  return qos;
}

/// In a real-time run all memory is taken at the start: for unread and held messages and those being filled.
inline PublisherOptions memory_of(const RunPlan& plan) {
  if (plan.priority == 0) return {};
  return real_time::pool(plan.bytes + 4096, (plan.depth + 2) * plan.subscribers + 2);
}

/// The other topics of a robot's process, as many as the setting idle_topics says: publishers and subscriptions that no message uses.
class IdleTopics {
 public:
  IdleTopics(Node& node, const RunPlan& plan) {
    const auto set = plan.settings.find("idle_topics");
    const unsigned count = set == plan.settings.end() ? 0 : static_cast<unsigned>(std::stoul(set->second));
    for (unsigned i = 0; i < count; ++i) {
      publishers_.push_back(node.advertise<Image>("idle_" + std::to_string(i)));
      subscriptions_.push_back(node.subscribe<Image>("idle_" + std::to_string(i)));
    }
  }

 private:
  std::vector<Publisher<Image>> publishers_;
  std::vector<Subscription<Image>> subscriptions_;
};

template <class T>
class BatonPublisher : public PublisherEnd {
 public:
  BatonPublisher(const RunPlan& plan, unsigned index, const NodeOptions& options)
      : node_("perf_publisher_" + std::to_string(index), options),
        idle_(node_, plan),
        publisher_(node_.advertise<T>(plan.topic, qos_of(plan), memory_of(plan))) {}
  std::byte* begin(std::size_t bytes) override {
    loan_ = publisher_.loan();
    prepare(*loan_, bytes);
    return const_cast<std::byte*>(payload(*loan_).data);
  }
  void publish(std::size_t) override { publisher_.publish(std::move(loan_)); }
  int matched() override { return static_cast<int>(publisher_.matched()); }

 private:
  Node node_;
  IdleTopics idle_;
  Publisher<T> publisher_;
  Loan<T> loan_;
};

/// As a program that does not use loans: an ordinary object, copied into shared memory once by publish().
template <class T>
class CopyingPublisher : public PublisherEnd {
 public:
  CopyingPublisher(const RunPlan& plan, unsigned index, const NodeOptions& options)
      : node_("perf_publisher_" + std::to_string(index), options),
        idle_(node_, plan),
        publisher_(node_.advertise<T>(plan.topic, qos_of(plan), memory_of(plan))) {}
  std::byte* begin(std::size_t bytes) override {
    message_ = std::make_unique<T>();
    prepare(*message_, bytes);
    return const_cast<std::byte*>(payload(*message_).data);
  }
  void publish(std::size_t) override { publisher_.publish(*message_); }
  int matched() override { return static_cast<int>(publisher_.matched()); }

 private:
  Node node_;
  IdleTopics idle_;
  Publisher<T> publisher_;
  std::unique_ptr<T> message_;
};

template <class T>
class BatonSubscriber : public SubscriberEnd {
 public:
  BatonSubscriber(const RunPlan& plan, unsigned index, Receiver& receiver, const NodeOptions& options)
      : receiver_(receiver),
        node_("perf_subscriber_" + std::to_string(index), options),
        idle_(node_, plan),
        subscription_(node_.subscribe<T>(plan.topic, qos_of(plan))) {
    wait_set_.add(subscription_.reader()).or_throw();
  }
  void receive(std::chrono::nanoseconds timeout) override {
    Sample<T> sample = subscription_.take();
    if (!sample) {
      if (timeout.count() == 0) return;
      (void)wait_set_.wait(timeout).or_throw();
      sample = subscription_.take();
    }
    for (; sample; sample = subscription_.take()) {
      const Bytes bytes = payload(*sample);
      receiver_.message(bytes.data, bytes.size);
    }
  }
  int matched() override { return static_cast<int>(subscription_.matched()); }

 private:
  Receiver& receiver_;
  Node node_;
  IdleTopics idle_;
  Subscription<T> subscription_;
  transport::WaitSet wait_set_;
};

/// As a program whose executor calls it back.
template <class T>
class CalledSubscriber : public SubscriberEnd {
 public:
  CalledSubscriber(const RunPlan& plan, unsigned index, Receiver& receiver, const NodeOptions& options)
      : node_("perf_subscriber_" + std::to_string(index), options),
        idle_(node_, plan),
        subscription_(node_.subscribe<T>(plan.topic, qos_of(plan), [&receiver](const T& message) {
          const Bytes bytes = payload(message);
          receiver.message(bytes.data, bytes.size);
        })) {
    executor_.add(node_);
  }
  void receive(std::chrono::nanoseconds timeout) override { (void)executor_.spin_once(timeout); }
  int matched() override { return static_cast<int>(subscription_.matched()); }

 private:
  Node node_;
  Executor executor_;
  IdleTopics idle_;
  Subscription<T> subscription_;
};

/// Calls `with` with a value of the type that the plan names.
template <class With>
auto for_type(const std::string& name, With&& with) {
  using namespace msg::perf_msgs;
  if (name == "bytes" || name == "Image") return with(static_cast<Image*>(nullptr));
  if (name == "PointCloud2") return with(static_cast<PointCloud2*>(nullptr));
  if (name == "LaserScan") return with(static_cast<LaserScan*>(nullptr));
  if (name == "WayPoints") return with(static_cast<WayPoints*>(nullptr));
  if (name == "Lidar") return with(static_cast<Lidar*>(nullptr));
// The macros have no semicolons.
// clang-format off
#define BATON_PERF_TYPE(T) \
  if (name == #T) return with(static_cast<T*>(nullptr));
  BATON_PERF_TYPE(Array1k) BATON_PERF_TYPE(Array4k) BATON_PERF_TYPE(Array16k) BATON_PERF_TYPE(Array32k) BATON_PERF_TYPE(Array60k)
  BATON_PERF_TYPE(Array64k) BATON_PERF_TYPE(Array256k) BATON_PERF_TYPE(Array1m) BATON_PERF_TYPE(Array2m) BATON_PERF_TYPE(Array4m)
  BATON_PERF_TYPE(Array8m) BATON_PERF_TYPE(Array16m)
  BATON_PERF_TYPE(Struct16) BATON_PERF_TYPE(Struct256) BATON_PERF_TYPE(Struct4k) BATON_PERF_TYPE(Struct32k)
#undef BATON_PERF_TYPE
      // clang-format on
      throw std::runtime_error("the message type '" + name + "' is unknown here");
}

}  // namespace baton::perf
