// SPDX-License-Identifier: Apache-2.0
// The bytes of a connection between two hosts (docs/format/link.md): hellos, then frames. All numbers are little-endian, except those inside
// chunks, which travel as they lie in memory.
// Thread rules: values, pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link::stream {

using transport::Gid;

/// The version of everything that hosts send to each other: these frames, their advertisements (advertisement.hpp) and the chunks.
inline constexpr std::uint32_t kLinkVersion = 5;

/// Two hosts have a connection for each. The small messages of the urgent one do not wait for the bytes of the other.
enum class TrafficClass : std::uint8_t { kUrgent = 0, kBulk = 1 };

/// Why a side answers a hello with session 0: it refuses the other side.
enum class Refusal : std::uint8_t {
  kNone = 0,         ///< it does not refuse, or gives no reason: the version, the domain, or a host that is this one
  kBusy = 1,         ///< too many connections are being made now
  kFull = 2,         ///< it has as many hosts as it may have
  kFullAddress = 3,  ///< of the other side's address
  kFullNetwork = 4,  ///< of the other side's IPv6 network
  kCertificate = 5,  ///< the other side's certificate is not that of the host with this id
  kNoSession = 6,    ///< the bulk connection of a session that it does not have
};
/// For the log and the status of the side that is refused. Of a number that is none, too.
const char* words_of(Refusal refusal) noexcept;

/// The first bytes that each side sends.
struct HostHello {
  std::uint32_t version = kLinkVersion;
  std::uint32_t domain = 0;
  Gid host{};
  /// Names what the sender remembers of its flows with the other host. Another number means that it begins anew. 0: not known yet. In the caller's
  /// hello of a bulk connection: the key from the other side's kBulk.
  std::uint64_t session = 0;
  std::uint16_t port = 0;                              ///< on which the sender listens
  TrafficClass traffic_class = TrafficClass::kUrgent;  ///< of this connection
  Refusal refusal = Refusal::kNone;
  std::string name;  ///< at most kMaxHelloName bytes travel
};
inline constexpr std::size_t kHelloBytes = 128;
inline constexpr std::size_t kMaxHelloName = 80;

std::array<std::byte, kHelloBytes> encode(const HostHello& hello);
/// Error protocol_violation: it is no hello. One of another version is read as far as all versions agree: `version`.
Result<HostHello> decode_hello(const std::byte* bytes);

enum class FrameKind : std::uint8_t {
  kResume =
      1,  ///< of a flow that the sender receives: chunk `number` has come in full, and `offset` bytes of the next one
  kOpen =
      2,  ///< the sender's flow `flow` carries the channel whose name follows. `number`: the flow of the bulk connection
          ///< that goes on as this one; 0: none
  kReady =
      3,  ///< all kResume and kOpen of this connection have been sent; a flow that no kOpen named is closed. `number`: of
          ///< the connection, among those that the sender has used for this session
  kClose = 4,  ///< the sender's flow `flow` ends
  kPart = 5,   ///< `size` bytes of chunk `number` of `total` bytes, from `offset` on
  kAck = 6,    ///< of a flow that the sender receives: the chunks up to `number` are delivered
  kAlive = 7,  ///< nothing; sent when there is nothing else to send
  kBulk =
      8,  ///< the sender has bulk flows, and asks the other side to make the connection for them. `number`: the key that the
          ///< caller's hello then has, known only to those that read the urgent connection; never 0
};
struct HostFrame {
  FrameKind kind = FrameKind::kAlive;
  std::uint32_t flow = 0;
  std::uint64_t number = 0;  ///< of a chunk; a flow's first has 1
  std::uint64_t offset = 0;
  std::uint32_t size = 0;   ///< bytes behind the frame
  std::uint32_t total = 0;  ///< of the chunk
};
inline constexpr std::size_t kFrameBytes = 32;
/// The greatest size of a part: chunks of other flows wait for one part at most.
inline constexpr std::size_t kPartBytes = std::size_t{256} << 10;
inline constexpr std::size_t kMaxChannelBytes = 1100;
/// Chunks of a flow that were sent and are not acknowledged.
inline constexpr std::size_t kMostUnderWay = 256;
inline constexpr std::size_t kMostFlows = 16384;  ///< of a host
/// Of the names of their channels: more than those of all channels that a host advertises as wanted.
inline constexpr std::size_t kMostFlowNameBytes = std::size_t{4} << 20;

std::array<std::byte, kFrameBytes> encode(const HostFrame& frame);
/// Error protocol_violation: a kind that is none, or numbers that no frame of this kind has.
Result<HostFrame> decode_frame(const std::byte* bytes);

}  // namespace baton::link::stream
