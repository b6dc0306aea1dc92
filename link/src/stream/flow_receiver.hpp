// SPDX-License-Identifier: Apache-2.0
// The flows of one other host to this one: reassembly of chunks from their parts, delivery, and acknowledgements. No sockets and no threads.
// Every number that comes is checked: the other host is not trusted.
// Thread rules: externally synchronised, by the thread that reads the connection.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frames.hpp"
#include "host_network.hpp"
#include "receiver_table.hpp"

namespace baton::link::stream {

class FlowReceiver {
 public:
  /// Of a message that waits, beside its own bytes.
  static constexpr std::size_t kWaitingMessageBytes = 1024;
  /// Connections of a session that may break before their kReady comes, one after the other: days of them.
  static constexpr std::uint64_t kMostUnready = std::uint64_t{1} << 20;

  /// What has come on one flow.
  struct ReceivedFlow {
    std::shared_ptr<RegisteredReceiver> registered;  ///< null: the channel has no receiver; its chunks are dropped
    std::string channel;
    std::uint64_t come = 0, delivered = 0;    ///< numbers
    bool ack_pending = false;                 ///< `delivered` is to be acknowledged: the flow is in pending_acks_
    bool named = true;                        ///< by a kOpen of this connection
    std::uint32_t total = 0;                  ///< of the chunk that arrives
    std::uint64_t offset = 0;                 ///< 0: none has begun
    std::unique_ptr<ArrivingChunk> arriving;  ///< null: it is dropped
    std::deque<std::unique_ptr<ArrivingChunk>> waiting;
  };

  FlowReceiver(const Gid& host, std::shared_ptr<const ReceiverTable> channels)
      : host_(host), channels_(std::move(channels)) {}
  FlowReceiver(const FlowReceiver&) = delete;
  FlowReceiver& operator=(const FlowReceiver&) = delete;

  /// A new connection: gives a kResume for each flow.
  void connected(std::vector<HostFrame>& frames);
  /// Errors of the rest: protocol_violation. `continued`: of the flow that goes on as this one, from take() of the receiver of its connection.
  Result<void> open(const HostFrame& frame, const std::string& channel,
                    std::optional<ReceivedFlow> continued = std::nullopt);
  bool has(std::uint32_t flow) const { return flows_.count(flow) != 0; }
  /// How far a flow that has() has come.
  HostFrame resume(std::uint32_t flow) const;
  void close(std::uint32_t flow);
  /// Closes a flow, and gives what has come on it. Nothing: there is no such flow.
  std::optional<ReceivedFlow> take(std::uint32_t flow);
  /// Whether somebody receives what comes on this flow.
  bool is_received(std::uint32_t flow) const {
    const auto found = flows_.find(flow);
    return found != flows_.end() && found->second.registered;
  }
  /// The other host has named all its flows over its connection `number`. Errors: system: it has used a later one before, so what comes over
  /// this one is out of date, and is not to be read; protocol_violation: no host has made so many connections.
  Result<void> ready(std::uint64_t number);

  /// A part begins. Its first bytes may be a chunk's header: `header_bytes()` of the part go to header(), the rest to the result of place().
  /// Call place() when the header has come.
  Result<void> begin_part(const HostFrame& frame);
  std::size_t header_bytes() const noexcept { return header_bytes_; }
  memory::ChunkHeader& header() noexcept { return header_; }
  /// Where the rest of the part goes, `place_bytes()` of it. Null: the rest is read and dropped.
  std::byte* place();
  std::size_t place_bytes() const noexcept { return part_.size - header_bytes_; }
  void end_part();

  /// Offers the waiting chunks to their receivers once more. True: some still wait.
  bool offer_again();
  /// The flows with chunks that were delivered since the last call, as kAck.
  void acknowledgements(std::vector<HostFrame>& frames);

  /// Bytes of the chunks that wait for delivery.
  std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }
  std::uint64_t messages() const noexcept { return messages_; }  ///< done with, ever
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  static std::size_t weight(const ArrivingChunk& waiting);
  void count(const ReceivedFlow& flow, bool comes);
  void add_pending_ack(std::uint32_t id, ReceivedFlow& flow);
  bool deliver(ReceivedFlow& flow, ArrivingChunk& arriving);

  const Gid host_;
  const std::shared_ptr<const ReceiverTable> channels_;
  std::map<std::uint32_t, ReceivedFlow> flows_;
  std::vector<std::uint32_t> pending_acks_;
  HostFrame part_;
  ReceivedFlow* flow_ = nullptr;  // of part_; null: a flow that is not known, whose part is dropped
  std::size_t header_bytes_ = 0;
  memory::ChunkHeader header_{};
  std::uint64_t connection_ = 0;  // number of the last one that was ready
  std::size_t waiting_bytes_ = 0;
  std::size_t name_bytes_ = 0;
  std::uint64_t messages_ = 0, bytes_ = 0;
};

}  // namespace baton::link::stream
