// SPDX-License-Identifier: Apache-2.0
#include "baton/os/clock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::os {
namespace {

std::int64_t libc_ns(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class Clocks : public testing::TestWithParam<clockid_t> {};

TEST_P(Clocks, AReadingLiesBetweenTwoOfLibc) {
  int between = 0;  // but for the moment in which somebody sets CLOCK_REALTIME back
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t before = libc_ns(GetParam());
    const std::int64_t now = clock_ns(GetParam());
    between += before <= now && now <= libc_ns(GetParam());
  }
  EXPECT_GE(between, 990);
}

TEST_P(Clocks, AForkedChildReadsOn) {
  const std::int64_t before = clock_ns(GetParam());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(clock_ns(GetParam()) >= before ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Clocks, BothAreReadOneRightAfterTheOther) {
  const std::int64_t before = clock_ns(CLOCK_MONOTONIC);
  const Times both = read_both_clocks();
  EXPECT_LE(before, both.machine_ns);
  EXPECT_LE(both.machine_ns, clock_ns(CLOCK_MONOTONIC));
  EXPECT_NEAR(static_cast<double>(both.realtime_ns), static_cast<double>(clock_ns(CLOCK_REALTIME)), 60e9);
}

TEST(Clocks, ATimeOfTheMachineComesBackAsItWasWhateverAnotherProcessWrote) {
  for (const std::int64_t time : {std::int64_t{0}, INT64_MIN, INT64_MAX, clock_ns(CLOCK_MONOTONIC)})
    EXPECT_EQ(of_process(of_machine(time)), time);
  EXPECT_EQ(of_process(0), time_namespace_ns());
}

INSTANTIATE_TEST_SUITE_P(Both, Clocks, testing::Values(CLOCK_MONOTONIC, CLOCK_REALTIME));

}  // namespace
}  // namespace baton::os
