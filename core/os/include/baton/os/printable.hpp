// SPDX-License-Identifier: Apache-2.0
// Texts of other processes and hosts, made safe for a terminal and for a line of a log.
// Thread rules: pure functions.
#pragma once

#include <cstddef>
#include <string>

namespace baton::os {

/// Each byte that is no printable ASCII character becomes '?'.
inline std::string printable(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

/// For UTF-8: the control characters U+0000 to U+001F and U+007F become '?', as does the second byte of U+0080 to U+009F.
inline std::string without_controls(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c1 = i > 0 && text[i - 1] == '\xC2' && byte >= 0x80 && byte <= 0x9F;
    if (byte < 0x20 || byte == 0x7F || is_c1) text[i] = '?';
  }
  return text;
}

}  // namespace baton::os
