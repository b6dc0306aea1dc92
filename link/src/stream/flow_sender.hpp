// SPDX-License-Identifier: Apache-2.0
// The flows of this host to one other: which chunk is sent next, and which chunks are under way (the retransmission window). No sockets and no
// threads. Flows take turns, with the same number of bytes each. So a big chunk delays no other flow, and neither does a flow that must wait.
// Two hosts have one sender for each class of traffic. A flow that has a chunk of the other class leaves with that chunk, once all chunks before
// are acknowledged: so the order of its chunks is kept. The flows of a bulk connection that is lost go on over the urgent one with the chunks
// that are not acknowledged, once the other side has said how far each has come.
// Thread rules: externally synchronised.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frames.hpp"
#include "host_network.hpp"

namespace baton::link::stream {

/// A frame to send, and the bytes that follow it.
struct OutgoingFrame {
  HostFrame frame;
  std::string name;                            // of a kOpen
  std::shared_ptr<const OutgoingChunk> chunk;  // of a kPart
};

/// A flow that changes its class.
struct MovingFlow {
  std::uint32_t id = 0;  ///< until now
  std::string channel;
  std::shared_ptr<ChunkSource> source;
  std::optional<TrafficClass> fixed;
  std::deque<std::shared_ptr<const OutgoingChunk>> chunks;  ///< not acknowledged
  std::uint64_t acknowledged = 0;                           ///< chunks before
  bool continues = false;                                   ///< the other side may have some of the chunks
};

class FlowSender {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// The bulk class has the flows with chunks above this size, or with more bytes in a second.
  static constexpr std::size_t kMostUrgentBytes = std::size_t{16} << 10;
  static constexpr std::size_t kMostUrgentRate = std::size_t{1} << 20;
  /// A flow of the bulk class that had no reason to be there for so long becomes urgent.
  static constexpr std::chrono::seconds kCalm{10};

  FlowSender(transport::WaitSet& wait_set, TrafficClass traffic_class) : wait_set_(wait_set), class_(traffic_class) {}
  ~FlowSender();
  FlowSender(const FlowSender&) = delete;
  FlowSender& operator=(const FlowSender&) = delete;

  /// 0: there are kMostFlows. `fixed`: the flow's class, whatever its chunks are.
  std::uint32_t open(const std::string& channel, std::shared_ptr<ChunkSource> source,
                     std::optional<TrafficClass> fixed = std::nullopt);
  /// A flow that has left the sender of the other class. One that continues keeps the numbers of its chunks.
  std::uint32_t adopt(MovingFlow flow, TimePoint now);
  /// Whether take_leaving() has a flow.
  bool has_leaving() const noexcept { return !leaving_.empty(); }
  /// The flows that leave; they are closed in this sender.
  std::vector<MovingFlow> take_leaving();
  /// All flows, to continue in the other sender; they are closed here without a kClose. REQUIRES: disconnected.
  std::vector<MovingFlow> take_all();
  /// Whether flows may leave for the other class. If not, their chunks of that class are sent here, too.
  void let_leave(bool may) noexcept { may_leave_ = may; }
  /// No flow waits for the other side to say how far it has come.
  bool is_settled() const;
  void close(std::uint32_t flow);

  /// A new connection: the next frames are the kOpen of all flows, and kReady. Until ready(), no part is sent.
  void connected();
  void disconnected();
  void ready();
  bool is_ready() const noexcept { return ready_; }  ///< the other side has said it over this connection

  /// Errors: protocol_violation, numbers that cannot be.
  Result<void> resume(const HostFrame& frame);
  Result<void> acknowledge(const HostFrame& frame);

  /// Adds frames, with parts of up to `bytes`, until they have `bytes` or there is nothing to send now. A source without a chunk is attached to
  /// the wait set.
  void next(std::size_t bytes, std::size_t count, TimePoint now, std::vector<OutgoingFrame>& frames);

  /// The other side makes this one open and close flows, by the channels that it wants, and does not read the frames about them.
  bool is_clogged() const noexcept { return control_.size() > kMostControl; }
  std::size_t flows() const noexcept { return flows_.size(); }
  bool idle(std::uint32_t flow) const;
  std::uint64_t acknowledged(std::uint32_t flow) const;
  struct Totals {
    std::uint64_t messages = 0, bytes = 0;  ///< acknowledged, ever
    std::size_t waiting_messages = 0, waiting_bytes = 0;
    std::size_t queued_bytes = 0;  ///< about, in the sources
  };
  Totals totals() const;

 private:
  struct UnacknowledgedChunk {
    std::shared_ptr<const OutgoingChunk> outgoing;
    std::size_t sent = 0;  ///< bytes, over this connection or one before
  };
  struct SendFlow {
    std::string channel;
    std::shared_ptr<ChunkSource> source;
    std::uint64_t first = 1;                 ///< number of chunks.front()
    std::deque<UnacknowledgedChunk> chunks;  ///< not acknowledged
    std::size_t bytes = 0;                   ///< of chunks
    std::size_t at = 0;                      ///< in chunks: the first that is not sent in full
    bool attached = false;                   ///< its source is in the wait set
    std::optional<TrafficClass> fixed;
    std::uint32_t continues = 0;  ///< the flow of the other sender that this one was, until the first kResume; 0: none
    std::shared_ptr<const OutgoingChunk> next;  ///< with which the flow leaves; null: it does not
    TimePoint second;                           ///< when the present second began
    std::size_t bytes_of_second = 0;
    TimePoint bulky;  ///< when the flow had the last reason to be of the bulk class
  };
  void set_attached(SendFlow& flow, bool attached);
  void add_open(std::uint32_t id, const SendFlow& flow);
  bool leaves(SendFlow& flow, std::size_t chunk_bytes, TimePoint now) const;
  bool next_of(std::uint32_t id, SendFlow& flow, std::size_t most, TimePoint now, std::vector<OutgoingFrame>& frames);

  /// Bytes of one flow under way, beyond one chunk: enough for 10 Gbit/s over 25 ms.
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  /// kOpen, kClose and kReady that are not sent: more than all flows that there may be.
  static constexpr std::size_t kMostControl = 40000;

  transport::WaitSet& wait_set_;
  const TrafficClass class_;
  std::map<std::uint32_t, SendFlow> flows_;
  std::uint32_t last_ = 0;         // id
  std::uint32_t turn_ = 0;         // id of the flow that was served last
  std::uint64_t connections_ = 0;  // ever
  bool connected_ = false, ready_ = false, may_leave_ = true;
  std::vector<OutgoingFrame> control_;  // kOpen, kClose
  std::vector<std::uint32_t> leaving_;  // ids; closed ones among them
  Totals totals_;
};

}  // namespace baton::link::stream
