// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace baton::perf {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  if (n == 0) return {std::nan(""), std::nan(""), std::nan("")};
  // The number of values below the true median is binomial(n, 1/2): take the widest tail with at most 2.5 %.
  double probability = std::pow(0.5, static_cast<double>(n)), tail = probability;
  std::size_t k = 0;
  while (k + 1 < n / 2) {
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (tail + probability > 0.025) break;
    tail += probability;
    ++k;
  }
  return {values[k], median(values), values[n - 1 - k]};
}

bool verdict(const std::string& name, const Interval& figure, const std::string& unit, double bar,
             const std::string& detail) {
  const bool pass = figure.high <= bar;
  std::printf("%s  %-46s %.3g%s [%.3g, %.3g]  bar <= %.3g%s  (%s)\n", pass ? "PASS" : "FAIL", name.c_str(),
              figure.middle, unit.c_str(), figure.low, figure.high, bar, unit.c_str(), detail.c_str());
  std::fflush(stdout);
  return pass;
}

}  // namespace baton::perf
