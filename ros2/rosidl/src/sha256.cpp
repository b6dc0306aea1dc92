// SPDX-License-Identifier: Apache-2.0
#include "sha256.hpp"

#include <cstddef>
#include <string>

namespace baton::rosidl {
namespace {

constexpr std::size_t kBlockBytes = 64;

// FIPS 180-4, section 4.2.2: of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

constexpr std::uint32_t rotated(std::uint32_t word, unsigned right) { return word >> right | word << (32 - right); }

/// Section 6.2.2.
void add_block(State& state, std::string_view block) {
  std::array<std::uint32_t, 64> words{};
  for (std::size_t i = 0; i < kBlockBytes; ++i) words[i / 4] = words[i / 4] << 8 | static_cast<unsigned char>(block[i]);
  for (std::size_t i = 16; i < words.size(); ++i) {
    const std::uint32_t low = words[i - 15], high = words[i - 2];
    words[i] = words[i - 16] + (rotated(low, 7) ^ rotated(low, 18) ^ low >> 3) + words[i - 7] +
               (rotated(high, 17) ^ rotated(high, 19) ^ high >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t first =
        h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + kConstants[i] + words[i];
    const std::uint32_t second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority;
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const State added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

}  // namespace

std::array<std::uint8_t, 32> sha256(std::string_view text) {
  // Section 5.1.1: one bit, zeros up to the last 8 bytes of a block, and there the number of bits.
  std::string padded(text);
  padded += '\x80';
  padded.append((2 * kBlockBytes - 8 - padded.size() % kBlockBytes) % kBlockBytes, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(std::uint64_t{text.size()} * 8 >> shift);
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (std::string_view rest = padded; !rest.empty(); rest.remove_prefix(kBlockBytes)) add_block(state, rest);
  std::array<std::uint8_t, 32> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

}  // namespace baton::rosidl
