// SPDX-License-Identifier: Apache-2.0
#include "deadlines.hpp"

#include <gtest/gtest.h>

namespace baton::rmw {
namespace {

constexpr std::int64_t kPeriod = 100'000'000;

struct Looked {
  std::int64_t due_ns;
  bool missed;
};
Looked look(std::int64_t due_ns, std::int64_t newest_ns, std::int64_t now_ns) {
  Looked looked{};
  looked.due_ns = Deadlines::next_due(due_ns, newest_ns, kPeriod, now_ns, &looked.missed);
  return looked;
}

TEST(Deadlines, nothing_is_missed_before_the_first_message) {
  const Looked looked = look(kPeriod, 0, 50 * kPeriod);
  EXPECT_FALSE(looked.missed);
  EXPECT_EQ(looked.due_ns, 51 * kPeriod);
}

TEST(Deadlines, a_message_moves_the_deadline_one_period_beyond_itself) {
  const Looked looked = look(10 * kPeriod, 10 * kPeriod - 1, 10 * kPeriod);
  EXPECT_FALSE(looked.missed);
  EXPECT_EQ(looked.due_ns, 11 * kPeriod - 1);
}

TEST(Deadlines, a_silence_is_missed_once_a_period) {
  std::int64_t due_ns = 10 * kPeriod;
  int missed = 0;
  for (std::int64_t now_ns = due_ns; now_ns < 20 * kPeriod; now_ns = due_ns) {
    const Looked looked = look(due_ns, 9 * kPeriod, now_ns);
    missed += looked.missed ? 1 : 0;
    ASSERT_GT(looked.due_ns, now_ns);
    due_ns = looked.due_ns;
  }
  EXPECT_EQ(missed, 10);
}

TEST(Deadlines, a_late_look_is_followed_by_a_pause) {
  const Looked looked = look(10 * kPeriod, 9 * kPeriod, 15 * kPeriod);
  EXPECT_TRUE(looked.missed);
  EXPECT_EQ(looked.due_ns, 15 * kPeriod + Deadlines::kShortestNs);
}

}  // namespace
}  // namespace baton::rmw
