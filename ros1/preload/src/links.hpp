// SPDX-License-Identifier: Apache-2.0
// The TCPROS links of this process whose other end has Baton too, and the endpoints behind them. The bytes on a link and
// the keys in its headers: docs/format/tcpros.md.
//
// A link's publisher has one writer per topic; its subscriber has one reader per link. The header has a secret, so a marker
// cannot be guessed. Messages for the link wait in the reader's queue, and markers in the TCP stream fix their place among
// the messages that go as bytes.
//
// Reading order: marker.hpp, outgoing.hpp and incoming.hpp (the two ends of a link), this file, interpose.cpp.
// Thread rules: any thread. Each link is written by one thread at a time (roscpp's rule), and read by the poll thread.
// Invariants: (1) a marker is written only after its message is in the reader's queue; (2) a link's markers have the order
// of its queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "arrays.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"
#include "incoming.hpp"
#include "outgoing.hpp"
#include "roscpp.hpp"
#include "words.hpp"

namespace baton::ros1 {

/// Messages of one link that wait, or that the subscriber's callback queue and callbacks have, together. More go as bytes.
inline constexpr std::uint32_t kHeld = 32;

/// Where the messages of a topic are serialized.
struct Destination {
  std::shared_ptr<transport::Writer> writer;  ///< null: on the heap
  std::shared_ptr<ArrayPlace> place;
};

class Links {
 public:
  static Links& instance();

  /// Completes a header that is about to be written.
  void add_keys(ros::Connection& connection, Headers& header);
  /// The publisher's answer to a subscriber's header.
  void header_received(ros::Connection& connection, const Headers& header);
  /// The publisher's link of a connection; its header has been answered.
  void link_made(const ros::Connection& connection, const boost::shared_ptr<ros::SubscriberLink>& link);
  void connection_ended(const ros::Connection& connection);

  /// Whose memory a message on `topic` may use; none: no subscriber would gain from it.
  Destination destination_of(const std::string& topic);

  /// What to write to a link instead of the message in `buffer`; empty: the message itself.
  std::optional<Outgoing::Frames> replace(const ros::Connection& connection,
                                          const boost::shared_array<std::uint8_t>& buffer, std::uint32_t bytes);

  /// A message that came on a link. Delivers what can be delivered; false: the link has to end.
  bool arrive(ros::TransportPublisherLink& link, const ros::SerializedMessage& message);

  /// Called by roscpp's poll thread whenever it has handled its sockets, and at least ten times a second.
  void look();

 private:
  std::shared_ptr<transport::Participant> participant(const std::string& node) BATON_REQUIRES(mutex_);
  void answer(ros::Connection& connection, Headers& header);
  bool has_link_to(const transport::Gid& reader) const BATON_REQUIRES(mutex_);
  std::shared_ptr<Outgoing> outgoing_of(const ros::Connection& connection);

  os::Mutex mutex_;
  std::shared_ptr<transport::Participant> participant_ BATON_GUARDED_BY(mutex_);
  bool failed_ BATON_GUARDED_BY(mutex_) = false;  // joining the domain failed, and was reported
  std::unordered_map<const ros::Connection*, std::shared_ptr<Outgoing>> outgoing_ BATON_GUARDED_BY(mutex_);
  std::unordered_map<const ros::Connection*, std::shared_ptr<Incoming>> incoming_ BATON_GUARDED_BY(mutex_);
  struct Topic {
    std::weak_ptr<transport::Writer> writer;  // kept by links and buffers
    std::shared_ptr<ArrayPlace> place;
  };
  std::unordered_map<std::string, Topic> topics_ BATON_GUARDED_BY(mutex_);

  // Of the poll thread.
  bool waiting_ = false;  // messages wait for others that did not come yet
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace baton::ros1
