// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <gtest/gtest.h>

#include <numeric>

using namespace baton::perf;

TEST(Figures, TheMedianOfAnEvenNumberLiesBetweenTheMiddleTwo) { EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5); }

TEST(Figures, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(quantile({5}, 0.99), 5);
}

TEST(Figures, TheIntervalOfElevenValuesIsTheSecondToTheTenth) {
  std::vector<double> values(11);
  std::iota(values.begin(), values.end(), 1.0);
  const Interval interval = median_interval(values);  // binomial(11, 1/2): P(X <= 1) = 0.6 %, P(X <= 2) = 3.3 %
  EXPECT_DOUBLE_EQ(interval.low, 2);
  EXPECT_DOUBLE_EQ(interval.middle, 6);
  EXPECT_DOUBLE_EQ(interval.high, 10);
}

TEST(Figures, ABarIsPassedOnlyByTheUpperEndOfTheInterval) {
  EXPECT_TRUE(verdict("a", {0.9, 1.0, 1.1}, "x", 1.1, ""));
  EXPECT_FALSE(verdict("b", {0.9, 1.0, 1.2}, "x", 1.1, ""));
}
