// SPDX-License-Identifier: Apache-2.0
// Reads the {length, offset} words of an untrusted SFM message (docs/format/sfm.md, "Validation").
//
// Thread rules: one walk, one reader; the bytes may change meanwhile in another process.
// Invariants: (1) each word is fetched once, and the checked value is the used value; (2) contents lie inside the
// message; (3) the contents handed out over one walk sum up to at most the message's size, so overlaps and cycles end
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "baton/message/bytes.hpp"
#include "failure.hpp"

namespace baton::message {

/// One fetch that the compiler may neither repeat nor split. REQUIRES: `p` is aligned to 4.
inline std::uint32_t fetch_word(const std::byte* p) noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(p), __ATOMIC_RELAXED);
}

/// One fetch of a byte.
inline std::uint8_t fetch_byte(const std::byte* p) noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint8_t*>(p), __ATOMIC_RELAXED);
}

struct Content {
  std::size_t place = 0;  ///< from the message's start
  std::size_t count = 0;  ///< elements; bytes of the exact text for strings
  std::size_t bytes = 0;  ///< bytes that it occupies, including a string's terminator and padding
};

class SfmReader {
 public:
  /// `swapped`: the message is in the other byte order.
  SfmReader(Bytes message, Failure& failure, bool swapped = false) noexcept
      : message_(message), budget_(message.size), failure_(failure), swapped_(swapped) {}

  const std::byte* at(std::size_t place) const noexcept { return message_.data + place; }
  Failure& failure() noexcept { return failure_; }

  /// Checks the skeleton itself: the message has room for it, and the base is aligned so that words can be fetched.
  bool begin(std::size_t skeleton_bytes) {
    if (reinterpret_cast<std::uintptr_t>(message_.data) % 8 != 0)
      return failure_.set(Errc::invalid_argument, "the message does not begin at a multiple of 8");
    if (message_.size < skeleton_bytes)
      return failure_.malformed("the message has " + std::to_string(message_.size) +
                                " bytes, its skeleton alone needs " + std::to_string(skeleton_bytes));
    budget_ -= skeleton_bytes;
    return true;
  }

  /// The content of the sequence whose words lie at `words`.
  bool sequence(std::size_t words, std::size_t stride, std::size_t alignment, std::size_t bound, Content& content) {
    const std::uint32_t length = word(words);
    const std::uint32_t offset = word(words + 4);
    content = {};
    if (length == 0) return true;  // whatever the offset: an emptied vector may keep its content's place
    if (bound != 0 && length > bound) return over_bound(length, bound);
    if (!inside(words, offset, length, stride, content.place)) return false;
    if (content.place % alignment != 0)
      return failure_.malformed("the content at byte " + std::to_string(content.place) + " is not aligned to " +
                                std::to_string(alignment));
    content.count = length;
    content.bytes = length * stride;
    return true;
  }

  /// The content of the string whose words lie at `words`: count is the exact length, without terminator and padding.
  bool string(std::size_t words, std::size_t bound, Content& content) {
    const std::uint32_t length = word(words);
    const std::uint32_t offset = word(words + 4);
    content = {};
    if (length == 0) return true;
    if (length % 4 != 0)
      return failure_.malformed("a string's padded length is " + std::to_string(length) + ", not a multiple of 4");
    if (!inside(words, offset, length, 1, content.place)) return false;
    if (content.place % 4 != 0)
      return failure_.malformed("the content at byte " + std::to_string(content.place) + " is not aligned to 4");
    // Terminator, padding and the padding's length lie in the last word.
    const std::uint32_t last = fetch_word(at(content.place + length - 4));
    unsigned char tail[4];
    std::memcpy(tail, &last, 4);
    const std::uint8_t padding = tail[3];
    if (padding > 3) return failure_.malformed("a string's padding byte is " + std::to_string(padding) + ", above 3");
    for (unsigned i = 3U - padding; i < 3; ++i) {
      if (tail[i] != 0) return failure_.malformed("a string is not ended by a zero");
    }
    content.count = length - 1U - padding;
    if (content.count == 0) return failure_.malformed("an empty string has content");
    if (bound != 0 && content.count > bound) return over_bound(content.count, bound);
    content.bytes = length;
    return true;
  }

 private:
  std::uint32_t word(std::size_t place) const noexcept {
    const std::uint32_t value = fetch_word(at(place));
    return swapped_ ? __builtin_bswap32(value) : value;
  }

  bool over_bound(std::size_t length, std::size_t bound) {
    return failure_.malformed("length " + std::to_string(length) + " is above the bound " + std::to_string(bound));
  }

  bool inside(std::size_t words, std::uint32_t offset, std::size_t length, std::size_t stride, std::size_t& place) {
    if (offset == 0)
      return failure_.malformed("length " + std::to_string(length) + " with offset 0, which says 'no content'");
    const std::int64_t from = static_cast<std::int64_t>(words + 4) + static_cast<std::int32_t>(offset);
    const std::uint64_t bytes = static_cast<std::uint64_t>(length) * stride;
    if (from < 0 || static_cast<std::uint64_t>(from) > message_.size ||
        bytes > message_.size - static_cast<std::uint64_t>(from))
      return failure_.malformed("content of " + std::to_string(bytes) + " bytes at byte " + std::to_string(from) +
                                " lies outside the message of " + std::to_string(message_.size) + " bytes");
    if (bytes > budget_) return failure_.malformed("contents overlap");
    budget_ -= bytes;
    place = static_cast<std::size_t>(from);
    return true;
  }

  Bytes message_;
  std::size_t budget_;
  Failure& failure_;
  bool swapped_;
};

}  // namespace baton::message
