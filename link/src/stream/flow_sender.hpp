// SPDX-License-Identifier: Apache-2.0
// The flows of this host to one other: which chunk is sent next, and which chunks are under way (the retransmission window). No sockets and no
// threads. Flows take turns, with the same number of bytes each. So a big chunk delays no other flow, and neither does a flow that must wait.
// Thread rules: externally synchronised.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
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

class FlowSender {
 public:
  explicit FlowSender(transport::WaitSet& wait_set) : wait_set_(wait_set) {}
  ~FlowSender();
  FlowSender(const FlowSender&) = delete;
  FlowSender& operator=(const FlowSender&) = delete;

  /// 0: there are kMostFlows.
  std::uint32_t open(const std::string& channel, std::shared_ptr<ChunkSource> source);
  void close(std::uint32_t flow);

  /// A new connection: the next frames are the kOpen of all flows, and kReady. Until ready(), no part is sent.
  void connected();
  void disconnected();
  void ready();

  /// Errors: protocol_violation, numbers that cannot be.
  Result<void> resume(const HostFrame& frame);
  Result<void> acknowledge(const HostFrame& frame);

  /// Adds frames, with parts of up to `bytes`, until they have `bytes` or there is nothing to send now. A source without a chunk is attached to
  /// the wait set.
  void next(std::size_t bytes, std::size_t count, std::vector<OutgoingFrame>& frames);

  /// The other side makes this one open and close flows, by the channels that it wants, and does not read the frames about them.
  bool is_clogged() const noexcept { return control_.size() > kMostControl; }
  bool idle(std::uint32_t flow) const;
  std::uint64_t acknowledged(std::uint32_t flow) const;
  struct Totals {
    std::uint64_t messages = 0, bytes = 0;  ///< acknowledged, ever
    std::size_t waiting_messages = 0, waiting_bytes = 0;
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
  };
  void set_attached(SendFlow& flow, bool attached);
  void add_open(std::uint32_t id, const std::string& channel);
  bool next_of(std::uint32_t id, SendFlow& flow, std::size_t most, std::vector<OutgoingFrame>& frames);

  /// Bytes of one flow under way, beyond one chunk: enough for 10 Gbit/s over 25 ms.
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  /// kOpen, kClose and kReady that are not sent: more than all flows that there may be.
  static constexpr std::size_t kMostControl = 40000;

  transport::WaitSet& wait_set_;
  std::map<std::uint32_t, SendFlow> flows_;
  std::uint32_t last_ = 0;         // id
  std::uint32_t turn_ = 0;         // id of the flow that was served last
  std::uint64_t connections_ = 0;  // ever
  bool connected_ = false, ready_ = false;
  std::vector<OutgoingFrame> control_;  // kOpen, kClose
  Totals totals_;
};

}  // namespace baton::link::stream
