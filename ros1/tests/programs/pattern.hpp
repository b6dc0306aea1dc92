// SPDX-License-Identifier: Apache-2.0
// Content that tells a message from every other: a byte of message n at place i.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pattern {

inline std::uint8_t at(std::uint32_t number, std::size_t i) {
  return static_cast<std::uint8_t>(number * 31 + i * 7 + (i >> 12));
}
template <class Bytes>
void fill(Bytes& data, std::uint32_t number) {
  std::size_t i = 0;
  for (auto& byte : data) byte = at(number, i++);
}
template <class Bytes>
bool matches(const Bytes& data, std::uint32_t number) {
  std::size_t i = 0;
  for (const auto& byte : data) {
    if (byte != at(number, i++)) return false;
  }
  return true;
}

}  // namespace pattern
