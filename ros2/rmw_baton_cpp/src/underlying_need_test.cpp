// SPDX-License-Identifier: Apache-2.0
#include "underlying_need.hpp"

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

bool ended(const Graph& before, const Graph& now) {
  return has_ended(now, kReader, origin_of(before, kReader), process_ended);
}

TEST(HasEnded, a_reader_that_its_process_withdrew) {
  for (const std::int32_t pid : {kAlive, kUnseen}) {
    EXPECT_TRUE(ended({endpoint(1, 7, pid), endpoint(2, 7, pid)}, {endpoint(2, 7, pid)}));
    EXPECT_TRUE(ended({endpoint(1, 0, pid), endpoint(2, 0, pid)}, {endpoint(2, 0, pid)}));  // of this process
  }
}

TEST(HasEnded, a_reader_whose_process_died) {
  EXPECT_TRUE(ended({endpoint(1, 7, kDead)}, {}));
  EXPECT_TRUE(ended({endpoint(1, 7, kDead)}, {endpoint(3, 8, kAlive)}));
}

TEST(HasEnded, not_a_reader_whose_process_was_disconnected_and_lives) {
  EXPECT_FALSE(ended({endpoint(1, 7, kAlive), endpoint(2, 7, kAlive)}, {}));
  EXPECT_FALSE(ended({endpoint(1, 7, kUnseen), endpoint(2, 7, kUnseen)}, {endpoint(3, 8, kUnseen)}));
}

TEST(HasEnded, not_a_reader_whose_process_comes_back_and_has_announced_other_endpoints_so_far) {
  EXPECT_FALSE(ended({endpoint(1, 7, kAlive), endpoint(2, 7, kAlive)}, {endpoint(2, 9, kAlive)}));
  EXPECT_FALSE(ended({endpoint(1, 7, kUnseen), endpoint(2, 7, kUnseen)}, {endpoint(2, 9, kUnseen)}));
  EXPECT_FALSE(
      ended({endpoint(1, 7, kAlive), endpoint(2, 7, kAlive)}, {endpoint(2, 9, kAlive), endpoint(1, 9, kAlive)}));
}

TEST(HasEnded, nothing_is_known_of_a_reader_that_the_graph_did_not_have) {
  EXPECT_FALSE(ended({}, {}));
  EXPECT_FALSE(ended({}, {endpoint(2, 0, kAlive)}));
}

/// A publisher, its readers by the numbers that their gids begin with, and a clock that a test moves.
struct UnderlyingNeedTest : testing::Test {
  /// As PublisherPath does before each message.
  bool needed() {
    facts.served.clear();
    facts.known.clear();
    for (const std::uint8_t reader : served) facts.served.push_back({reader});
    for (const std::uint8_t reader : known) facts.known.push_back({{reader}, "/node", reader != incompatible});
    facts.matched_baton = served.size();
    facts.process_ended = process_ended;
    facts.context_of = [this](const transport::Gid&) { return context; };
    if (need.is_due(facts.matched_underlying, facts.matched_baton, [this] { return now_ns; })) {
      need.look(facts, now_ns);
      ++looks;
    }
    return need.needed();
  }

  UnderlyingNeed need;
  UnderlyingNeed::Facts facts;
  std::vector<std::uint8_t> served, known;
  std::uint8_t incompatible = 0;
  ContextState context = ContextState::kUnknown;
  std::int64_t now_ns = 1;
  int looks = 0;
};

TEST_F(UnderlyingNeedTest, no_reader_needs_nothing_and_is_not_looked_for_again) {
  EXPECT_FALSE(needed());
  EXPECT_FALSE(needed());
  EXPECT_EQ(looks, 1);
}

TEST_F(UnderlyingNeedTest, readers_that_baton_serves_need_nothing_more) {
  served = known = {1, 2};
  facts.matched_underlying = 2;
  EXPECT_FALSE(needed());
}

TEST_F(UnderlyingNeedTest, a_reader_that_baton_does_not_serve_is_looked_at_again_and_again) {
  known = {1};
  facts.matched_underlying = 1;
  EXPECT_TRUE(needed());
  EXPECT_TRUE(needed());
  EXPECT_EQ(looks, 1);
  now_ns += UnderlyingNeed::kLookAgainNs;
  EXPECT_TRUE(needed());
  EXPECT_EQ(looks, 2);
  served = {1};
  EXPECT_FALSE(needed());
}

TEST_F(UnderlyingNeedTest, a_matched_reader_that_the_graph_does_not_have_yet_needs_it) {
  facts.matched_underlying = 1;
  EXPECT_TRUE(needed());
  ASSERT_EQ(need.readers().size(), 1U);
  EXPECT_TRUE(need.readers()[0].needs_underlying);
}

TEST_F(UnderlyingNeedTest, a_reader_of_another_quality_of_service_needs_nothing) {
  known = {1};
  incompatible = 1;
  EXPECT_FALSE(needed());
}

TEST_F(UnderlyingNeedTest, a_served_reader_that_ended_needs_nothing_although_the_underlying_rmw_still_knows_it) {
  served = known = {1};
  facts.matched_underlying = 1;
  facts.graph = {endpoint(1, 7, kDead)};
  EXPECT_FALSE(needed());
  served.clear();
  facts.graph.clear();
  EXPECT_FALSE(needed());
  EXPECT_STREQ(need.readers()[0].why, "has left; the underlying RMW does not know yet");
  now_ns += UnderlyingNeed::kForgetEndedNs;
  EXPECT_TRUE(needed()) << "a lease has run out; it is another reader";
}

TEST_F(UnderlyingNeedTest, a_served_reader_whose_process_was_disconnected_needs_it_until_it_is_served_again) {
  served = known = {1};
  facts.matched_underlying = 1;
  facts.graph = {endpoint(1, 7, kAlive)};
  EXPECT_FALSE(needed());
  served.clear();
  facts.graph.clear();
  EXPECT_TRUE(needed());
  served = {1};
  EXPECT_FALSE(needed());
}

TEST_F(UnderlyingNeedTest, a_reader_whose_process_died_before_baton_served_it_needs_nothing) {
  known = {1};
  facts.matched_underlying = 1;
  context = ContextState::kDead;
  EXPECT_FALSE(needed());
}

TEST_F(UnderlyingNeedTest, newcomers_that_the_underlying_rmw_has_matched_get_one_more_message_from_it) {
  facts.wrote_underlying = true;
  served = known = {1};
  facts.matched_underlying = 1;
  EXPECT_TRUE(needed());
  EXPECT_EQ(need.older(), OlderUnderlying::kFollowed);
  need.handed_over();
  EXPECT_FALSE(needed());
  EXPECT_EQ(need.older(), OlderUnderlying::kUnknown);
}

TEST_F(UnderlyingNeedTest, newcomers_that_the_underlying_rmw_does_not_know_get_nothing_older_from_it) {
  facts.wrote_underlying = true;
  served = {1};
  EXPECT_FALSE(needed());
  EXPECT_EQ(need.older(), OlderUnderlying::kNone);
}

TEST_F(UnderlyingNeedTest, nothing_is_stated_while_graph_and_matches_differ_or_some_newcomers_only_are_known) {
  facts.wrote_underlying = true;
  served = {1, 2};
  known = {1};
  facts.matched_underlying = 1;
  EXPECT_FALSE(needed());
  EXPECT_EQ(need.older(), OlderUnderlying::kUnknown);
  facts.matched_underlying = 2;
  EXPECT_TRUE(needed());
  EXPECT_EQ(need.older(), OlderUnderlying::kUnknown);
}

}  // namespace
}  // namespace baton::rmw
