// SPDX-License-Identifier: Apache-2.0
// One subscription in mode tzc: takes the message of each handle from Baton's queue. Handles of one publisher are in the
// order of their messages, since they came by one TCP connection.
//
// Thread rules: the caller's lock.
// Invariants: (1) each number of a publisher is delivered at most once, in ascending order; (2) a handle counts in exactly one
// of the HandleCounters, unless its message was delivered before; (3) a handle takes no message but those of its sender;
// (4) what a sender can make wait is bounded in number and time.
#pragma once

#include <ros/forwards.h>

#include <boost/shared_ptr.hpp>
#include <boost/weak_ptr.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baton/ros1/endpoints.hpp"
#include "handle.hpp"

namespace baton::ros1::detail {

/// A message of the side topic. Subscriptions of one process share it.
struct ArrivedHandle {
  std::string sender;                   ///< the node's name
  boost::weak_ptr<ros::M_string> link;  ///< lives as long as the TCP connection
  Handle handle;                        ///< `content` lies in `bytes`
  std::vector<std::uint8_t> bytes;
};
using ArrivedHandlePtr = boost::shared_ptr<const ArrivedHandle>;

class Arrivals {
 public:
  using Clock = std::chrono::steady_clock;
  /// A message that is not in the queue within this time does not come. It is in the queue before its handle is sent, so it
  /// is late only while the first connection, or a new segment, is on its way.
  static constexpr std::chrono::seconds kPatience{1};

  /// `most_waiting`: handles of each publisher; as many as the reader's queue has messages.
  Arrivals(std::shared_ptr<transport::Reader> reader, const Md5& type, std::size_t most_waiting)
      : reader_(std::move(reader)), type_(type), most_waiting_(most_waiting) {}

  /// The node of each publisher of the topic in Baton's graph.
  void set_writers(const std::map<transport::Gid, std::string>& alive);

  void arrive(const ArrivedHandlePtr& handle);

  /// The next message that can be delivered; empty if there is none.
  struct Delivery {
    transport::TakenSample sample;
    ArrivedHandlePtr carried;  ///< its bytes are to be delivered
    explicit operator bool() const { return sample || carried; }
  };
  Delivery next();
  /// Some handle's message may still come.
  bool waits() const;

  /// For messages that are delivered without a handle: what has to be delivered before `sample`, in its order, and
  /// `sample` itself, unless it was delivered.
  std::vector<transport::TakenSample> without_handle(transport::TakenSample&& sample);

  /// Whether this node's messages come by handles now.
  bool has(const std::string& node) const;

  HandleCounters counters;

 private:
  struct Source {
    std::uint64_t delivered = 0;   // the highest number
    transport::TakenSample early;  // taken before its handle came
    struct Waiting {
      ArrivedHandlePtr handle;
      Clock::time_point since;
    };
    std::deque<Waiting> waiting;
    boost::weak_ptr<ros::M_string> link;
  };
  using Key = std::pair<std::string, transport::Gid>;  // sender and publisher: a stranger has sources of its own
  enum class Found : std::uint8_t { kMessage, kNotYet, kGone, kHeld, kRefused };

  Found find(const Key& key, Source& source, std::uint64_t number, transport::TakenSample* sample);
  bool step(const Key& key, Source& source, Delivery* out);
  void make_room();
  void count_lost(const Key& key) { ++(writers_.count(key.second) != 0 ? counters.overwritten : counters.refused); }

  static constexpr std::size_t kMostSources = 256;

  const std::shared_ptr<transport::Reader> reader_;
  const Md5 type_;
  const std::size_t most_waiting_;
  std::map<transport::Gid, std::string> writers_;  // also some dead ones, whose messages may still be taken
  std::map<Key, Source> sources_;
};

}  // namespace baton::ros1::detail
