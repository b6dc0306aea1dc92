// SPDX-License-Identifier: Apache-2.0
#include "handshake.hpp"

#include <algorithm>
#include <cstring>

#include "baton/os/printable.hpp"
#include "wire.hpp"

namespace baton::transport {
namespace {

// 0x89: not text, not UTF-8; CR LF would be changed by a text channel (the idea of PNG's signature).
constexpr std::array<std::uint8_t, 8> kMagic{0x89, 'B', 'A', 'T', 'O', 'N', '\r', '\n'};

std::vector<std::uint8_t> with_header(std::uint16_t type, const std::vector<std::uint8_t>& payload) {
  PacketHeader header;
  header.type = type;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  const auto encoded = encode_header(header);
  std::vector<std::uint8_t> packet(encoded.begin(), encoded.end());
  packet.insert(packet.end(), payload.begin(), payload.end());
  return packet;
}

using os::printable;  // a peer's text appears on terminals and in logs

}  // namespace

std::array<std::uint8_t, kPacketHeaderBytes> encode_header(const PacketHeader& header) {  // allocates nothing
  const auto byte = [](std::uint32_t value, int shift) { return static_cast<std::uint8_t>(value >> shift); };
  return {byte(header.type, 0),
          byte(header.type, 8),
          header.flags,
          header.fd_count,
          byte(header.payload_bytes, 0),
          byte(header.payload_bytes, 8),
          byte(header.payload_bytes, 16),
          byte(header.payload_bytes, 24)};
}

std::vector<std::uint8_t> encode_hello(const Hello& hello) {
  WireWriter out;
  out.put(kMagic).put(hello.version).put(std::uint16_t{0}).put(hello.pid).put(hello.process_id);
  out.put_string(std::string_view(hello.name).substr(0, kMaxProcessNameBytes));
  out.put(hello.counts.sent).put(hello.counts.received);
  return with_header(kHelloFrame, std::move(out).take());
}

std::vector<std::uint8_t> encode_bye(Bye reason, const std::string& text) {
  WireWriter out;
  out.put(reason).put_string(std::string_view(text).substr(0, kMaxByeTextBytes));
  return with_header(kByeFrame, std::move(out).take());
}

std::vector<std::uint8_t> encode_gone(const std::vector<ProcessId>& processes) {
  WireWriter out;
  for (const ProcessId& process : processes) out.put(process);
  return with_header(kGoneFrame, std::move(out).take());
}

bool connects_first(const ProcessId& self, std::int64_t named_ns, const ProcessId& peer, std::int64_t peer_named_ns) {
  return named_ns != peer_named_ns ? named_ns > peer_named_ns : self < peer;
}

Arrival judge_arrival(const ProcessId& self, const ProcessId& peer, bool up_already, bool mine_reached_them) {
  if (up_already) return Arrival::kRefuse;
  if (!mine_reached_them) return Arrival::kAccept;
  return peer < self ? Arrival::kAcceptInsteadOfMine : Arrival::kRefuse;
}

LinkMachine::Step LinkMachine::violation(std::string text) {
  state_ = State::kEnded;
  frame_ = {};
  Step step;
  step.kind = Step::Kind::kViolation;
  step.error = {Errc::protocol_violation, std::move(text)};
  return step;
}

LinkMachine::Step LinkMachine::on_packet(const std::uint8_t* data, std::size_t size, std::vector<os::ReceivedFd> fds) {
  if (state_ == State::kEnded) return {};
  if (size < kPacketHeaderBytes) return violation("a packet of " + std::to_string(size) + " bytes has no header");
  WireReader in(data, kPacketHeaderBytes);
  PacketHeader header;
  header.type = in.get<std::uint16_t>();
  header.flags = in.get<std::uint8_t>();
  header.fd_count = in.get<std::uint8_t>();
  header.payload_bytes = in.get<std::uint32_t>();
  const std::size_t payload_bytes = size - kPacketHeaderBytes;
  const std::uint8_t* payload = data + kPacketHeaderBytes;

  if (state_ == State::kAwaitHello && header.type != kHelloFrame && header.type != kByeFrame &&
      header.type != kGoneFrame) {
    return violation("the first frame is of type " + std::to_string(header.type) + " instead of HELLO");
  }
  if (header.payload_bytes != payload_bytes) {
    return violation("a packet states " + std::to_string(header.payload_bytes) + " bytes of payload and has " +
                     std::to_string(payload_bytes));
  }
  if ((header.flags & ~kMoreFollows) != 0) return violation("a packet has unknown flags");
  if (header.fd_count != fds.size()) {
    return violation("a packet states " + std::to_string(header.fd_count) + " descriptors and has " +
                     std::to_string(fds.size()));
  }
  if (header.type < kFirstUserFrame) {
    if (!fds.empty() || header.flags != 0)
      return violation("HELLO, BYE, PARK, KEEP and GONE are single packets without descriptors");
    if (header.type == kHelloFrame) return on_hello(payload, payload_bytes);
    if (header.type == kByeFrame) return on_bye(payload, payload_bytes);
    if (header.type == kParkFrame || header.type == kKeepFrame) {
      // The link is idle: all frames of its sender are complete.
      if (partial_) return violation("PARK or KEEP interrupts an unfinished frame");
      return on_park(payload, payload_bytes, header.type == kKeepFrame);
    }
    if (header.type == kGoneFrame && state_ == State::kAwaitHello) return on_gone(payload, payload_bytes);
    return violation("unknown frame type " + std::to_string(header.type));
  }

  if (partial_ && header.type != frame_.type) return violation("a frame of another type interrupts an unfinished one");
  if (frame_.payload.size() + payload_bytes > kMaxPayloadBytes || frame_.fds.size() + fds.size() > kMaxFrameFds) {
    return violation("a frame of type " + std::to_string(header.type) + " is larger than allowed");
  }
  // Each part must carry bytes; otherwise a frame could go on for ever.
  if ((header.flags & kMoreFollows) != 0 && payload_bytes == 0)
    return violation("an unfinished frame has an empty part");
  frame_.type = header.type;
  frame_.payload.insert(frame_.payload.end(), payload, payload + payload_bytes);
  for (os::ReceivedFd& fd : fds) frame_.fds.push_back(std::move(fd));
  partial_ = (header.flags & kMoreFollows) != 0;
  if (partial_) return {};
  Step step;
  step.kind = Step::Kind::kFrame;
  step.frame = std::move(frame_);
  frame_ = {};
  return step;
}

LinkMachine::Step LinkMachine::on_hello(const std::uint8_t* payload, std::size_t size) {
  if (state_ == State::kOpen) return violation("a second HELLO");
  WireReader in(payload, size);
  if (in.get_array<8>() != kMagic) return violation("it does not speak Baton's protocol (no magic bytes in HELLO)");
  peer_.version = in.get<std::uint16_t>();
  (void)in.get<std::uint16_t>();
  peer_.pid = in.get<std::int32_t>();
  peer_.process_id = in.get_array<16>();
  // These fields keep their places in every version, and fields that a later version appends are skipped. So a mismatch
  // can be reported with both names.
  peer_.name = printable(in.get_string(kMaxProcessNameBytes));
  if (!in.ok()) return violation("HELLO is too short or its name too long");
  Step step;
  if (peer_.version != kProtocolVersion) {
    state_ = State::kEnded;
    step.kind = Step::Kind::kVersion;
    step.error = {Errc::version_mismatch, "version " + std::to_string(peer_.version)};
    return step;
  }
  peer_.counts.sent = in.get<std::uint64_t>();
  peer_.counts.received = in.get<std::uint64_t>();
  if (!in.ok()) return violation("HELLO is too short");
  if (in.left() != 0) return violation("HELLO is too long");
  state_ = State::kOpen;
  step.kind = Step::Kind::kHello;
  return step;
}

LinkMachine::Step LinkMachine::on_bye(const std::uint8_t* payload, std::size_t size) {
  WireReader in(payload, size);
  const auto reason = in.get<std::uint16_t>();
  const std::string text = printable(in.get_string(kMaxByeTextBytes));
  if (!in.ok() || reason < static_cast<std::uint16_t>(Bye::kLeaving) ||
      reason > static_cast<std::uint16_t>(Bye::kParked)) {
    return violation("malformed BYE");
  }
  state_ = State::kEnded;
  frame_ = {};
  Step step;
  step.kind = Step::Kind::kBye;
  step.bye = static_cast<Bye>(reason);
  step.error = {Errc::disconnected, text};
  return step;
}

LinkMachine::Step LinkMachine::on_park(const std::uint8_t* payload, std::size_t size, bool keep) {
  WireReader in(payload, size);
  Step step;
  step.kind = keep ? Step::Kind::kKeep : Step::Kind::kPark;
  if (!keep) step.received = in.get<std::uint64_t>();
  return in.done() ? std::move(step) : violation("malformed PARK or KEEP");
}

LinkMachine::Step LinkMachine::on_gone(const std::uint8_t* payload, std::size_t size) {
  WireReader in(payload, size);
  Step step;
  step.kind = Step::Kind::kGone;
  while (in.left() != 0 && in.ok()) step.processes.push_back(in.get_array<16>());
  if (!in.ok() || step.processes.empty() || step.processes.size() > kMaxGone) return violation("malformed GONE");
  state_ = State::kEnded;
  return step;
}

}  // namespace baton::transport
