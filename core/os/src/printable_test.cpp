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

TEST(Printable, CharactersThatTurnTheDirectionOfATextOrHideDoNotStay) {
  EXPECT_EQ(without_controls("a\u202Etxt.exe"), "a???txt.exe");
  for (const char* hidden : {"\u00AD", "\u061C", "\u180E", "\u200B", "\u200F", "\u2028", "\u202A", "\u2060", "\u2066",
                             "\u2069", "\uFEFF", "\uFFF9", "\U000E0001", "\U000E007F"}) {
    const std::string found = without_controls(std::string("x") + hidden + "y");
    EXPECT_EQ(found.find_first_not_of("?\xC2", 1), found.size() - 1) << found;
  }
  for (const char* text : {"\u05D0\u0627", "\u20AC\u2026\u2030", "\U0001F600", "\xE2\x80", "\xAE\xE2", "\xF3\xA0\x80"})
    EXPECT_EQ(without_controls(text), text);
}

}  // namespace
}  // namespace baton::os
