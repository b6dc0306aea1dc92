// SPDX-License-Identifier: Apache-2.0
#include "departure.hpp"

#include <gtest/gtest.h>

namespace baton::rmw {
namespace {

using Graph = std::vector<transport::EndpointInfo>;

constexpr transport::Gid kReader{1};
constexpr std::int32_t kAlive = 100, kDead = 200, kUnseen = 0;

bool process_ended(std::int32_t pid) { return pid == kDead; }

transport::EndpointInfo endpoint(std::uint8_t gid, std::uint64_t connection, std::int32_t pid) {
  transport::EndpointInfo info;
  info.gid = {gid};
  info.connection = connection;
  info.local_pid = pid;
  return info;
}

bool left(const Graph& before, const Graph& now) {
  return has_left(now, kReader, origin_of(before, kReader), process_ended);
}

TEST(Departure, a_subscription_that_its_process_withdrew_has_left) {
  for (const std::int32_t pid : {kAlive, kUnseen}) {
    EXPECT_TRUE(left({endpoint(1, 7, pid), endpoint(2, 7, pid)}, {endpoint(2, 7, pid)}));
    EXPECT_TRUE(left({endpoint(1, 0, pid), endpoint(2, 0, pid)}, {endpoint(2, 0, pid)}));  // of this process
  }
}

TEST(Departure, a_subscription_whose_process_died_has_left) {
  EXPECT_TRUE(left({endpoint(1, 7, kDead)}, {}));
  EXPECT_TRUE(left({endpoint(1, 7, kDead)}, {endpoint(3, 8, kAlive)}));
}

TEST(Departure, a_subscription_whose_process_was_disconnected_and_lives_has_not) {
  EXPECT_FALSE(left({endpoint(1, 7, kAlive), endpoint(2, 7, kAlive)}, {}));
  EXPECT_FALSE(left({endpoint(1, 7, kUnseen), endpoint(2, 7, kUnseen)}, {endpoint(3, 8, kUnseen)}));
}

TEST(Departure, nor_has_one_whose_process_is_coming_back_and_has_announced_other_endpoints_so_far) {
  EXPECT_FALSE(left({endpoint(1, 7, kAlive), endpoint(2, 7, kAlive)}, {endpoint(2, 9, kAlive)}));
  EXPECT_FALSE(left({endpoint(1, 7, kUnseen), endpoint(2, 7, kUnseen)}, {endpoint(2, 9, kUnseen)}));
  EXPECT_FALSE(
      left({endpoint(1, 7, kAlive), endpoint(2, 7, kAlive)}, {endpoint(2, 9, kAlive), endpoint(1, 9, kAlive)}));
}

TEST(Departure, of_a_subscription_that_the_graph_did_not_have_nothing_is_known) {
  EXPECT_FALSE(left({}, {}));
  EXPECT_FALSE(left({}, {endpoint(2, 0, kAlive)}));
}

}  // namespace
}  // namespace baton::rmw
