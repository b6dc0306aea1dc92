// SPDX-License-Identifier: Apache-2.0
// Digests of states: two independent 64-bit lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace baton::model {

inline std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

/// Two independent 64-bit lanes: with 10^8 states the chance that two of them collide is below 10^-22.
struct Hasher {
  std::uint64_t a = 0x9E3779B97F4A7C15U, b = 0xC2B2AE3D27D4EB4FU;
  void add(std::uint64_t x) {
    a = rotate((a ^ x) * 0xFF51AFD7ED558CCDU, 29) + 0x52DCE729U;
    b = rotate((b + x) * 0xC4CEB9FE1A85EC53U, 31) ^ 0x38495AB5U;
    b ^= b >> 27;
  }
  void add_bytes(const void* data, std::size_t bytes) {
    const char* p = static_cast<const char*>(data);
    for (; bytes >= 8; p += 8, bytes -= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      add(word);
    }
    if (bytes != 0) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, bytes);
      add(word);
    }
  }
};

}  // namespace baton::model
