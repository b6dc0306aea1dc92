// SPDX-License-Identifier: Apache-2.0
// The protocol of one connection between two processes, without sockets, clocks or threads: packets in, steps out. The
// hub drives it with real sockets, the fuzzer and the tests with bytes. Normative description:
// docs/format/handshake.md.
// Thread rules: values; one thread at a time.
//
// Invariants
// 1. Only HELLO, BYE and GONE are accepted before HELLO; a second HELLO is an error, and a GONE after it.
// 2. A frame under reassembly never exceeds kMaxPayloadBytes and kMaxFrameFds.
// 3. After a step of kind kViolation, kVersion, kGone or kBye the machine accepts nothing more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"
#include "hub.hpp"
#include "parking.hpp"

namespace baton::transport {

inline constexpr std::uint16_t kProtocolVersion = 6;
inline constexpr std::uint16_t kHelloFrame = 1;
inline constexpr std::uint16_t kByeFrame = 2;
inline constexpr std::uint16_t kParkFrame =
    3;  ///< "may we park this link?", with the frames that the sender has received
inline constexpr std::uint16_t kKeepFrame = 4;  ///< no
inline constexpr std::uint16_t kGoneFrame = 5;  ///< instead of HELLO: ids of processes that are dead or have left

inline constexpr std::size_t kPacketHeaderBytes = 8;
inline constexpr std::size_t kMaxPacketPayloadBytes = 32 * 1024;
inline constexpr std::size_t kMaxPacketBytes = kPacketHeaderBytes + kMaxPacketPayloadBytes;
inline constexpr std::uint8_t kMoreFollows = 1;
inline constexpr std::size_t kMaxProcessNameBytes = 255;
inline constexpr std::size_t kMaxByeTextBytes = 1024;
inline constexpr std::size_t kMaxGone = 1024;  ///< processes in one GONE

struct PacketHeader {
  std::uint16_t type = 0;
  std::uint8_t flags = 0;
  std::uint8_t fd_count = 0;
  std::uint32_t payload_bytes = 0;
};
std::array<std::uint8_t, kPacketHeaderBytes> encode_header(const PacketHeader& header);

struct Hello {
  std::uint16_t version = kProtocolVersion;
  std::int32_t pid = 0;
  ProcessId process_id{};
  std::string name;
  FrameCounts counts;  ///< with the process that it is for; zero: not met
};
/// Header and payload in one.
std::vector<std::uint8_t> encode_hello(const Hello& hello);

/// The reason why a connection ends, as sent in BYE.
enum class Bye : std::uint16_t {
  kLeaving = 1,        ///< the process ends its hub
  kDuplicate = 2,      ///< another connection of the same two processes survives
  kVersion = 3,        ///< final: the versions differ
  kViolation = 4,      ///< final: the receiver of this BYE broke the protocol
  kStalled = 5,        ///< the receiver of this BYE did not read for too long
  kTimeout = 6,        ///< no HELLO in time
  kNoDescriptors = 7,  ///< the sender of this BYE has none left
  kParked = 8,         ///< the sender agrees to PARK: both keep what they know
};
/// After these the two processes do not try again.
constexpr bool is_final(Bye reason) { return reason == Bye::kVersion || reason == Bye::kViolation; }
std::vector<std::uint8_t> encode_bye(Bye reason, const std::string& text);
/// REQUIRES: 1 to kMaxGone.
std::vector<std::uint8_t> encode_gone(const std::vector<ProcessId>& processes);

/// Of two processes that read the names of each other, one connects at once: the one whose name is younger, since the other may have read the
/// directory before that name was there; of two names of the same tick, the one with the smaller id. Times as os::socket_changed_ns().
bool connects_first(const ProcessId& self, std::int64_t named_ns, const ProcessId& peer, std::int64_t peer_named_ns);
/// Decides which of two connections between the same two processes stays. `mine_reached_them`: this process's own
/// connect() has succeeded (a connect that must be tried again does not count: the other side cannot know of it).
enum class Arrival : std::uint8_t { kAccept, kAcceptInsteadOfMine, kRefuse };
Arrival judge_arrival(const ProcessId& self, const ProcessId& peer, bool up_already, bool mine_reached_them);

class LinkMachine {
 public:
  struct Step {
    enum class Kind : std::uint8_t {
      kNothing,
      kHello,
      kFrame,
      kBye,
      kPark,
      kKeep,
      kGone,
      kVersion,
      kViolation
    } kind = Kind::kNothing;
    Frame frame;                       ///< kFrame
    Error error{};                     ///< kBye, kVersion, kViolation: for the user
    Bye bye{};                         ///< kBye: the peer's reason
    std::uint64_t received = 0;        ///< kPark
    std::vector<ProcessId> processes;  ///< kGone
  };

  /// Handles one received packet. `fds` are always consumed.
  Step on_packet(const std::uint8_t* data, std::size_t size, std::vector<os::ReceivedFd> fds);
  /// The peer's HELLO; meaningful after kHello or kVersion.
  const Hello& peer() const { return peer_; }
  bool has_hello() const { return state_ == State::kOpen; }

 private:
  enum class State : std::uint8_t { kAwaitHello, kOpen, kEnded };
  Step violation(std::string text);
  Step on_hello(const std::uint8_t* payload, std::size_t size);
  Step on_bye(const std::uint8_t* payload, std::size_t size);
  Step on_park(const std::uint8_t* payload, std::size_t size, bool keep);
  Step on_gone(const std::uint8_t* payload, std::size_t size);

  State state_ = State::kAwaitHello;
  Hello peer_;
  bool partial_ = false;
  Frame frame_;
};

}  // namespace baton::transport
