// SPDX-License-Identifier: Apache-2.0
// Feeds packets to the protocol machines of one process, and arrivals to its tie-break rule, without sockets. The input
// is a sequence of {u8 link, u8 descriptors, u16 size, bytes}; seeds lie in seeds/handshake, replayed by
// replay_test.cpp.
//
// Checked besides memory safety: the machine's invariants (handshake.hpp), the bounds of every frame, and that exactly
// one of two crossing connections stays.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "handshake.hpp"
#include "wire.hpp"

namespace {

using namespace baton;
using namespace baton::transport;
using Kind = LinkMachine::Step::Kind;

void require(bool condition) {
  if (!condition) std::abort();
}

struct FuzzedLink {
  LinkMachine machine;
  bool open = false;
  bool ended = false;
};

void feed(FuzzedLink& link, const std::uint8_t* bytes, std::size_t size, std::size_t fd_count, ProcessId self,
          std::map<ProcessId, bool>& up) {
  std::vector<os::ReceivedFd> fds;
  for (std::size_t i = 0; i < fd_count; ++i) fds.emplace_back(os::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  LinkMachine::Step step = link.machine.on_packet(bytes, size, std::move(fds));
  if (link.ended) {
    require(step.kind == Kind::kNothing);
    return;
  }
  switch (step.kind) {
    case Kind::kNothing:
      require(link.open);  // only a part of a frame has no result
      break;
    case Kind::kHello: {
      require(!link.open && link.machine.has_hello());
      link.open = true;
      const Hello& hello = link.machine.peer();
      require(hello.version == kProtocolVersion && hello.name.size() <= kMaxProcessNameBytes);
      for (const char c : hello.name) require(c >= 0x20 && c <= 0x7E);
      // Encoding the decoded HELLO gives the packet that was sent (except an unprintable name).
      require(encode_hello(hello).size() == size);
      if (hello.process_id == self) break;
      // Both sides judge the other's arrival, after both connected: one accepts, one refuses.
      const Arrival here = judge_arrival(self, hello.process_id, false, true);
      const Arrival there = judge_arrival(hello.process_id, self, false, true);
      require((here == Arrival::kRefuse) != (there == Arrival::kRefuse));
      bool& is_up = up[hello.process_id];
      require(judge_arrival(self, hello.process_id, is_up, false) == (is_up ? Arrival::kRefuse : Arrival::kAccept));
      is_up = true;
      break;
    }
    case Kind::kFrame:
      require(link.open && step.frame.type >= kFirstUserFrame);
      require(step.frame.payload.size() <= kMaxPayloadBytes && step.frame.fds.size() <= kMaxFrameFds);
      break;
    case Kind::kPark:
    case Kind::kKeep:
      require(link.open);
      break;
    case Kind::kGone:
      require(!link.open && !step.processes.empty() && step.processes.size() <= kMaxGone);
      link.ended = true;
      break;
    case Kind::kBye:
      require(step.error.message.size() <= kMaxByeTextBytes);
      link.ended = true;
      break;
    case Kind::kVersion:
      require(!link.open && link.machine.peer().version != kProtocolVersion &&
              step.error.code == Errc::version_mismatch);
      link.ended = true;
      break;
    case Kind::kViolation:
      require(step.error.code == Errc::protocol_violation && !step.error.message.empty());
      link.ended = true;
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<FuzzedLink, 4> links;
  std::map<ProcessId, bool> up;
  ProcessId self{};
  self[7] = 0x80;
  WireReader in(data, size);
  while (in.left() != 0) {
    FuzzedLink& link = links[in.get<std::uint8_t>() % links.size()];
    const std::size_t fd_count = in.get<std::uint8_t>() % (kMaxFrameFds + 2);
    std::size_t packet_bytes = in.get<std::uint16_t>();
    if (!in.ok()) break;
    packet_bytes = std::min({packet_bytes, in.left(), kMaxPacketBytes});
    // A copy of exactly this size, so that the sanitizer reports a read behind it.
    std::vector<std::uint8_t> packet(packet_bytes);
    for (std::uint8_t& byte : packet) byte = in.get<std::uint8_t>();
    feed(link, packet.data(), packet.size(), fd_count, self, up);
  }
  return 0;
}
