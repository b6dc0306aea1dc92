// SPDX-License-Identifier: Apache-2.0
// For tests of everything that works from descriptors: types from their canonical definition, bytes from hex.
#pragma once

#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "baton/message/builder.hpp"
#include "baton/message/definition.hpp"

namespace baton::message::testing {

inline Definition define(std::string_view text) { return std::move(Definition::parse(text)).or_throw(); }

/// "00 01 ff", blanks and line ends anywhere; `#` begins a comment.
inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> out;
  int high = -1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
      const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      if (high < 0) {
        high = digit;
      } else {
        out.push_back(static_cast<std::byte>(high * 16 + digit));
        high = -1;
      }
    }
  }
  if (high >= 0) throw std::runtime_error("half a byte");
  return out;
}

inline std::string to_hex(const void* data, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<const unsigned char*>(data)[i];
    if (i != 0) out += ' ';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

inline std::string to_hex(const FlatBuffer& buffer) { return to_hex(buffer.data(), buffer.size()); }
inline std::string to_hex(const std::vector<std::byte>& bytes) { return to_hex(bytes.data(), bytes.size()); }

inline Bytes bytes_of(const std::vector<std::byte>& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace baton::message::testing
