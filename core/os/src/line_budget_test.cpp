// SPDX-License-Identifier: Apache-2.0
#include "baton/os/line_budget.hpp"

#include <gtest/gtest.h>

namespace baton::os {
namespace {

using Time = std::chrono::steady_clock::time_point;

TEST(LineBudget, PassesTheSameFewLinesInEachWindowWhateverTheySay) {
  LineBudget budget;
  std::string last, text;
  for (int window = 1; window <= 3; ++window) {
    const Time begin{std::chrono::seconds(window * 11)};
    unsigned passed = 0;
    for (unsigned i = 0; i < 100'000; ++i) {
      text = "peer " + std::to_string(i);
      if (!budget.pass(begin + std::chrono::microseconds(i), &text)) continue;
      if (++passed == 1) {
        EXPECT_EQ(text, window == 1 ? "peer 0" : "peer 0 (before it, 99950 lines were dropped)");
      }
      last = text;
    }
    EXPECT_EQ(passed, LineBudget::kMost);
    EXPECT_EQ(last, "more than 50 lines in 10 s; the next ones are dropped (the last: peer 49)");
  }
}

TEST(LineBudget, SaysNothingOfItselfWhileLinesAreFew) {
  LineBudget budget;
  for (int i = 0; i < 1'000; ++i) {
    std::string text = "line";
    EXPECT_TRUE(budget.pass(Time{std::chrono::seconds(i)}, &text));
    EXPECT_EQ(text, "line");
  }
}

}  // namespace
}  // namespace baton::os
