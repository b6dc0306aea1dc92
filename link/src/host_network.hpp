// SPDX-License-Identifier: Apache-2.0
// The other hosts as the rest of the link sees them: flows of chunks from this host to another. A chunk travels as it lies: its header
// (docs/format/chunk.md, section 3) and its message. stream/ makes the network; no other file knows it.
// A host is what one link says of itself, from its start or the loss of its memory of this host to its end: a link that is started
// again is another host, with an id of its own.
// Thread rules: HostNetwork, Flow and registrations are used by any thread; a ChunkSource and a ChunkReceiver are called by threads of the
// network, one call at a time for each flow.
// Invariants: (1) chunks of a flow arrive once and in order, also over several connections; (2) what is not acknowledged by the far
// receiver is not given up while the host is known; (3) an OutgoingChunk lives until the network needs its bytes no more.
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
    kNothing,  ///< now
    kHeld,     ///< nothing before a chunk is acknowledged
    kMore,     ///< nothing yet: so much was passed over that others have their turn first
  };
  /// The next chunk. Never blocks.
  virtual NextChunk next(std::shared_ptr<const OutgoingChunk>& chunk) = 0;
  /// Adds to the wait set what wakes it when next() has a chunk. Nothing, where Flow::wake() is called instead.
  virtual void attach(transport::WaitSet& wait_set) { static_cast<void>(wait_set); }
  virtual void detach(transport::WaitSet& wait_set) { static_cast<void>(wait_set); }
  /// Whether next() would have nothing.
  virtual bool empty() const = 0;
};

/// A chunk that arrives. The network writes the message into `message`, once. Its memory follows what has come, since its size is the other
/// host's word. grow() and come() are called without the lock of the receiver, by the thread that reads the flow.
struct ArrivingChunk {
  ArrivingChunk() = default;
  ArrivingChunk(const ArrivingChunk&) = delete;
  ArrivingChunk& operator=(const ArrivingChunk&) = delete;
  virtual ~ArrivingChunk() = default;
  /// Makes room for the first `bytes` of the message, which come now; `message` may be another one then. False: there is none. The message is
  /// lost, which has been counted and said.
  virtual bool grow(std::size_t bytes) {
    static_cast<void>(bytes);
    return true;
  }
  /// The message is whole. What takes long is done now: deliver() is called with a lock that other hosts wait for.
  virtual void come() {}
  memory::ChunkHeader header{};  ///< as it came: untrusted
  std::byte* message = nullptr;
  std::size_t size_bytes = 0;  ///< of the message
};

/// The receiving end of a channel.
class ChunkReceiver {
 public:
  virtual ~ChunkReceiver() = default;
  /// A place for a message of `message_bytes` whose header is `header`, with room for its first `come_bytes`, which come now. Null: it is
  /// refused (the receiver counts it and says why).
  virtual std::unique_ptr<ArrivingChunk> begin(const Gid& host, const memory::ChunkHeader& header,
                                               std::size_t message_bytes, std::size_t come_bytes) = 0;
  /// True: it is done with, delivered or not. False: it cannot be delivered yet, and is offered again soon; later chunks of the flow wait.
  virtual bool deliver(const Gid& host, ArrivingChunk& arriving) = 0;
};

/// A flow to one host. Its destruction closes it: what the host has not got is given up.
class Flow {
 public:
  virtual ~Flow() = default;
  /// The source has something.
  virtual void wake() = 0;
  /// Nothing is in the source, and the far receiver has got everything.
  virtual bool idle() const = 0;
  virtual std::uint64_t sent() const = 0;  ///< chunks acknowledged
  /// Its host was gone() once: it carries nothing any more, also if the host has joined again.
  virtual bool ended() const = 0;
};

/// What the other hosts do, by threads of the network. Must not block.
class HostListener {
 public:
  virtual ~HostListener() = default;
  /// A host is known: flows to it may be opened.
  virtual void joined(const Gid& host) = 0;
  /// Its connection has broken, or is there again; its flows go on where they were.
  virtual void connected(const Gid& host, bool connected) = 0;
  /// It is known no more: its flows are useless.
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
  Gid host{};  ///< this host's id
  /// Called by any thread, at any rate.
  std::function<void(About, transport::Diagnostic::Level, Errc, std::string)> say;
};

/// The port of a domain, where no other is given.
constexpr std::uint16_t default_port(int domain) noexcept { return static_cast<std::uint16_t>(22700 + domain); }

class HostNetwork {
 public:
  virtual ~HostNetwork() = default;
  /// A flow of `channel` to `host`. Null: the host is not known (any
  /// more), or has as many flows as it may have.
  virtual std::unique_ptr<Flow> open_flow(const Gid& host, const std::string& channel,
                                          std::shared_ptr<ChunkSource> source) = 0;
  /// The receiver is called until the result is destroyed, for the chunks of every host. Error already_exists: the channel has one.
  virtual Result<std::shared_ptr<void>> open_receiver(const std::string& channel,
                                                      std::shared_ptr<ChunkReceiver> receiver) = 0;
  virtual std::vector<HostState> hosts() const = 0;
  virtual std::vector<PeerState> peers() const = 0;
  virtual std::vector<RefusedState> refused() const = 0;
  virtual std::uint16_t port() const = 0;  ///< on which it listens
};

/// `receivers`, by channel: those that must miss nothing. They are there before the first connection, as long as the network. Errors:
/// invalid_argument (an option, named), unsupported (security), already_exists (the port), system.
Result<std::unique_ptr<HostNetwork>> make_host_network(
    const HostNetworkOptions& options, std::shared_ptr<HostListener> listener,
    const std::map<std::string, std::shared_ptr<ChunkReceiver>>& receivers = {});

}  // namespace baton::link
