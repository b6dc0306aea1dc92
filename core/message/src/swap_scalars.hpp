// SPDX-License-Identifier: Apache-2.0
// The inner loops of codecs: byte-swapping and bool-normalising copies. Plain loops that gcc and clang vectorise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace baton::message {

namespace detail {
inline std::uint16_t swapped(std::uint16_t v) noexcept { return __builtin_bswap16(v); }
inline std::uint32_t swapped(std::uint32_t v) noexcept { return __builtin_bswap32(v); }
inline std::uint64_t swapped(std::uint64_t v) noexcept { return __builtin_bswap64(v); }

template <class Word>
void copy_swapped_words(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i + sizeof(Word) <= bytes; i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, from + i, sizeof word);
    word = swapped(word);
    std::memcpy(to + i, &word, sizeof word);
  }
}
}  // namespace detail

/// Copies `bytes` with every scalar of `width` reversed. `to` may equal `from`; otherwise they do not overlap.
inline void copy_swapped(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t width) noexcept {
  switch (width) {
    case 2:
      detail::copy_swapped_words<std::uint16_t>(to, from, bytes);
      break;
    case 4:
      detail::copy_swapped_words<std::uint32_t>(to, from, bytes);
      break;
    case 8:
      detail::copy_swapped_words<std::uint64_t>(to, from, bytes);
      break;
    default:
      if (to != from && bytes != 0) std::memcpy(to, from, bytes);
  }
}

/// Copies bools as 0 or 1; any non-zero byte counts as true.
inline void copy_bools(std::byte* to, const std::byte* from, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i] != std::byte{0} ? std::byte{1} : std::byte{0};
}

}  // namespace baton::message
