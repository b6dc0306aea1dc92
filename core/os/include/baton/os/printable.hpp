// SPDX-License-Identifier: Apache-2.0
// Texts of other processes and hosts, made safe for a terminal and for a line of a log.
// Thread rules: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace baton::os {

/// Each byte that is no printable ASCII character becomes '?'.
inline std::string printable(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

/// Whether a terminal obeys the character or shows nothing for it, so that a text looks like another one: controls, and Unicode's format
/// characters (category Cf), such as those that turn the direction of writing around.
constexpr bool is_control_or_format(char32_t c) noexcept {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0x61C || c == 0x180E ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

/// The code point of the UTF-8 sequence of `length` bytes at the beginning of `text`. REQUIRES: it is one.
constexpr char32_t code_point(std::string_view text, std::size_t length) noexcept {
  char32_t out = static_cast<unsigned char>(text[0]) & (length == 1 ? 0x7FU : 0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) out = out << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return out;
}

/// For UTF-8: control and format characters become '?', byte by byte; of U+0080 to U+00FF only the second byte. Other bytes stay, also those
/// that are no UTF-8.
inline std::string without_controls(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t wanted = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    std::size_t length = 1;
    while (length < wanted && i + length < text.size() && (static_cast<unsigned char>(text[i + length]) & 0xC0) == 0x80)
      ++length;
    const bool whole = length == wanted && (byte < 0x80 || byte >= 0xC0);
    if (whole && is_control_or_format(code_point(std::string_view(text).substr(i), length)))
      for (std::size_t j = byte == 0xC2 ? 1 : 0; j < length; ++j) text[i + j] = '?';
    i += length;
  }
  return text;
}

}  // namespace baton::os
