// SPDX-License-Identifier: Apache-2.0
#include "baton/os/printable.hpp"

#include <gtest/gtest.h>

namespace baton::os {
namespace {

TEST(Printable, EveryByteThatIsNoPrintableAsciiIsReplaced) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string out = printable(all);
  ASSERT_EQ(out.size(), all.size());
  for (int byte = 0; byte < 256; ++byte) {
    const auto at = static_cast<std::size_t>(byte);
    EXPECT_EQ(out[at], byte >= 0x20 && byte <= 0x7E ? all[at] : '?') << byte;
  }
}

TEST(Printable, LettersOfUtf8StayAndControlCharactersDoNot) {
  EXPECT_EQ(without_controls("caf\xC3\xA9 \xE2\x82\xAC"), "caf\xC3\xA9 \xE2\x82\xAC");
  EXPECT_EQ(without_controls("a\tb\nc\x1B[2J\x7F"), "a?b?c?[2J?");
  EXPECT_EQ(without_controls("\xC2\x9B"
                             "2J"),
            "\xC2?2J")
      << "U+009B begins a control sequence, as ESC [ does";
  EXPECT_EQ(without_controls("\xC2\xA0"), "\xC2\xA0");
}

}  // namespace
}  // namespace baton::os
