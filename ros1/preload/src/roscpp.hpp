// SPDX-License-Identifier: Apache-2.0
// The functions of the process's libroscpp that this library stands before, and whether it may. Nothing of libroscpp is
// linked: the preloaded library enters every child process, and most of them have no ROS.
//
// Thread rules: any thread; looked up once.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <ros/connection.h>
#include <ros/message_deserializer.h>
#include <ros/poll_manager.h>
#include <ros/serialized_message.h>
#include <ros/transport_publisher_link.h>
#include <ros/transport_subscriber_link.h>
#include <boost/function.hpp>
#include <boost/shared_array.hpp>
#include <boost/shared_ptr.hpp>

#include "baton/os/result.hpp"

namespace ros {
class TopicManager;
}

namespace baton::ros1 {

using Headers = std::map<std::string, std::string>;
using Serialize = boost::function<ros::SerializedMessage()>;

struct Roscpp {
  void (*write_header)(ros::Connection*, const Headers&, const ros::WriteFinishedFunc&) = nullptr;
  void (*write)(ros::Connection*, const boost::shared_array<std::uint8_t>&, std::uint32_t,
                const ros::WriteFinishedFunc&, bool) = nullptr;
  void (*drop)(ros::Connection*, ros::Connection::DropReason) = nullptr;
  void (*destroy)(ros::Connection*) = nullptr;
  ros::VoidConstPtr (*deserialize)(ros::MessageDeserializer*) = nullptr;
  bool (*on_header)(ros::TransportPublisherLink*, const ros::ConnectionPtr&, const ros::Header&) = nullptr;
  void (*handle_message)(ros::TransportPublisherLink*, const ros::SerializedMessage&, bool, bool) = nullptr;
  void (*publish)(ros::TopicManager*, const std::string&, const Serialize&, ros::SerializedMessage&) = nullptr;
  const std::string& (*master_uri)() = nullptr;
  bool (*handle_header)(ros::TransportSubscriberLink*, const ros::Header&) = nullptr;
  bool (*is_dropped)(ros::Connection*) = nullptr;
  void (*start_write)(ros::TransportSubscriberLink*, bool) = nullptr;
  const ros::PollManagerPtr& (*poll_manager)() = nullptr;
  boost::signals2::connection (*add_listener)(ros::PollManager*, const ros::VoidFunc&) = nullptr;
  void (*signal)(ros::PollSet*) = nullptr;
  /// This libroscpp is one that Baton was tried with, and BATON_ROS1 is not 0. Else every message goes as without Baton.
  bool enabled = false;

  static const Roscpp& instance();

  /// From now on the poll thread calls `listener` before each poll(2). The caller holds no lock of this library.
  void listen_to_poll_thread(void (*listener)()) const;
  /// The poll thread does not sleep in its next poll(2).
  void poll_soon() const;
  /// What is to be deserialized; without a buffer if it is done.
  ros::SerializedMessage serialized_message(ros::MessageDeserializer& deserializer) const;
  /// std::type_info::name() of the message's C++ type.
  const char* type_of(ros::MessageDeserializer& deserializer) const;
  /// Writes a frame to the link, if the link has nothing else to write.
  void write_if_idle(ros::TransportSubscriberLink& link, const boost::shared_array<std::uint8_t>& buffer,
                     std::uint32_t bytes) const;
};

/// One line on stderr, beginning with "baton: ", as far as os::LineBudget lets a line of this kind pass.
void say(Errc kind, const std::string& text);

}  // namespace baton::ros1
