// SPDX-License-Identifier: Apache-2.0
// The functions of roscpp that the linker redirects here (--wrap), and what message headers call.
#include <ros/console.h>
#include <ros/single_subscriber_publisher.h>
#include <ros/subscribe_options.h>
#include <ros/subscriber.h>

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "baton/os/lock.hpp"
#include "endpoints.hpp"
#include "subscriber_end.hpp"

// roscpp's own, by the names that the linker gives them.
ros::Publisher real_advertise(ros::NodeHandle* handle, ros::AdvertiseOptions& options) asm(
    "__real__ZN3ros10NodeHandle9advertiseERNS_16AdvertiseOptionsE");
ros::Subscriber real_subscribe(ros::NodeHandle* handle, ros::SubscribeOptions& options) asm(
    "__real__ZN3ros10NodeHandle9subscribeERNS_16SubscribeOptionsE");
void real_shutdown(ros::Publisher* publisher) asm("__real__ZN3ros9Publisher8shutdownEv");
std::uint32_t real_subscribers(const ros::Publisher* publisher) asm("__real__ZNK3ros9Publisher17getNumSubscribersEv");
void real_publish(const ros::Publisher* publisher, const boost::function<ros::SerializedMessage()>& serialize, ros::SerializedMessage& message) asm(
    "__real__ZNK3ros9Publisher7publishERKN5boost8functionIFNS_"
    "17SerializedMessageEvEEERS3_");
void real_publish_to(const ros::SingleSubscriberPublisher* subscriber, const ros::SerializedMessage& message) asm(
    "__real__ZNK3ros25SingleSubscriberPublisher7publishERKNS_17SerializedMessageE");

ros::Publisher redirected_advertise(ros::NodeHandle* handle, ros::AdvertiseOptions& options) asm(
    "__wrap__ZN3ros10NodeHandle9advertiseERNS_16AdvertiseOptionsE");
ros::Subscriber redirected_subscribe(ros::NodeHandle* handle, ros::SubscribeOptions& options) asm(
    "__wrap__ZN3ros10NodeHandle9subscribeERNS_16SubscribeOptionsE");
void redirected_shutdown(ros::Publisher* publisher) asm("__wrap__ZN3ros9Publisher8shutdownEv");
std::uint32_t redirected_subscribers(const ros::Publisher* publisher) asm(
    "__wrap__ZNK3ros9Publisher17getNumSubscribersEv");
void redirected_publish(const ros::Publisher* publisher, const boost::function<ros::SerializedMessage()>& serialize, ros::SerializedMessage& message) asm(
    "__wrap__ZNK3ros9Publisher7publishERKN5boost8functionIFNS_"
    "17SerializedMessageEvEEERS3_");
void redirected_publish_to(const ros::SingleSubscriberPublisher* subscriber, const ros::SerializedMessage& message) asm(
    "__wrap__ZNK3ros25SingleSubscriberPublisher7publishERKNS_17SerializedMessageE");

template <>
void ros::Publisher::publish<baton::ros1::recompiled::StockPublish>(
    const baton::ros1::recompiled::StockPublish& call) const {
  real_publish(this, call.serialize, call.message);
}
template <>
void ros::Publisher::publish<baton::ros1::recompiled::FindCallbacks>(
    const baton::ros1::recompiled::FindCallbacks& call) const {
  if (impl_ && impl_->isValid()) call.found = impl_->callbacks_;
}

namespace baton::ros1::recompiled {
namespace {

struct Classes {
  os::Mutex mutex;
  std::map<std::string, const MessageClass*> known BATON_GUARDED_BY(mutex);  // by ROS's name
};

Classes& classes() {
  static Classes& one = *new Classes;
  return one;
}

const MessageClass* class_named(const std::string& datatype) {
  Classes& all = classes();
  const os::Lock lock(all.mutex);
  const auto found = all.known.find(datatype);
  return found == all.known.end() ? nullptr : found->second;
}

/// Where an advertisement keeps its end of Baton.
class EndSlot {
 public:
  void set(std::shared_ptr<PublisherEnd> end) {
    const os::Lock lock(mutex_);
    end_ = std::move(end);
  }
  std::shared_ptr<PublisherEnd> get() const {
    const os::Lock lock(mutex_);
    return end_;
  }

 private:
  mutable os::Mutex mutex_;
  std::shared_ptr<PublisherEnd> end_ BATON_GUARDED_BY(mutex_);
};

/// By topic. roscpp does not say of which advertisement a connect callback is; those of one topic have the same subscribers.
struct Ends {
  os::Mutex mutex;
  std::multimap<std::string, std::weak_ptr<PublisherEnd>> known BATON_GUARDED_BY(mutex);
};

Ends& ends() {
  static Ends& one = *new Ends;
  return one;
}

void add_end(const std::string& topic, const std::shared_ptr<PublisherEnd>& end) {
  Ends& all = ends();
  const os::Lock lock(all.mutex);
  for (auto each = all.known.lower_bound(topic); each != all.known.upper_bound(topic);) {
    each = each->second.expired() ? all.known.erase(each) : std::next(each);
  }
  all.known.emplace(topic, end);
}

std::shared_ptr<PublisherEnd> end_on(const std::string& topic) {
  Ends& all = ends();
  const os::Lock lock(all.mutex);
  for (auto each = all.known.lower_bound(topic); each != all.known.upper_bound(topic); ++each) {
    if (std::shared_ptr<PublisherEnd> end = each->second.lock()) return end;
  }
  return nullptr;
}

/// The connect callback of an advertisement that has an end of Baton: the program's own, and the end.
struct Connected {
  std::shared_ptr<EndSlot> slot;
  ros::SubscriberStatusCallback program;
  void operator()(const ros::SingleSubscriberPublisher& subscriber) const {
    if (program) program(subscriber);
  }
};

std::shared_ptr<EndSlot> slot_of(const ros::Publisher& publisher) {
  ros::SubscriberCallbacksPtr callbacks;
  publisher.publish(FindCallbacks{callbacks});
  const Connected* const connected = callbacks ? callbacks->connect_.target<Connected>() : nullptr;
  return connected != nullptr ? connected->slot : nullptr;
}

std::shared_ptr<PublisherEnd> end_of(const ros::Publisher& publisher) {
  const std::shared_ptr<EndSlot> slot = slot_of(publisher);
  return slot ? slot->get() : nullptr;
}

// Not by roscpp either: subscriptions that Baton serves drop what comes by TCP, since it would be a double.
void log_lost(const std::string& topic, const Exception& error) {
  ROS_ERROR_THROTTLE(1.0, "baton: a message on %s is lost: %s", topic.c_str(), error.what());
}

}  // namespace

void announce(const MessageClass& message) {
  Classes& all = classes();
  const os::Lock lock(all.mutex);
  all.known.emplace(message.type.name, &message);
}

bool hand_over(const ros::Publisher& publisher, const MessageClass& message, const void* object, bool is_shared) {
  const std::shared_ptr<PublisherEnd> end = end_of(publisher);
  if (!end) return false;
  try {
    end->publish(message, object, is_shared);
  } catch (const Exception& error) {
    log_lost(publisher.getTopic(), error);
  }
  return true;
}

}  // namespace baton::ros1::recompiled

using namespace baton::ros1::recompiled;

ros::Publisher redirected_advertise(ros::NodeHandle* handle, ros::AdvertiseOptions& options) {
  const MessageClass* const message = MakingStock::now() ? nullptr : class_named(options.datatype);
  if (message == nullptr) return real_advertise(handle, options);
  const auto slot = std::make_shared<EndSlot>();
  // The end comes first: roscpp calls connect callbacks in the order of advertisements, and the program's may publish.
  try {
    const MakingStock stock;
    ros::AdvertiseOptions resolved = options;
    resolved.topic = handle->resolveName(options.topic);
    const auto end = std::make_shared<PublisherEnd>(*handle, resolved, *message);
    slot->set(end);
    add_end(resolved.topic, end);
  } catch (const baton::Exception& error) {
    ROS_ERROR("baton: messages on %s go by TCP: %s", options.topic.c_str(), error.what());
  }
  options.connect_cb = Connected{slot, options.connect_cb};
  ros::Publisher publisher = real_advertise(handle, options);
  if (!publisher) slot->set(nullptr);
  return publisher;
}

ros::Subscriber redirected_subscribe(ros::NodeHandle* handle, ros::SubscribeOptions& options) {
  const MessageClass* const message = MakingStock::now() ? nullptr : class_named(options.datatype);
  if (message == nullptr || !options.helper || options.helper->getTypeInfo() != message->info) {
    return real_subscribe(handle, options);
  }
  try {
    const MakingStock stock;
    return subscribe(*handle, options, *message);
  } catch (const baton::Exception& error) {
    ROS_ERROR("baton: messages on %s come by TCP: %s", options.topic.c_str(), error.what());
  }
  return real_subscribe(handle, options);
}

void redirected_shutdown(ros::Publisher* publisher) {
  const std::shared_ptr<EndSlot> slot = slot_of(*publisher);
  real_shutdown(publisher);
  if (slot) slot->set(nullptr);
}

std::uint32_t redirected_subscribers(const ros::Publisher* publisher) {
  // Not roscpp's count beside it: roscpp counts a link before its connect callbacks run, so before messages go there.
  const std::shared_ptr<PublisherEnd> end = end_of(*publisher);
  return end ? end->subscribers() : real_subscribers(publisher);
}

// What every template of ros::Publisher ends in for classes that are no recompiled messages: pcl::PointCloud,
// rosbag::MessageInstance.
void redirected_publish(const ros::Publisher* publisher, const boost::function<ros::SerializedMessage()>& serialize,
                        ros::SerializedMessage& message) {
  const std::shared_ptr<PublisherEnd> end = end_of(*publisher);
  if (!end) return real_publish(publisher, serialize, message);
  const ros::SerializedMessage wire = serialize();
  try {
    end->publish(wire);
  } catch (const baton::Exception& error) {
    log_lost(publisher->getTopic(), error);
  }
}

void redirected_publish_to(const ros::SingleSubscriberPublisher* subscriber, const ros::SerializedMessage& message) {
  const std::shared_ptr<PublisherEnd> end = end_on(subscriber->getTopic());
  if (!end) return real_publish_to(subscriber, message);
  try {
    end->publish_to(*subscriber, message);
  } catch (const baton::Exception& error) {
    log_lost(subscriber->getTopic(), error);
  }
}
