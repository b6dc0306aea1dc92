// SPDX-License-Identifier: Apache-2.0
#include "baton/os/hexadecimal.hpp"

#include <gtest/gtest.h>

namespace baton::os {
namespace {

TEST(Hexadecimal, BytesComeBackFromTheirDigits) {
  std::array<std::uint8_t, 256> all{}, back{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i);
  const std::string text = hexadecimal(all);
  EXPECT_EQ(text.substr(0, 6), "000102");
  EXPECT_EQ(text.substr(text.size() - 4), "feff");
  ASSERT_TRUE(from_hexadecimal(text, back));
  EXPECT_EQ(back, all);
}

TEST(Hexadecimal, OnlyTheRightNumberOfLowerCaseDigitsIsRead) {
  std::array<std::uint8_t, 2> bytes{};
  EXPECT_TRUE(from_hexadecimal("09af", bytes));
  for (const std::string& text : {std::string("09a"), std::string("09af0"), std::string("09aF"), std::string("09ag"),
                                  std::string("09a\0", 4), std::string("-9af")})
    EXPECT_FALSE(from_hexadecimal(text, bytes)) << text;
}

}  // namespace
}  // namespace baton::os
