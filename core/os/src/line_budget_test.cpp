// SPDX-License-Identifier: Apache-2.0
#include "baton/os/line_budget.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace baton::os {
namespace {

using Time = std::chrono::steady_clock::time_point;

TEST(LineBudget, PassesTheSameFewLinesInEachWindowWhateverTheySay) {
  LineBudget budget;
  for (int window = 1; window <= 3; ++window) {
    const Time begin{std::chrono::seconds(window * 11)};
    std::vector<std::string> passed;
    for (unsigned i = 0; i < 100'000; ++i) {
      if (const auto line = budget.admit(begin + std::chrono::microseconds(i), Errc::type_mismatch))
        passed.push_back(line->of("peer " + std::to_string(i)));
    }
    ASSERT_EQ(passed.size(), LineBudget::kMost);
    EXPECT_EQ(passed.front(), window == 1 ? "peer 0" : "peer 0 (before it, 99950 lines were left out)");
    EXPECT_EQ(passed.back(), "peer 49 (most lines of the next 10 s are left out)");
  }
}

TEST(LineBudget, PassesTheFirstLineOfEachKindInEachWindowWhateverTheFlood) {
  LineBudget budget;
  for (int window = 1; window <= 3; ++window) {
    const Time begin{std::chrono::seconds(window * 11)};
    for (unsigned i = 0; i < 1000; ++i) budget.admit(begin, Errc::type_mismatch);
    const auto line = budget.admit(begin, Errc::out_of_memory);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->of("no memory"), "no memory (before it, 950 lines were left out)");
    EXPECT_FALSE(budget.admit(begin, Errc::out_of_memory));
    EXPECT_TRUE(budget.admit(begin, Errc::disconnected)) << "another kind";
  }
}

TEST(LineBudget, NumbersThatAreNoErrorCodeAreOneKind) {
  LineBudget budget;
  for (unsigned i = 0; i < 1000; ++i) budget.admit(Time{}, Errc::type_mismatch);
  int passed = 0;
  for (int code : {0, -1, 32, 33, 1 << 30}) passed += budget.admit(Time{}, static_cast<Errc>(code)).has_value();
  EXPECT_EQ(passed, 1);
}

TEST(LineBudget, SaysNothingOfItselfWhileLinesAreFew) {
  LineBudget budget;
  for (int i = 0; i < 1'000; ++i) {
    const auto line = budget.admit(Time{std::chrono::seconds(i)}, Errc::system);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->of("line"), "line");
  }
}

TEST(LineBudget, ManyThreadsTogetherHaveNoMoreAndEachLineIsWrittenOrCounted) {
  LineBudget budget;
  std::atomic<std::uint64_t> passed{0}, said{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10'000; ++k) {
        const auto line = budget.admit(Time{}, Errc::system);
        if (!line) continue;
        ++passed;
        said += line->left_out;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed, LineBudget::kMost);
  const auto next = budget.admit(Time{LineBudget::kWindow * 2}, Errc::system);
  ASSERT_TRUE(next);
  EXPECT_EQ(passed + said + next->left_out, 40'000u);
}

}  // namespace
}  // namespace baton::os
