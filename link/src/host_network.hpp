// SPDX-License-Identifier: Apache-2.0
// The other hosts as the rest of the link sees them: flows of chunks from this host to another. A chunk travels as it lies in memory: its
// header (docs/format/chunk.md, section 3) and its message. stream/ implements the interface over TCP; the other files do not know TCP.
// A host stands for one run of another link. A link that is started again, or that has forgotten this host, is another host with another id.
// Thread rules: HostNetwork, Flow and registrations are used by any thread; a ChunkSource and a ChunkReceiver are called by threads of the
// network, one call at a time for each flow.
// Invariants: (1) chunks of a flow arrive once and in order, also over several connections; (2) a chunk that the other host has not
// acknowledged is kept while the host is known; (3) an OutgoingChunk lives until the network no longer needs its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "baton/link/state.hpp"
#include "baton/memory/chunk_header.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/diagnostic.hpp"
#include "baton/transport/transport.hpp"
#include "link_log.hpp"

namespace baton::link {

using transport::Gid;

/// A chunk that is sent. Its bytes must not move or change while it lives.
struct OutgoingChunk {
  OutgoingChunk() = default;
  OutgoingChunk(const OutgoingChunk&) = delete;
  OutgoingChunk& operator=(const OutgoingChunk&) = delete;
  virtual ~OutgoingChunk() = default;
  const std::byte* bytes = nullptr;  ///< the header, and the message behind it
  std::size_t size_bytes = 0;        ///< of both, at least sizeof(ChunkHeader)
};

/// Gives the chunks of one flow.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  enum class NextChunk : std::uint8_t {
    kChunk,
    kNothing,  ///< there is no chunk now
    kHeld,     ///< no chunk before an earlier one is acknowledged
    kMore,     ///< no chunk in this call, which has passed over many messages: other flows have their turn first
  };
  /// The next chunk. Never blocks.
  virtual NextChunk next(std::shared_ptr<const OutgoingChunk>& chunk) = 0;
  /// Adds readers to the wait set that wake it when next() has a chunk. A source whose owner calls Flow::wake() adds none.
  virtual void attach(transport::WaitSet& wait_set) { static_cast<void>(wait_set); }
  virtual void detach(transport::WaitSet& wait_set) { static_cast<void>(wait_set); }
  /// Whether next() would return kNothing.
  virtual bool empty() const = 0;
  /// About how many bytes next() would give until it is empty.
  virtual std::size_t waiting_bytes() const { return 0; }
};

/// A chunk that arrives. The network writes the message into `message`, once. The memory grows with the bytes that have arrived, since the
/// size in the header is only the other host's claim. The thread that reads the flow calls grow() and come(), without the receiver's lock.
struct ArrivingChunk {
  ArrivingChunk() = default;
  ArrivingChunk(const ArrivingChunk&) = delete;
  ArrivingChunk& operator=(const ArrivingChunk&) = delete;
  virtual ~ArrivingChunk() = default;
  /// Makes room for the first `bytes` of the message, which come now; may change `message`. False: there is no room. The message is then
  /// lost, counted and reported.
  virtual bool grow(std::size_t bytes) {
    static_cast<void>(bytes);
    return true;
  }
  /// The message is complete. Checks that take long belong here: deliver() holds a lock for which other hosts wait.
  virtual void come() {}
  memory::ChunkHeader header{};  ///< as the other host sent it: untrusted
  std::byte* message = nullptr;
  std::size_t size_bytes = 0;  ///< of the message
};

/// The receiving end of a channel.
class ChunkReceiver {
 public:
  virtual ~ChunkReceiver() = default;
  /// Memory for a message of `message_bytes` whose header is `header`, with room for its first `come_bytes`, which come now. Null: the message
  /// is refused (the receiver counts it and reports the reason).
  virtual std::unique_ptr<ArrivingChunk> begin(const Gid& host, const memory::ChunkHeader& header,
                                               std::size_t message_bytes, std::size_t come_bytes) = 0;
  /// True: the chunk is finished, delivered or refused. False: the chunk cannot be delivered yet and is offered again soon; later chunks of
  /// the flow wait.
  virtual bool deliver(const Gid& host, ArrivingChunk& arriving) = 0;
};

/// A flow to one host. Its destruction closes the flow and gives up the chunks that the host has not received.
class Flow {
 public:
  virtual ~Flow() = default;
  /// The source has a chunk again.
  virtual void wake() = 0;
  /// The source is empty, and the other host has acknowledged every chunk.
  virtual bool idle() const = 0;
  virtual std::uint64_t sent() const = 0;  ///< chunks acknowledged
  /// gone() was called for its host. The flow sends nothing any more, even if the host has joined again.
  virtual bool ended() const = 0;
};

/// Hosts that come and go. Called by threads of the network; must not block.
class HostListener {
 public:
  virtual ~HostListener() = default;
  /// A host is known: flows to it may be opened.
  virtual void joined(const Gid& host) = 0;
  /// Its connection has broken, or exists again; its flows continue where they stopped.
  virtual void connected(const Gid& host, bool connected) = 0;
  /// The host is forgotten: its flows send nothing any more.
  virtual void gone(const Gid& host) = 0;
};

struct HostNetworkOptions {
  int domain = 0;
  std::vector<std::string> peers;  ///< HOST or HOST:PORT
  std::string interface;           ///< name or address; empty: all
  std::uint16_t port = 0;          ///< on which this host listens; 0: default_port(domain)
  bool multicast = true;           ///< hosts of one network find each other
  std::string security;            ///< folder with the files of Options::security; empty: none
  std::string host_name;
  AbsenceBudget absence;
  /// Flows of the bulk class wait so long for their connection, beside an urgent one: the time of a call over most lines. A big message that
  /// took the urgent one meanwhile would delay small ones.
  std::chrono::milliseconds patience{1000};
  Gid host{};  ///< a random id. That of this host, HostNetwork::id(), begins with other bytes where there is security
  /// Called by any thread, at any rate.
  std::function<void(About, transport::Diagnostic::Level, Errc, std::string)> say;
};

/// The port of a domain, where no other is given.
constexpr std::uint16_t default_port(int domain) noexcept { return static_cast<std::uint16_t>(22700 + domain); }

class HostNetwork {
 public:
  virtual ~HostNetwork() = default;
  /// A flow of `channel` to `host`. Null: the host is not known, or has as many flows as it may have.
  virtual std::unique_ptr<Flow> open_flow(const Gid& host, const std::string& channel,
                                          std::shared_ptr<ChunkSource> source,
                                          TopicPriority priority = TopicPriority::kBySize) = 0;
  /// The receiver is called for the chunks of every host, until the result is destroyed. Error already_exists: the channel has a receiver.
  virtual Result<std::shared_ptr<void>> open_receiver(const std::string& channel,
                                                      std::shared_ptr<ChunkReceiver> receiver) = 0;
  virtual std::vector<HostState> hosts() const = 0;
  virtual std::vector<PeerState> peers() const = 0;
  virtual std::vector<RefusedState> refused() const = 0;
  virtual std::uint16_t port() const = 0;  ///< on which it listens
  virtual Gid id() const = 0;              ///< of this host, as other hosts know it
};

/// `receivers`, by channel: registered before the first connection and until the network ends, so that they miss no chunk. Errors:
/// invalid_argument (an option, named), unsupported (security), already_exists (the port), system.
Result<std::unique_ptr<HostNetwork>> make_host_network(
    const HostNetworkOptions& options, std::shared_ptr<HostListener> listener,
    const std::map<std::string, std::shared_ptr<ChunkReceiver>>& receivers = {});

}  // namespace baton::link
