// SPDX-License-Identifier: Apache-2.0
// The frames that endpoints exchange over the hub's sockets. Byte tables and rules: docs/format/connection.md
// (normative).
// Thread rules: values. Every decoder treats its bytes as untrusted: absurd counts and sizes, unknown enumerators and
// left-over bytes are Errc::protocol_violation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/transport/qos.hpp"
#include "baton/transport/transport.hpp"
#include "hub.hpp"

namespace baton::transport {

enum class FrameType : std::uint16_t {
  kAnnounce = kFirstUserFrame,
  kWithdraw,  // an endpoint is gone; its connections are orphaned
  kNodeUp,
  kNodeDown,
  kAttach,             // reader -> writer, with the connection segment
  kAttached,           // writer -> reader, with event page and ring
  kRefused,            // writer -> reader, instead of kAttached
  kSegment,            // writer -> reader, with a data segment
  kRetired,            // writer -> reader: no process holds a chunk of that segment any more
  kDetach,             // reader -> writer: nothing is queued any more, held samples stay
  kClosed,             // writer -> reader: the connection ended through the reader's fault
  kDefinitionRequest,  // asks for the definition of a type whose hash differs
  kDefinition,
  kWakeSocket,       // reader -> writer, with a wake socket
  kAccount,          // memory account of the process
  kHoldingsRequest,  // asks which subscriptions hold which messages of your writers
  kHoldings,         // the answer: frames for each writer, then an empty one
  kLosses,           // what your readers lost: before that empty one
  kCall,             // writer -> reader that rests: attach, there are messages
  kRest,             // writer -> reader: the connection ends, since nothing was published; the pair still matches
};

// Bounds on a peer's announcements; a peer that exceeds them is broken or hostile.
inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxDefinitionBytes = 200 * 1024;
inline constexpr std::uint32_t kMaxDepth = 65536;
inline constexpr std::uint32_t kMaxHeld = 65536;
inline constexpr std::uint32_t kMaxHoldings = 32;  // per frame
inline constexpr std::size_t kMaxReasonBytes = 400;
inline constexpr std::uint32_t kMaxLosses = 256;          // per frame
inline constexpr std::size_t kMaxLossesAnswered = 4096;   // of one process, to one question
inline constexpr std::size_t kMaxAnswers = 65536;         // rows that one question gathers
inline constexpr std::size_t kMaxAnswersPerPeer = 16384;  // and those of one process

inline constexpr std::uint8_t kNewestRosHash = 1;  // RIHS01

using TypeHash = std::array<std::uint8_t, 16>;

struct AnnounceFrame {
  Gid gid{};
  bool is_writer = false;
  bool seldom = false;  ///< of a writer: its readers attach when they are called
  std::string topic, node, type_name;
  TypeHash type_hash{};
  std::uint32_t skeleton_bytes = 0;
  QoS qos;
  RosTypeHash ros_type_hash{};
};
struct NodeName {  // kNodeUp, kNodeDown
  std::string name, enclave;

  bool operator<(const NodeName& other) const noexcept {
    return name != other.name ? name < other.name : enclave < other.enclave;
  }
};
struct PairFrame {  // kDetach, kCall, kRest; the first part of the others
  Gid writer{}, reader{};
};
struct AttachFrame : PairFrame {  // + connection segment
  std::uint64_t connection_bytes = 0;
};
struct AttachedFrame : PairFrame {  // + event page, ring
  std::uint32_t event_offset = 0;   // of the writer's control line in the event page
  std::uint32_t ring_capacity = 0;  // slots, a power of two
  std::uint64_t ring_bytes = 0;
  std::uint32_t held = 0;            // granted, 1..requested
  std::uint64_t first_sequence = 0;  // the first message that this connection may carry
};
struct RefusedFrame : PairFrame {  // also kClosed
  Errc code = Errc::system;
  std::string text;
};
struct SegmentFrame {  // + data segment; kRetired: size_bytes 0, no descriptor
  Gid writer{};
  std::uint32_t index = 0;
  std::uint64_t size_bytes = 0;
};
struct DefinitionFrame {  // request: text empty
  Gid endpoint{};
  std::string text;
};
struct HoldingsFrame {  // no holdings and a zero writer: the end of the answer
  std::uint64_t question = 0;
  Gid writer{};
  std::vector<Holding> holdings;
};
struct LossesFrame {
  std::uint64_t question = 0;
  std::vector<std::pair<Gid, Losses>> losses;  // by reader
};
struct AccountFrame {
  std::uint64_t backed_bytes = 0, limit_bytes = 0;
};

using Payload = std::vector<std::uint8_t>;
Payload encode(const AnnounceFrame& frame);
/// A frame may have as many, one behind the other: each as encode() makes it.
inline constexpr std::size_t kMostAnnouncements = 64;
Payload encode(const PairFrame& frame);
Payload encode(const AttachFrame& frame);
Payload encode(const AttachedFrame& frame);
Payload encode(const RefusedFrame& frame);
Payload encode(const SegmentFrame& frame);
Payload encode(const DefinitionFrame& frame);
Payload encode(const AccountFrame& frame);
Payload encode(const HoldingsFrame& frame);
Payload encode(const LossesFrame& frame);
Payload encode_question(std::uint64_t question);
Payload encode_gid(const Gid& gid);
Payload encode(const NodeName& node);

/// One to kMostAnnouncements.
Result<std::vector<AnnounceFrame>> decode_announcements(const Payload& bytes);
Result<PairFrame> decode_pair(const Payload& bytes);
Result<AttachFrame> decode_attach(const Payload& bytes);
Result<AttachedFrame> decode_attached(const Payload& bytes);
Result<RefusedFrame> decode_refused(const Payload& bytes);
Result<SegmentFrame> decode_segment(const Payload& bytes);
Result<DefinitionFrame> decode_definition(const Payload& bytes);
Result<AccountFrame> decode_account(const Payload& bytes);
Result<HoldingsFrame> decode_holdings(const Payload& bytes);
Result<LossesFrame> decode_losses(const Payload& bytes);
Result<std::uint64_t> decode_question(const Payload& bytes);
Result<Gid> decode_gid(const Payload& bytes);
Result<NodeName> decode_node(const Payload& bytes);

}  // namespace baton::transport
