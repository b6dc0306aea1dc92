// SPDX-License-Identifier: Apache-2.0
// The token of one message in one connection (docs/format/connection.md, sections 3 and 4): the message's position in the queue, and the index
// of the release word with which the subscriber gives the message back. No token is used twice: a connection carries fewer than 2^44 messages.
#pragma once

#include <cstdint>

namespace baton::memory {

inline constexpr unsigned kEntryBits = 20;
inline constexpr std::uint32_t kMaxEntries = std::uint32_t{1} << kEntryBits;
inline constexpr std::uint64_t kNoEntry = 0;  ///< never a valid token

/// The token of the message at queue position `position` (from 0) that release word `index` belongs to.
constexpr std::uint64_t make_token(std::uint64_t position, std::uint32_t index) noexcept {
  return ((position + 1) << kEntryBits) | index;
}
/// Index of the word that a token belongs to. The consumer must check it against its table's size.
constexpr std::uint32_t entry_index(std::uint64_t token) noexcept {
  return static_cast<std::uint32_t>(token & (kMaxEntries - 1));
}
/// The position of the token's message, plus 1: as many messages were pushed up to this one. 0 for kNoEntry.
constexpr std::uint64_t messages_up_to(std::uint64_t token) noexcept { return token >> kEntryBits; }

}  // namespace baton::memory
