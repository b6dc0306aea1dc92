// SPDX-License-Identifier: Apache-2.0
// The network as the rest of the link sees it: channels, on which chunks travel between hosts. A chunk travels as it lies: its
// header (docs/format/chunk.md, section 3) and its message. What makes the network is in cyclone.cpp, the only file that knows it.
// Thread rules: Engine, Outlet and the destruction of a receiver are used by threads of the link, one call at a time for each object; an
// Receiver is called by threads of the engine, one call at a time. No call of an Outlet may be made by a thread of the engine.
// Invariants: (1) a chunk of one publisher overtakes no other of the same publisher; (2) what this host sends does not come back to it;
// (3) an Outgoing lives until the engine needs its bytes no more, also after its outlet's end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baton/memory/chunk_header.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/diagnostic.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link {

using transport::Gid;

/// A chunk that is sent. Its bytes must not move or change while it lives.
struct Outgoing {
  Outgoing() = default;
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  virtual ~Outgoing() = default;
  const std::byte* bytes = nullptr;  ///< the header, and the message behind it
  std::size_t size_bytes = 0;        ///< of both
  Gid publisher{};                   ///< chunks of one publisher are a history of their own
};

/// A chunk that arrives. The engine writes the message into `message`, once. Destroyed before Receiver::deliver(): it is given up.
struct Arriving {
  Arriving() = default;
  Arriving(const Arriving&) = delete;
  Arriving& operator=(const Arriving&) = delete;
  virtual ~Arriving() = default;
  memory::ChunkHeader header{};  ///< as it came: untrusted
  std::byte* message = nullptr;
  std::size_t size_bytes = 0;  ///< of the message, at most `arriving_bytes`
};

/// The receiving end of a channel.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// A place for a message whose header is `header`; behind it came `arriving_bytes`, up to 3 of which are padding. Null: it is refused
  /// (the receiver counts it and says why).
  virtual std::unique_ptr<Arriving> begin(const memory::ChunkHeader& header, std::size_t arriving_bytes) = 0;
  virtual void deliver(std::unique_ptr<Arriving> arriving) = 0;
  /// The last host that had chunks of this publisher has left the channel.
  virtual void gone(const Gid& publisher) { static_cast<void>(publisher); }
};

/// The sending end of a channel. Its destruction takes back what no host has got yet.
class Outlet {
 public:
  virtual ~Outlet() = default;
  /// May block while the line is slow or down, at most for some seconds: never called by a thread that others wait for. Errors:
  /// timed_out (the line does not take it: the chunk is lost), system.
  virtual Result<void> write(std::shared_ptr<const Outgoing> chunk) = 0;
  /// The hosts that have a receiver of this channel and are connected to this outlet.
  virtual std::size_t matched() const = 0;
};

/// How a channel keeps and repeats chunks. Both ends of a channel have the same.
struct ChannelQos {
  bool reliable = true;
  bool transient_local = false;
  std::uint32_t depth = 1;  ///< of each publisher: chunks kept for hosts that join late or have not got them yet
  bool keep_all = false;    ///< nothing is overwritten; the link counts what is under way
};

struct EngineOptions {
  int domain = 0;
  std::vector<std::string> peers;  ///< HOST or HOST:PORT
  std::string interface;           ///< name or address; empty: the engine's choice
  std::uint16_t port = 0;          ///< on which this host listens; 0: default_port(domain)
  /// Called by any thread, at any rate.
  std::function<void(transport::Diagnostic::Level, std::string)> say;
};

/// The port of a domain, where no other is given.
constexpr std::uint16_t default_port(int domain) noexcept { return static_cast<std::uint16_t>(22700 + domain); }

class Engine {
 public:
  virtual ~Engine() = default;
  virtual Result<std::unique_ptr<Outlet>> open_outlet(const std::string& channel, const ChannelQos& qos) = 0;
  /// The receiver is called until the result is destroyed.
  virtual Result<std::shared_ptr<void>> open_receiver(const std::string& channel, const ChannelQos& qos,
                                                      std::shared_ptr<Receiver> receiver) = 0;
  /// Called by a thread of the engine when Outlet::matched() of some outlet may have changed. Set before the first outlet.
  virtual void on_change(std::function<void()> callback) = 0;
};

/// Errors: invalid_argument (an option, named), already_exists (the port), system.
Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options);

}  // namespace baton::link
