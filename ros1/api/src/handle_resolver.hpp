// SPDX-License-Identifier: Apache-2.0
// One subscription in mode tzc: takes the message of each handle from Baton's queue. Handles of one publisher are in the
// order of their messages, since they came by one TCP connection.
//
// Thread rules: the caller's lock.
// Invariants: (1) each number of a publisher is delivered at most once, in ascending order; (2) a handle counts in exactly one
// of the HandleCounters, unless its message was delivered before; (3) a handle takes no message but those of its sender's
// process, and no handle of another process changes what is delivered of them; (4) what a sender can make wait is bounded
// in number, bytes and time (docs/format/bounds.md).
#pragma once

#include <ros/forwards.h>

#include <boost/shared_ptr.hpp>
#include <boost/weak_ptr.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "baton/ros1/endpoints.hpp"
#include "handle.hpp"
#include "peer.hpp"

namespace baton::ros1::detail {

/// A message of the side topic. Subscriptions of one process share it.
struct ArrivedHandle {
  PeerPtr sender;                       ///< the same object for all handles of a link
  boost::weak_ptr<ros::M_string> link;  ///< lives as long as the TCP connection
  TopicHandle handle;                   ///< `content` lies in `bytes`
  std::vector<std::uint8_t> bytes;
};
using ArrivedHandlePtr = boost::shared_ptr<const ArrivedHandle>;

class HandleResolver {
 public:
  using Clock = std::chrono::steady_clock;
  /// A message that is not in the queue within this time does not come. It is in the queue before its handle is sent, so it
  /// is late only while the first connection, or a new segment, is on its way.
  static constexpr std::chrono::seconds kPatience{1};
  /// While the reader knows that they are on their way it waits longer; not for ever, for a publisher that never answers.
  static constexpr std::chrono::seconds kConnecting{30};

  /// `most_waiting`: handles of each publisher; as many as the reader's queue has messages.
  HandleResolver(std::shared_ptr<transport::Reader> reader, const Md5& type, std::size_t most_waiting)
      : reader_(std::move(reader)), type_(type), most_waiting_(most_waiting) {}

  /// The process of each publisher of the topic in Baton's graph, and of those that are gone and have left messages: some came and
  /// went between two calls.
  void set_writers(const std::map<transport::Gid, Process>& alive, const std::map<transport::Gid, Process>& gone = {});

  void arrive(const ArrivedHandlePtr& handle);

  /// The next message that can be delivered; empty if there is none.
  struct ResolvedMessage {
    transport::TakenSample sample;
    ArrivedHandlePtr
        carried;  ///< its bytes are to be delivered; `sample` is then the same message, if it was in the queue
    explicit operator bool() const { return sample || carried; }
  };
  ResolvedMessage next();
  /// Some handle's message may still come.
  bool waits() const;

  /// For messages that are delivered without a handle: what has to be delivered before `sample`, in its order, and
  /// `sample` itself, unless it was delivered.
  std::vector<transport::TakenSample> without_handle(transport::TakenSample&& sample);

  /// Messages of publishers that are gone, and so are the connections of their processes: no handle comes for these. To
  /// be called again while may_be_left(), from the callback queue, so that handles which wait there come first. Of each publisher as many
  /// as the reader's queue has, since one that only says that it is gone may go on publishing.
  std::vector<transport::TakenSample> left_behind();
  /// A publisher is gone, and left_behind() may still find messages of it.
  bool may_be_left() const;

  /// Whether messages of this process come by handles now.
  bool has(const RoscppPeer& peer);

  HandleCounters counters;

 private:
  struct WriterState {
    Process process;
    std::uint64_t delivered = 0;   // the highest number
    transport::TakenSample early;  // taken before its handle came
    enum class WriterStanding : std::uint8_t { kThere, kGone, kEmpty } standing = WriterStanding::kThere;
    std::optional<Clock::time_point> unlinked;  // no connection can bring handles of it since then
  };
  /// The handles that one link sent of one publisher, or of what it says is one.
  struct HandleSender {
    transport::Gid writer;
    PeerPtr sender;
    boost::weak_ptr<ros::M_string> link;
    std::uint64_t delivered = 0;  // the highest number; of use until the writer is known, and if it is not
    struct WaitingHandle {
      ArrivedHandlePtr handle;
      Clock::time_point since;
    };
    std::deque<WaitingHandle> waiting;
    std::size_t waiting_bytes = 0;  // of their contents
    void remove_first() {
      waiting_bytes -= waiting.front().handle->bytes.size();
      waiting.pop_front();
    }
  };
  /// kMore: it has passed over as many messages as it may, and is to be called again.
  enum class Lookup : std::uint8_t { kMessage, kNotYet, kMore, kGone, kHeld, kRefused };

  bool is_connecting(const transport::Gid& writer) const;
  WriterState* writer_of(HandleSender& source);
  HandleSender& source_of(const ArrivedHandle& handle);
  Lookup find(HandleSender& source, WriterState* writer, std::uint64_t number, transport::TakenSample* sample);
  bool step(HandleSender& source, ResolvedMessage* out);
  void make_room(const RoscppPeer& sender);
  void make_room_for_bytes(const ArrivedHandle& handle);
  void lose_first(HandleSender& source);
  bool has_link(const transport::Gid& writer);
  void count_lost(const HandleSender& source) {
    ++(writers_.count(source.writer) != 0 ? counters.overwritten : counters.refused);
  }

  /// Of one link. A process has so many publishers of a topic at most, also those that have come to their end.
  static constexpr std::size_t kMostSources = 64;
  static constexpr std::size_t kMostWriters = 1024;

 public:
  /// Messages that one look for a handle's message passes over, which are older. A publisher can repeat old ones without end.
  static constexpr int kMostPassed = 256;
  /// Of the contents of the handles of one link that wait, unless one alone has more. Then the oldest of the link are lost.
  static constexpr std::size_t kMostContentBytes = std::size_t{64} << 20;

 private:
  const std::shared_ptr<transport::Reader> reader_;
  const Md5 type_;
  const std::size_t most_waiting_;
  std::map<transport::Gid, WriterState> writers_;  // also some dead ones, whose messages may still be taken
  std::list<HandleSender> sources_;                // those of the older links first
};

}  // namespace baton::ros1::detail
