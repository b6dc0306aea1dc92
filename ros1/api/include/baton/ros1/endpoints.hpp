// SPDX-License-Identifier: Apache-2.0
// The untyped parts of Publisher and Subscription (ros1.hpp): what a ROS 1 node and a Baton node have to do with each
// other.
//
// A publisher has one endpoint of Baton and one of roscpp on the same topic. A process whose subscription Baton serves
// gets messages from the first alone; all others (stock nodes, rosbag, other machines) from the second, which is
// written only while there are such. Both ends decide this alike, from Baton's graph, so no message comes twice.
#pragma once

#include <ros/callback_queue_interface.h>
#include <ros/node_handle.h>
#include <ros/serialized_message.h>
#include <ros/single_subscriber_publisher.h>
#include <ros/subscriber.h>
#include <ros/subscription_callback_helper.h>
#include <ros/transport_hints.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>

#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/node/node.hpp"

namespace baton::ros1 {

/// The Baton node of this ROS 1 node: its name and namespace, in the domain of its master (BATON_DOMAIN, if set, comes
/// first). One per process, alive as long as somebody holds it. Throws invalid_argument before ros::init(), and what
/// Node's constructor throws.
std::shared_ptr<baton::Node> node();

/// How messages of Baton are announced to a subscription. Publishers and subscriptions of both modes get each other's
/// messages.
enum class Mode : std::uint8_t {
  kLotros,  ///< By Baton's queues alone (LOT IV): no socket carries data.
  kTzc,     ///< By a handle in a TCPROS message (TZC III), while the message itself stays in shared memory.
};
/// Of BATON_ROS1_MODE: `lotros` (also if it is not set) or `tzc`. Throws invalid_argument for another value.
Mode default_mode();

/// What became of the handles that a subscription in mode tzc was given. Each message counts once.
struct HandleCounters {
  std::uint64_t taken = 0;        ///< delivered from shared memory
  std::uint64_t carried = 0;      ///< delivered from the handle's message, which had the bytes too
  std::uint64_t overwritten = 0;  ///< lost: newer messages took the place in Baton's queue, or the publisher has died
  std::uint64_t held_limit = 0;   ///< lost: callbacks kept as many messages as they may (SubscribeOptions::held)
  std::uint64_t refused = 0;      ///< not a message of this topic: forged, damaged, or of another type
};

namespace detail {

/// In mode tzc, what announces the mode in Baton's graph, to be made before the publisher and to end after it; else null.
std::shared_ptr<transport::Reader> announce_publisher(baton::Node& node, const std::string& topic, Mode mode);

/// Baton's subscription for roscpp's `queue_size`; in mode tzc it is announced in the graph as long as it lives. Throws what
/// Node::make_reader throws.
std::shared_ptr<transport::Reader> make_reader_for_ros(baton::Node& node, const std::string& topic,
                                                       const message::Type& type, std::uint32_t queue_size, Mode mode,
                                                       std::uint32_t held);

/// A publisher of Baton that a program of roscpp did not ask for: its memory has ROS 1's limits, which the program cannot
/// raise. Messages have up to 1 GiB (roscpp refuses those above 10^9 bytes), and all that are alive up to 4 GiB; less where the window
/// of addresses is small. Throws what Node::make_publisher throws.
std::shared_ptr<baton::detail::PublisherCore> make_publisher_for_ros(baton::Node& node, const std::string& topic,
                                                                     const message::Type& type, const QoS& qos);

/// What roscpp needs to know of a type.
struct StockType {
  std::string datatype, md5sum, definition;
};

/// roscpp's side of a publisher. Thread-safe.
class PublisherSide {
 public:
  /// `numbers`: messages that begin with a Header get numbers, as in roscpp with AdvertiseOptions::has_header.
  PublisherSide(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, bool latch, Mode mode,
                const StockType& stock, const message::Type& type, std::shared_ptr<baton::Node> node,
                std::shared_ptr<transport::Writer> writer, bool numbers = true);
  ~PublisherSide();
  PublisherSide(const PublisherSide&) = delete;
  PublisherSide& operator=(const PublisherSide&) = delete;

  /// Numbers `message` (Header's `seq`), which lies in a loan of `capacity_bytes`, calls `hand_over`, which
  /// returns the message's number in Baton, and writes the message to the links that Baton does not serve, and handles to
  /// the side topic's. Messages keep this order on all ways. Throws malformed_message, then before `hand_over`, and what
  /// `hand_over` throws.
  void publish(void* message, std::size_t capacity_bytes, const std::function<std::uint64_t()>& hand_over);

  /// Writes a message in ROS 1's format, unnumbered, to one subscriber's process alone, in its order among the messages of
  /// publish(). `hand_over` is called for each subscription of that process that Baton serves, or for one if all are in mode tzc, as this
  /// publisher; it returns the message's number in Baton, and may throw. roscpp's link
  /// gets the message if Baton does not serve all of them. Not kept for those that come later. Waits up to 200 ms for a
  /// process that is about to be served.
  void publish_to(const ros::SingleSubscriberPublisher& subscriber, const ros::SerializedMessage& message,
                  const std::function<std::uint64_t(const transport::Gid&)>& hand_over);

  /// Writes a message in ROS 1's format, for which Baton has no memory, to all links. Its place among the messages of publish() is
  /// kept by mark(). Numbers it, as publish() does. Subscriptions of Baton that have no link do not get it; waits
  /// 1 s at most, once for each process, for links that are still to come.
  void publish_bytes(const ros::SerializedMessage& message);
  /// To be called in `hand_over` of publish(), with what the message is published with in Baton. False: there was nothing to add.
  bool mark(transport::PublishInfo& info) const;

  /// Who gets the messages: subscriptions of Baton, processes that get handles, and processes that get serialized messages.
  struct Subscribers {
    std::uint32_t own = 0, handles = 0, serialized = 0;
  };
  Subscribers subscribers() const;

  /// From now on calls `changed` from the handle's callback queue, one call at a time, when the sum of subscribers() has
  /// changed. Only once.
  void watch_subscribers(std::function<void()> changed);

 private:
  struct State;
  std::shared_ptr<State> state_;  // callbacks of roscpp hold it weakly
  ros::CallbackQueueInterface* const queue_;
};

/// Both sides of a subscription. Its callbacks run from the callback queue of `handle`, one at a time, as roscpp's do; with
/// `own_thread` those of Baton's messages run in a thread of the subscription, which its destructor waits for.
class SubscriberSide {
 public:
  struct Callbacks {
    std::function<void(transport::TakenSample&&)> take;  ///< a message of Baton; delivers it
    /// A message of roscpp as an object of T in shared memory; throws baton::Exception.
    std::function<std::shared_ptr<const void>(message::Bytes)> decode;
    std::function<void(std::shared_ptr<const void>)> deliver;  ///< what decode() returned
    const std::type_info* type;                                ///< of T
    /// In the place of `deliver`, with what roscpp says of the message; null: not wanted.
    std::function<void(ros::SubscriptionCallbackHelperCallParams&)> call{};
    /// In the place of `deliver`, with the publisher, for what decode() made of the bytes in a handle (mode tzc); null: not wanted.
    std::function<void(std::shared_ptr<const void>, const transport::Gid&)> carried{};
  };
  SubscriberSide(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, Mode mode,
                 const ros::TransportHints& hints, const StockType& stock, std::shared_ptr<baton::Node> node,
                 std::shared_ptr<transport::Reader> reader, Callbacks callbacks, bool own_thread = false);
  ~SubscriberSide();
  SubscriberSide(const SubscriberSide&) = delete;
  SubscriberSide& operator=(const SubscriberSide&) = delete;

  /// For programs that have a ros::Subscriber in the place of this object: `side` ends with the last copy of the
  /// returned one, or its shutdown(). Its callbacks must not use `side`.
  static ros::Subscriber give_to_roscpp(std::unique_ptr<SubscriberSide> side);

  /// Publishers that roscpp knows, or that Baton knows: the larger number.
  std::uint32_t publishers() const;
  HandleCounters handles() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace detail
}  // namespace baton::ros1
