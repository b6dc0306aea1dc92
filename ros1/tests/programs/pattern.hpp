// SPDX-License-Identifier: Apache-2.0
// Content that tells a message from every other: a byte of message n at place i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pattern {

inline std::uint8_t at(std::uint32_t number, std::size_t i) {
  return static_cast<std::uint8_t>(number * 31 + i * 7 + (i >> 12));
}
inline void fill(std::vector<std::uint8_t>& data, std::uint32_t number) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = at(number, i);
}
inline bool matches(const std::vector<std::uint8_t>& data, std::uint32_t number) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != at(number, i)) return false;
  }
  return true;
}

}  // namespace pattern
