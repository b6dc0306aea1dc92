// SPDX-License-Identifier: Apache-2.0
// The subscriber's end of one link: puts messages in the place of their markers, and keeps the order of the TCP stream while
// a message is still on its way or has to be repeated (docs/format/tcpros.md, section 4).
//
// Thread rules: the poll thread of roscpp.
// Invariants: (1) messages leave in the order in which the TCP stream had them or their markers, each once; (2) a frame of
// the stream costs at most one search among kMostMarkers markers, and kMostTaken takes; (3) all that waits has a weight, a
// marker too, and the weights of a link have a bound (docs/format/bounds.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include <ros/serialized_message.h>
#include <boost/function.hpp>
#include <boost/shared_ptr.hpp>

#include "arrays.hpp"
#include "baton/transport/transport.hpp"
#include "marker.hpp"
#include "roscpp.hpp"

namespace baton::ros1 {

class Incoming {
 public:
  using Clock = std::chrono::steady_clock;
  using Deliver = boost::function<void(const ros::SerializedMessage&)>;

  /// A message that does not come within this time is requested as bytes. In the queue it was before its marker, so it is
  /// late only while the first connection, or a new segment, is on its way.
  static constexpr std::chrono::seconds kPatience{5};
  /// Of messages that wait behind a marker: with so many bytes the message is requested at once, and with kMostBytes the link
  /// ends, since its publisher does not repeat the message.
  static constexpr std::size_t kManyBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMostBytes = std::size_t{2} << 30;
  /// What each of them weighs beside its bytes: its place here, and its buffer's block of the heap.
  static constexpr std::size_t kEntryBytes = 256;
  /// Markers whose message has not come. A publisher has four messages in the queue (kInFlight) and repeats those of an ended
  /// connection before its next marker, so it never has so many; with one more the link ends.
  static constexpr std::size_t kMostMarkers = 1024;
  /// Messages of lower numbers that one search takes out of the queue. The queue has four places, which a publisher can
  /// fill again while they are emptied; the next look goes on.
  static constexpr std::size_t kMostTaken = 64;

  /// `node`: of this process, as the graph shows it.
  Incoming(std::string topic, std::string node, const transport::Gid& id, const LinkSecret& secret)
      : topic_(std::move(topic)), node_(std::move(node)), id_(id), secret_(secret) {}

  const std::string& topic() const { return topic_; }
  const std::string& node() const { return node_; }
  const transport::Gid& id() const { return id_; }
  bool answered() const { return answered_; }
  /// The publisher has answered.
  void set_reader(std::shared_ptr<transport::Reader> reader);

  /// A message of the TCP stream. Delivers what can be delivered now. False: the link has to end.
  bool arrive(const ros::SerializedMessage& message, const Deliver& deliver);
  /// Looks again for a message that a marker waits for. False: the link has to end.
  bool look_again(const Deliver& deliver);
  bool waits() const { return !waiting_.empty(); }
  /// Of what waits.
  std::size_t weight() const { return weight_; }
  std::size_t markers() const { return markers_.size(); }
  /// The message that is missing may come within a moment.
  bool waits_a_moment() const;

  /// The link's TCP connection has ended: what is missing after kPatience does not come any more, and is left out. False:
  /// nothing waits any more.
  bool end(const Deliver& deliver);

  /// Where messages go. Set while messages wait, so that they outlive a publisher that ends.
  boost::shared_ptr<ros::PublisherLink> link;

 private:
  struct Waiting {
    std::uint64_t number = 0;        // of a marker
    ros::SerializedMessage message;  // without a buffer: to come
    std::size_t weight = kEntryBytes;
  };
  enum class Found : std::uint8_t { kMessage, kNotYet, kMad };

  Found find(std::uint64_t number, ros::SerializedMessage* message);
  bool deliver_waiting(const Deliver& deliver);
  void wait_for(std::uint64_t number, const ros::SerializedMessage& message);
  void weigh(Waiting& entry);
  void remove_first();

  const std::string topic_, node_;
  const transport::Gid id_;
  const LinkSecret secret_;
  bool answered_ = false;
  const std::shared_ptr<LearnedArrays> learned_ = std::make_shared<LearnedArrays>();
  std::shared_ptr<transport::Reader> reader_;  // null again once the rest is requested as bytes
  transport::TakenSample early_;               // taken before its marker came
  std::deque<Waiting> waiting_;
  // Those without a message, by number; of one number in their order. Ordered: a publisher chooses the numbers, and could
  // choose those that collide in a hash table.
  std::multimap<std::uint64_t, Waiting*> markers_;
  std::size_t weight_ = 0;
  bool lost_one_ = false;  // this process had no memory for a message that it took, and its marker waits, or will wait
  bool over_ = false;      // more waited than may, and a line said so
  Clock::time_point waits_since_;
};

}  // namespace baton::ros1
