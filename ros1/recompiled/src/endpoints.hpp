// SPDX-License-Identifier: Apache-2.0
// Baton's end of an advertisement of a recompiled program.
//
// Thread rules: all functions are thread-safe.
#pragma once

#include <ros/advertise_options.h>
#include <ros/node_handle.h>
#include <ros/serialized_message.h>
#include <ros/single_subscriber_publisher.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "baton/memory/pool.hpp"
#include "baton/message/ros1_codec.hpp"
#include "baton/node/node.hpp"
#include "baton/ros1/endpoints.hpp"
#include "baton/ros1/recompiled/message.hpp"

namespace baton::ros1::recompiled {

enum class Form : unsigned char;  // memory.hpp

class PublisherEnd {
 public:
  /// `options.topic` is resolved. Throws what baton::ros1::node() and Node::make_publisher throw.
  PublisherEnd(ros::NodeHandle& handle, const ros::AdvertiseOptions& options, const MessageClass& message);
  ~PublisherEnd();
  PublisherEnd(const PublisherEnd&) = delete;
  PublisherEnd& operator=(const PublisherEnd&) = delete;

  // Each throws baton::Exception: the message is not published. A message for which Baton has no memory goes by TCP.
  void publish(const MessageClass& message, const void* object, bool is_shared);
  /// What a program publishes without an object of the topic's message.
  void publish(const ros::SerializedMessage& wire);
  /// To this subscriber's process alone.
  void publish_to(const ros::SingleSubscriberPublisher& subscriber, const ros::SerializedMessage& wire);
  std::uint32_t subscribers() const;

 private:
  /// True: a message that lies in a chunk of this publisher was handed over.
  bool publish_in_place(const void* object, Form form);
  void publish_by_tcp(const ros::SerializedMessage& wire, const Error& why);
  void publish_loan(const memory::Chunk& chunk, const std::function<void(const memory::Chunk&)>& fill);
  void decode(const ros::SerializedMessage& wire, const memory::Chunk& chunk) const;

  const MessageClass& message_;
  const message::Ros1Codec codec_;
  const std::shared_ptr<baton::Node> node_;
  const Mode mode_;
  const std::shared_ptr<transport::Reader> announced_;
  const std::shared_ptr<baton::detail::PublisherCore> core_;
  const bool has_header_;
  ros1::detail::PublisherSide side_;
};

/// The publisher of this type that the process used last, else the one that it made last; null: there is none.
std::shared_ptr<baton::detail::PublisherCore> publisher_of(const MessageClass& message);

/// True while this thread makes the roscpp endpoints of an end of Baton, which are stock ones.
class MakingStock {
 public:
  MakingStock();
  ~MakingStock();
  MakingStock(const MakingStock&) = delete;
  MakingStock& operator=(const MakingStock&) = delete;
  static bool now();
};

}  // namespace baton::ros1::recompiled
