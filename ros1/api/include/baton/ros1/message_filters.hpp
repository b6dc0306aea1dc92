// SPDX-License-Identifier: Apache-2.0
// Types of Baton in message_filters: FilterSubscriber stands where message_filters::Subscriber does, before a
// TimeSynchronizer, a Synchronizer, a Cache, a TimeSequencer. Needs message_filters' headers (libmessage-filters-dev).
//
// Thread rules: those of message_filters::Subscriber. Its signal runs in the callback queue of `handle`.
#pragma once

#include <message_filters/simple_filter.h>
#include <ros/message_traits.h>
#include <ros/time.h>

#include <boost/shared_ptr.hpp>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "baton/ros1/ros1.hpp"
#include "baton/ros1/stock.hpp"

namespace ros::message_traits {

/// The stamp by which filters order and match messages of types of Baton that begin with a Header.
template <class T>
struct TimeStamp<T,
                 std::void_t<typename baton::ros1::StockOf<T>::type, decltype(std::declval<const T&>().header.stamp)>> {
  static ros::Time value(const T& message) { return static_cast<ros::Time>(message.header.stamp); }
};

}  // namespace ros::message_traits

namespace baton::ros1 {

/// Subscribes to a topic and passes its messages on as boost::shared_ptr<const T>, which filters may keep: raise
/// SubscribeOptions::held to what they keep, that is, to their queue size and what waits besides. Connected callbacks
/// are called one at a time.
template <class T>
class FilterSubscriber : public message_filters::SimpleFilter<T> {
 public:
  FilterSubscriber() = default;
  FilterSubscriber(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size,
                   const SubscribeOptions& options = {}) {
    subscribe(handle, topic, queue_size, options);
  }
  ~FilterSubscriber() { unsubscribe(); }

  /// Ends an earlier subscription. Throws what ros1::subscribe() throws.
  void subscribe(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size,
                 const SubscribeOptions& options = {}) {
    unsubscribe();
    subscriber_ = ros1::subscribe<T>(
        handle, topic, queue_size, [this](const boost::shared_ptr<const T>& message) { this->signalMessage(message); },
        options);
  }
  void unsubscribe() { subscriber_.shutdown(); }

  std::string getTopic() const { return subscriber_ ? subscriber_.getTopic() : std::string(); }
  const Subscriber<T>& getSubscriber() const { return subscriber_; }

  // What message_filters expects of a filter's input side; a subscription has none.
  template <class F>
  void connectInput(F&) {}
  void add(const ros::MessageEvent<const T>&) {}

 private:
  Subscriber<T> subscriber_;
};

}  // namespace baton::ros1
