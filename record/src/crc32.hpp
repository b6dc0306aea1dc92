// SPDX-License-Identifier: Apache-2.0
// The checksum of MCAP: CRC-32 of IEEE 802.3, eight bytes a step.
// Thread rules: a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace baton::record {

class Crc32 {
 public:
  void add(const std::byte* from, std::size_t bytes) noexcept {
    const Tables& t = tables();
    std::uint32_t crc = state_;
    for (; bytes >= 8; from += 8, bytes -= 8) {
      std::uint8_t b[8];
      std::memcpy(b, from, 8);
      const std::uint32_t low = crc ^ (b[0] | b[1] << 8 | b[2] << 16 | std::uint32_t{b[3]} << 24);
      crc = t[7][low & 255] ^ t[6][low >> 8 & 255] ^ t[5][low >> 16 & 255] ^ t[4][low >> 24] ^ t[3][b[4]] ^ t[2][b[5]] ^
            t[1][b[6]] ^ t[0][b[7]];
    }
    for (; bytes > 0; ++from, --bytes) crc = t[0][(crc ^ std::to_integer<std::uint32_t>(*from)) & 255] ^ crc >> 8;
    state_ = crc;
  }
  std::uint32_t value() const noexcept { return ~state_; }

 private:
  using Tables = std::array<std::array<std::uint32_t, 256>, 8>;
  static const Tables& tables() noexcept {
    static const Tables made = [] {
      Tables t{};
      for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
        t[0][i] = crc;
      }
      for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t i = 0; i < 256; ++i) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
      return t;
    }();
    return made;
  }
  std::uint32_t state_ = ~0U;
};

}  // namespace baton::record
