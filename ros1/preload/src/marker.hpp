// SPDX-License-Identifier: Apache-2.0
// The bytes that stand in a TCPROS stream in the place of a message (docs/format/tcpros.md, section 2).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace baton::ros1 {

/// Random, and known to the two ends of a link alone. The ids of endpoints are no secrets: the whole domain has them.
using LinkSecret = std::array<std::uint8_t, 16>;

/// TCPROS's length before each message.
inline constexpr std::uint32_t kLengthBytes = 4;
/// The link's secret and the message's number.
inline constexpr std::uint32_t kMarkerBytes = sizeof(LinkSecret) + sizeof(std::uint64_t);
/// The number of a marker that stands for no message; messages are numbered from 1.
inline constexpr std::uint64_t kNothing = 0;
/// A link's messages in shared memory that wait have at most so many bytes together. All of them may be written at once
/// if they have to be repeated, with one message more; the sum of the lengths fits in 32 bits.
inline constexpr std::uint64_t kMostWaitingBytes = 1'000'000'000;

/// Writes kLengthBytes + kMarkerBytes bytes. `length`: of what follows the length.
inline void put_marker(std::uint8_t* at, std::uint32_t length, const LinkSecret& secret, std::uint64_t number) {
  std::memcpy(at, &length, kLengthBytes);
  std::memcpy(at + kLengthBytes, secret.data(), secret.size());
  std::memcpy(at + kLengthBytes + secret.size(), &number, sizeof number);
}

}  // namespace baton::ros1
