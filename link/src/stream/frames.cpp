// SPDX-License-Identifier: Apache-2.0
#include "frames.hpp"

#include <algorithm>
#include <cstring>

#include "baton/memory/chunk_header.hpp"
#include "baton/os/printable.hpp"

namespace baton::link::stream {
namespace {

constexpr std::size_t kLeastChunk = sizeof(memory::ChunkHeader);
constexpr std::size_t kMostChunk = kLeastChunk + memory::kMaxMessageBytes;
constexpr char kTag[8] = {'b', 't', 'n', 'l', 'i', 'n', 'k', '\n'};

void put(std::byte* to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}
template <class T>
T get(const std::byte* from) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  return static_cast<T>(value);
}

Error violation(const char* what) {
  return {Errc::protocol_violation, std::string("the other end does not speak as a link of Baton: ") + what};
}

}  // namespace

const char* words_of(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::kNone:
      break;
    case Refusal::kBusy:
      return "it refuses this host for now: too many programs connect to it; trying again";
    case Refusal::kFull:
      return "it refuses this host: it has as many hosts as it may have; name this host there with --peer";
    case Refusal::kFullAddress:
      return "it refuses this host: it has as many hosts of this address as it may have; name this host there with "
             "--peer";
    case Refusal::kFullNetwork:
      return "it refuses this host: it has as many hosts of this network as it may have; name this host there with "
             "--peer";
    case Refusal::kCertificate:
      return "it refuses this host: it knows another certificate for this host's id; give each host a certificate of "
             "its own";
    case Refusal::kNoSession:
      return "it does not know the session";
  }
  return "it refuses this host; its log says why";
}

std::array<std::byte, kHelloBytes> encode(const HostHello& hello) {
  std::array<std::byte, kHelloBytes> out{};
  std::memcpy(out.data(), kTag, sizeof kTag);
  put(&out[8], hello.version, 4);
  put(&out[12], hello.domain, 4);
  std::memcpy(&out[16], hello.host.data(), hello.host.size());
  put(&out[32], hello.session, 8);
  put(&out[40], hello.port, 2);
  out[42] = static_cast<std::byte>(hello.traffic_class);
  out[43] = static_cast<std::byte>(hello.refusal);
  std::memcpy(&out[48], hello.name.data(), std::min(hello.name.size(), kMaxHelloName));
  return out;
}

Result<HostHello> decode_hello(const std::byte* bytes) {
  if (std::memcmp(bytes, kTag, sizeof kTag) != 0) return violation("its first bytes are no hello");
  HostHello out;
  out.version = get<std::uint32_t>(bytes + 8);
  if (out.version != kLinkVersion) return out;
  out.domain = get<std::uint32_t>(bytes + 12);
  std::memcpy(out.host.data(), bytes + 16, out.host.size());
  out.session = get<std::uint64_t>(bytes + 32);
  out.port = get<std::uint16_t>(bytes + 40);
  const auto traffic_class = static_cast<std::uint8_t>(bytes[42]);
  if (traffic_class > static_cast<std::uint8_t>(TrafficClass::kBulk)) return violation("a hello of an unknown class");
  out.traffic_class = static_cast<TrafficClass>(traffic_class);
  out.refusal = static_cast<Refusal>(bytes[43]);
  const char* const name = reinterpret_cast<const char*>(bytes + 48);
  out.name.assign(name, ::strnlen(name, kMaxHelloName));
  out.name = os::printable(std::move(out.name));
  return out;
}

std::array<std::byte, kFrameBytes> encode(const HostFrame& frame) {
  std::array<std::byte, kFrameBytes> out{};
  out[0] = static_cast<std::byte>(frame.kind);
  put(&out[4], frame.flow, 4);
  put(&out[8], frame.number, 8);
  put(&out[16], frame.offset, 8);
  put(&out[24], frame.size, 4);
  put(&out[28], frame.total, 4);
  return out;
}

Result<HostFrame> decode_frame(const std::byte* bytes) {
  HostFrame out;
  const auto kind = static_cast<std::uint8_t>(bytes[0]);
  if (kind < static_cast<std::uint8_t>(FrameKind::kResume) || kind > static_cast<std::uint8_t>(FrameKind::kBulk))
    return violation("a frame of an unknown kind");
  out.kind = static_cast<FrameKind>(kind);
  out.flow = get<std::uint32_t>(bytes + 4);
  out.number = get<std::uint64_t>(bytes + 8);
  out.offset = get<std::uint64_t>(bytes + 16);
  out.size = get<std::uint32_t>(bytes + 24);
  out.total = get<std::uint32_t>(bytes + 28);
  switch (out.kind) {
    case FrameKind::kOpen:
      if (out.size == 0 || out.size > kMaxChannelBytes) return violation("a channel without a name");
      if (out.number > UINT32_MAX) return violation("a flow goes on that cannot be");
      break;
    case FrameKind::kPart: {
      // The first part has the chunk's header.
      const bool fits = out.number != 0 && out.total >= kLeastChunk && out.total <= kMostChunk && out.size > 0 &&
                        out.size <= kPartBytes && out.offset < out.total && out.size <= out.total - out.offset &&
                        (out.offset != 0 ? out.offset >= kLeastChunk : out.size >= kLeastChunk);
      if (!fits) return violation("a part of a chunk out of range");
      break;
    }
    default:
      if (out.size != 0) return violation("bytes behind a frame that has none");
      if (out.kind == FrameKind::kBulk && out.number == 0) return violation("a bulk connection without a key");
      break;
  }
  return out;
}

}  // namespace baton::link::stream
