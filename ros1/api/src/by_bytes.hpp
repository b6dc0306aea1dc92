// SPDX-License-Identifier: Apache-2.0
// What goes with a message that Baton could not carry, and that goes by TCPROS although its subscriptions get the others from
// Baton: the words behind it, and those of the next message of Baton (docs/format/tcpros.md, "Messages that Baton cannot carry").
//
// Thread rules: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "baton/message/bytes.hpp"
#include "baton/transport/transport.hpp"
#include "words.hpp"

namespace baton::ros1::detail {

inline constexpr std::string_view kByBytesFormat = kByBytes;

/// Behind the message, in its frame of TCPROS. Who does not know it reads the message and ignores the rest.
struct Trailer {
  transport::Gid writer{};   ///< the publisher in Baton
  std::uint64_t number = 0;  ///< of the publisher's messages that went so, from 1
};
inline constexpr std::size_t kTrailerBytes = kByBytesFormat.size() + sizeof(transport::Gid) + sizeof(std::uint64_t);

inline void put_trailer(std::uint8_t* at, const Trailer& trailer) {
  std::memcpy(at, kByBytesFormat.data(), kByBytesFormat.size());
  std::memcpy(at + kByBytesFormat.size(), trailer.writer.data(), trailer.writer.size());
  std::memcpy(at + kTrailerBytes - sizeof trailer.number, &trailer.number, sizeof trailer.number);
}

inline std::optional<Trailer> trailer_of(message::Bytes wire) {
  if (wire.size < kTrailerBytes) return std::nullopt;
  const auto* const at = reinterpret_cast<const std::uint8_t*>(wire.data) + wire.size - kTrailerBytes;
  if (std::memcmp(at, kByBytesFormat.data(), kByBytesFormat.size()) != 0) return std::nullopt;
  Trailer out;
  std::memcpy(out.writer.data(), at + kByBytesFormat.size(), out.writer.size());
  std::memcpy(&out.number, at + kTrailerBytes - sizeof out.number, sizeof out.number);
  return out;
}

/// Says in a message of Baton which message by TCPROS precedes it.
inline void put_follows(transport::PublishInfo& info, std::uint64_t number) {
  std::memcpy(info.attachment.data(), kByBytesFormat.data(), kByBytesFormat.size());
  std::memcpy(info.attachment.data() + kByBytesFormat.size(), &number, sizeof number);
}
/// 0: none.
inline std::uint64_t follows(const transport::TakenSample& sample) {
  std::array<std::uint8_t, sizeof memory::ChunkHeader::attachment> words;
  std::memcpy(words.data(), sample.header().attachment, words.size());  // once: the publisher can still write them
  if (std::memcmp(words.data(), kByBytesFormat.data(), kByBytesFormat.size()) != 0) return 0;
  std::uint64_t number;
  std::memcpy(&number, words.data() + kByBytesFormat.size(), sizeof number);
  return number;
}

}  // namespace baton::ros1::detail
