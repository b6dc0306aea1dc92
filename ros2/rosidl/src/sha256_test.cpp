// SPDX-License-Identifier: Apache-2.0
// SHA-256 beside rcutils' (Jazzy has it, Humble does not), and the examples of FIPS 180-4.
#include "sha256.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "rcutils/sha256.h"

namespace baton::rosidl {
namespace {

std::string hexadecimal(const std::array<std::uint8_t, 32>& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

std::array<std::uint8_t, 32> of_rcutils(const std::string& text) {
  rcutils_sha256_ctx_t context;
  rcutils_sha256_init(&context);
  rcutils_sha256_update(&context, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  std::array<std::uint8_t, 32> digest{};
  rcutils_sha256_final(&context, digest.data());
  return digest;
}

TEST(Sha256, the_examples_of_the_standard) {
  EXPECT_EQ(hexadecimal(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexadecimal(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexadecimal(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, texts_of_every_length_up_to_three_blocks_as_rcutils_hashes_them) {
  std::string text;
  for (int i = 0; i <= 3 * 64; ++i) {
    EXPECT_EQ(sha256(text), of_rcutils(text)) << i;
    text += static_cast<char>(i * 37 + 11);
  }
}

}  // namespace
}  // namespace baton::rosidl
