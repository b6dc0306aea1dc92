// SPDX-License-Identifier: Apache-2.0
// Bytes as lower-case hexadecimal digits, and back.
// Thread rules: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace baton::os {

/// Two digits for each byte.
inline std::string hexadecimal(const std::uint8_t* bytes, std::size_t count) {
  const auto digit = [](int value) { return static_cast<char>(value < 10 ? '0' + value : 'a' + value - 10); };
  std::string out;
  out.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    out += digit(bytes[i] >> 4);
    out += digit(bytes[i] & 15);
  }
  return out;
}
template <std::size_t kSize>
std::string hexadecimal(const std::array<std::uint8_t, kSize>& bytes) {
  return hexadecimal(bytes.data(), bytes.size());
}

/// False, and `bytes` has no meaning, unless the text is exactly two lower-case digits for each byte.
template <std::size_t kSize>
bool from_hexadecimal(std::string_view text, std::array<std::uint8_t, kSize>& bytes) {
  if (text.size() != 2 * kSize) return false;
  const auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (std::size_t i = 0; i < kSize; ++i) {
    const int high = value(text[2 * i]), low = value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace baton::os
