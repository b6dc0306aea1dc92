// SPDX-License-Identifier: Apache-2.0
#include "model_test.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace baton::model {
namespace {

bool g_full = false;

void print(const char* name, const char* verdict, const Options& options, const Report& report) {
  std::string bounds = "all interleavings";
  if (options.preemptions >= 0) bounds = std::to_string(options.preemptions) + " preemptions";
  if (options.kills > 0) bounds += ", " + std::to_string(options.kills) + " kill";
  std::printf("[ explored ] %-34s %-10s %10llu states %10llu executions %11llu steps %7.2f s  (%s%s)\n", name, verdict,
              static_cast<unsigned long long>(report.states), static_cast<unsigned long long>(report.executions),
              static_cast<unsigned long long>(report.steps), report.seconds, bounds.c_str(),
              report.complete || !report.violation.empty() ? "" : ", CUT SHORT");
  std::fflush(stdout);
}

}  // namespace

bool full_run() { return g_full; }

void expect_correct(const char* name, const std::function<std::unique_ptr<Scenario>()>& make, Options options) {
  if (g_full) options.max_seconds = 7200;
  const Report report = explore(make, options);
  print(name, report.violation.empty() ? "correct" : "VIOLATION", options, report);
  EXPECT_EQ(report.violation, "") << name << ", the execution that shows it:\n" << report.trace;
  EXPECT_TRUE(report.complete || !report.violation.empty()) << name << " was not explored to the end";
}

void expect_violation(const char* name, const std::function<std::unique_ptr<Scenario>()>& make, Options options) {
  const Report report = explore(make, options);
  print(name, report.violation.empty() ? "NOT FOUND" : "found", options, report);
  EXPECT_NE(report.violation, "") << name << ": the checker missed a bug";
  if (!report.violation.empty()) std::printf("             %s\n", report.violation.c_str());
}

}  // namespace baton::model

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* environment = std::getenv("BATON_MODEL_FULL");
  baton::model::g_full = environment != nullptr && std::strcmp(environment, "1") == 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--full") == 0) baton::model::g_full = true;
  }
  return RUN_ALL_TESTS();
}
