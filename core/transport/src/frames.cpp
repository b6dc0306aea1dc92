// SPDX-License-Identifier: Apache-2.0
#include "frames.hpp"

#include "baton/os/printable.hpp"
#include "wire.hpp"

namespace baton::transport {
namespace {

Error bad(const char* frame) { return {Errc::protocol_violation, std::string("malformed ") + frame + " frame"}; }

using os::printable;  // text of another process appears in logs and on terminals

WireWriter& put_pair(WireWriter& out, const PairFrame& frame) { return out.put(frame.writer).put(frame.reader); }

void get_pair(WireReader& in, PairFrame& frame) {
  frame.writer = in.get_array<16>();
  frame.reader = in.get_array<16>();
}

void put_qos(WireWriter& out, const QoS& qos) {
  // Every policy by name: the compiler refuses this line when QoS has one more.
  const auto& [reliability, history, depth, durability, deadline, lifespan, liveliness, lease, held] = qos;
  out.put(static_cast<std::uint8_t>(reliability)).put(static_cast<std::uint8_t>(history));
  out.put(static_cast<std::uint8_t>(durability)).put(static_cast<std::uint8_t>(liveliness));
  out.put(depth).put(held);
  for (const auto duration : {deadline, lifespan, lease}) out.put(std::int64_t{duration.count()});
}

QoS get_qos(WireReader& in) {
  QoS qos;
  const auto flag = [&in] {
    const auto byte = in.get<std::uint8_t>();
    if (byte > 1) in.fail();
    return byte;
  };
  qos.reliability = static_cast<Reliability>(flag());
  qos.history = static_cast<History>(flag());
  qos.durability = static_cast<Durability>(flag());
  qos.liveliness = static_cast<Liveliness>(flag());
  qos.depth = in.get<std::uint32_t>();
  qos.held = in.get<std::uint32_t>();
  if (qos.depth == 0 || qos.depth > kMaxDepth || qos.held == 0 || qos.held > kMaxHeld) in.fail();
  for (os::Nanoseconds* duration : {&qos.deadline, &qos.lifespan, &qos.lease}) {
    *duration = std::chrono::nanoseconds(in.get<std::int64_t>());
    if (duration->count() < 0) in.fail();
  }
  return qos;
}

AnnounceFrame get_announcement(WireReader& in) {
  AnnounceFrame frame;
  frame.gid = in.get_array<16>();
  const auto kind = in.get<std::uint8_t>();
  if (kind > 2) in.fail();
  frame.is_writer = kind != 0;
  frame.seldom = kind == 2;
  frame.topic = printable(in.get_string(kMaxNameBytes));
  frame.node = printable(in.get_string(kMaxNameBytes));
  frame.type_name = printable(in.get_string(kMaxNameBytes));
  frame.type_hash = in.get_array<16>();
  frame.skeleton_bytes = in.get<std::uint32_t>();
  frame.qos = get_qos(in);
  frame.ros_type_hash.version = in.get<std::uint8_t>();
  if (frame.ros_type_hash.version > kNewestRosHash) in.fail();
  if (frame.ros_type_hash.version != 0) frame.ros_type_hash.value = in.get_array<32>();
  if (frame.topic.empty() || frame.skeleton_bytes > memory::kMaxMessageBytes) in.fail();
  return frame;
}

}  // namespace

Payload encode(const AnnounceFrame& frame) {
  WireWriter out;
  out.put(frame.gid)
      .put(static_cast<std::uint8_t>(frame.is_writer ? 1 + frame.seldom : 0))
      .put_string(frame.topic)
      .put_string(frame.node)
      .put_string(frame.type_name);
  out.put(frame.type_hash).put(frame.skeleton_bytes);
  put_qos(out, frame.qos);
  out.put(frame.ros_type_hash.version);
  if (frame.ros_type_hash.version != 0) out.put(frame.ros_type_hash.value);
  return std::move(out).take();
}

// Names, and what has a fixed size.
static_assert(kMostAnnouncements * (3 * kMaxNameBytes + 160) <= kMaxPayloadBytes);

Result<std::vector<AnnounceFrame>> decode_announcements(const Payload& bytes) {
  WireReader in(bytes);
  std::vector<AnnounceFrame> out;
  constexpr std::size_t kShortAnnouncement = 160;  // a guess, so that frames are seldom moved
  out.reserve(std::min(kMostAnnouncements, 1 + bytes.size() / kShortAnnouncement));
  do {
    out.push_back(get_announcement(in));
    if (!in.ok() || out.size() > kMostAnnouncements) return bad("ANNOUNCE");
  } while (!in.done());
  return out;
}

Payload encode(const PairFrame& frame) {
  WireWriter out;
  put_pair(out, frame);
  return std::move(out).take();
}

Result<PairFrame> decode_pair(const Payload& bytes) {
  WireReader in(bytes);
  PairFrame frame;
  get_pair(in, frame);
  if (!in.done()) return bad("DETACH, WAKE_SOCKET, CALL or REST");
  return frame;
}

Payload encode(const AttachFrame& frame) {
  WireWriter out;
  put_pair(out, frame).put(frame.connection_bytes);
  return std::move(out).take();
}

Result<AttachFrame> decode_attach(const Payload& bytes) {
  WireReader in(bytes);
  AttachFrame frame;
  get_pair(in, frame);
  frame.connection_bytes = in.get<std::uint64_t>();
  if (!in.done()) return bad("ATTACH");
  return frame;
}

Payload encode(const AttachedFrame& frame) {
  WireWriter out;
  put_pair(out, frame).put(frame.event_offset).put(frame.ring_capacity).put(frame.ring_bytes).put(frame.held);
  out.put(frame.first_sequence);
  return std::move(out).take();
}

Result<AttachedFrame> decode_attached(const Payload& bytes) {
  WireReader in(bytes);
  AttachedFrame frame;
  get_pair(in, frame);
  frame.event_offset = in.get<std::uint32_t>();
  frame.ring_capacity = in.get<std::uint32_t>();
  frame.ring_bytes = in.get<std::uint64_t>();
  frame.held = in.get<std::uint32_t>();
  frame.first_sequence = in.get<std::uint64_t>();
  if (!in.done()) return bad("ATTACHED");
  return frame;
}

Payload encode(const RefusedFrame& frame) {
  WireWriter out;
  put_pair(out, frame).put(static_cast<std::uint32_t>(frame.code)).put_string(frame.text);
  return std::move(out).take();
}

Result<RefusedFrame> decode_refused(const Payload& bytes) {
  WireReader in(bytes);
  RefusedFrame frame;
  get_pair(in, frame);
  frame.code = static_cast<Errc>(in.get<std::uint32_t>());
  frame.text = printable(in.get_string(4096));
  if (!in.done()) return bad("REFUSED or CLOSED");
  return frame;
}

Payload encode(const SegmentFrame& frame) {
  WireWriter out;
  out.put(frame.writer).put(frame.index).put(frame.size_bytes);
  return std::move(out).take();
}

Result<SegmentFrame> decode_segment(const Payload& bytes) {
  WireReader in(bytes);
  SegmentFrame frame;
  frame.writer = in.get_array<16>();
  frame.index = in.get<std::uint32_t>();
  frame.size_bytes = in.get<std::uint64_t>();
  if (!in.done() || frame.index > 0xFFFF) return bad("SEGMENT or RETIRED");
  return frame;
}

Payload encode(const DefinitionFrame& frame) {
  WireWriter out;
  out.put(frame.endpoint).put_string(std::string_view(frame.text).substr(0, kMaxDefinitionBytes));
  return std::move(out).take();
}

Result<DefinitionFrame> decode_definition(const Payload& bytes) {
  WireReader in(bytes);
  DefinitionFrame frame;
  frame.endpoint = in.get_array<16>();
  frame.text = in.get_string(kMaxDefinitionBytes);
  if (!in.done()) return bad("DEFINITION");
  return frame;
}

Payload encode(const AccountFrame& frame) {
  WireWriter out;
  out.put(frame.backed_bytes).put(frame.limit_bytes);
  return std::move(out).take();
}

Result<AccountFrame> decode_account(const Payload& bytes) {
  WireReader in(bytes);
  AccountFrame frame;
  frame.backed_bytes = in.get<std::uint64_t>();
  frame.limit_bytes = in.get<std::uint64_t>();
  if (!in.done()) return bad("ACCOUNT");
  return frame;
}

Payload encode(const HoldingsFrame& frame) {
  WireWriter out;
  const Holding of_writer = frame.holdings.empty() ? Holding() : frame.holdings.front();
  out.put(frame.question).put(frame.writer).put(of_writer.slot_count).put(of_writer.shared).put(of_writer.promised);
  out.put(static_cast<std::uint32_t>(std::min<std::size_t>(frame.holdings.size(), kMaxHoldings)));
  for (std::size_t i = 0; i < frame.holdings.size() && i < kMaxHoldings; ++i) {
    const Holding& holding = frame.holdings[i];
    out.put(holding.reader).put(holding.standing).put(holding.wished).put(holding.granted);
    out.put_string(std::string_view(holding.reason).substr(0, kMaxReasonBytes));
    out.put(holding.unread).put(holding.held).put(holding.held_bytes);
    const std::size_t chunks = std::min(holding.chunks.size(), Holding::kMostChunks);
    out.put(static_cast<std::uint8_t>(chunks));
    for (std::size_t c = 0; c < chunks; ++c) {
      const Holding::HeldChunk& chunk = holding.chunks[c];
      out.put(chunk.handle).put(chunk.sequence).put(chunk.size_bytes);
    }
  }
  return std::move(out).take();
}

Result<HoldingsFrame> decode_holdings(const Payload& bytes) {
  WireReader in(bytes);
  HoldingsFrame frame;
  frame.question = in.get<std::uint64_t>();
  frame.writer = in.get_array<16>();
  const auto slots = in.get<std::uint32_t>();
  const auto shared = in.get<std::uint32_t>();
  const auto promised = in.get<std::uint32_t>();
  const auto count = in.get<std::uint32_t>();
  if (count > kMaxHoldings) return bad("HOLDINGS");
  frame.holdings.resize(count);
  for (Holding& holding : frame.holdings) {
    holding.writer = frame.writer;
    holding.slot_count = slots;
    holding.shared = shared;
    holding.promised = promised;
    holding.reader = in.get_array<16>();
    const auto standing = in.get<std::uint8_t>();
    if (standing > static_cast<std::uint8_t>(Holding::Standing::kRefused)) return bad("HOLDINGS");
    holding.standing = static_cast<Holding::Standing>(standing);
    holding.wished = in.get<std::uint32_t>();
    holding.granted = in.get<std::uint32_t>();
    holding.reason = printable(in.get_string(kMaxReasonBytes));
    holding.unread = in.get<std::uint32_t>();
    holding.held = in.get<std::uint32_t>();
    holding.held_bytes = in.get<std::uint64_t>();
    const auto chunks = in.get<std::uint8_t>();
    if (chunks > Holding::kMostChunks) return bad("HOLDINGS");
    holding.chunks.resize(chunks);
    for (Holding::HeldChunk& chunk : holding.chunks) {
      chunk.handle = in.get<std::uint64_t>();
      chunk.sequence = in.get<std::uint64_t>();
      chunk.size_bytes = in.get<std::uint32_t>();
    }
  }
  if (!in.done()) return bad("HOLDINGS");
  return frame;
}

namespace {

/// In the order of the row of LOSSES.
constexpr std::uint64_t Losses::*kLossCounts[] = {&Losses::overflow, &Losses::held,      &Losses::limit,
                                                  &Losses::memory,   &Losses::malformed, &Losses::interrupted,
                                                  &Losses::lifespan, &Losses::stamp};

}  // namespace

Payload encode(const LossesFrame& frame) {
  WireWriter out;
  const std::size_t count = std::min<std::size_t>(frame.losses.size(), kMaxLosses);
  out.put(frame.question).put(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    out.put(frame.losses[i].first);
    for (const auto counter : kLossCounts) out.put(frame.losses[i].second.*counter);
  }
  return std::move(out).take();
}

Result<LossesFrame> decode_losses(const Payload& bytes) {
  WireReader in(bytes);
  LossesFrame frame;
  frame.question = in.get<std::uint64_t>();
  const auto count = in.get<std::uint32_t>();
  if (count > kMaxLosses) return bad("LOSSES");
  frame.losses.resize(count);
  for (auto& [reader, losses] : frame.losses) {
    reader = in.get_array<16>();
    for (const auto counter : kLossCounts) losses.*counter = in.get<std::uint64_t>();
  }
  if (!in.done()) return bad("LOSSES");
  return frame;
}

Payload encode_question(std::uint64_t question) {
  WireWriter out;
  out.put(question);
  return std::move(out).take();
}

Result<std::uint64_t> decode_question(const Payload& bytes) {
  WireReader in(bytes);
  const auto question = in.get<std::uint64_t>();
  if (!in.done()) return bad("HOLDINGS_REQUEST");
  return question;
}

Payload encode_gid(const Gid& gid) { return Payload(gid.begin(), gid.end()); }

Result<Gid> decode_gid(const Payload& bytes) {
  WireReader in(bytes);
  const Gid gid = in.get_array<16>();
  if (!in.done()) return bad("WITHDRAW or DEFINITION_REQUEST");
  return gid;
}

Payload encode(const NodeName& node) {
  WireWriter out;
  out.put_string(std::string_view(node.name).substr(0, kMaxNameBytes));
  out.put_string(std::string_view(node.enclave).substr(0, kMaxNameBytes));
  return std::move(out).take();
}

Result<NodeName> decode_node(const Payload& bytes) {
  WireReader in(bytes);
  NodeName node;
  node.name = printable(in.get_string(kMaxNameBytes));
  node.enclave = printable(in.get_string(kMaxNameBytes));
  if (!in.done()) return bad("NODE_UP or NODE_DOWN");
  return node;
}

}  // namespace baton::transport
