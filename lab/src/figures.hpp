// SPDX-License-Identifier: Apache-2.0
// From raw samples to a verdict. Thread rules: pure functions.
#pragma once

#include <string>
#include <vector>

namespace baton::perf {

double median(std::vector<double> values);
double quantile(std::vector<double> values, double q);

/// A median with the 95 % confidence interval of order statistics (binomial; no assumption on the distribution).
struct Interval {
  double low, middle, high;
};
Interval median_interval(std::vector<double> values);

/// One criterion: prints "PASS|FAIL  name  ratio 1.02 [0.98, 1.07]  bar <= 1.10  (detail)". Passes if the interval's
/// upper end is within the bar. Returns the verdict.
bool verdict(const std::string& name, const Interval& figure, const std::string& unit, double bar,
             const std::string& detail);

}  // namespace baton::perf
