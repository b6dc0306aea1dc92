// SPDX-License-Identifier: Apache-2.0
// The merge over random schedules (merge_simulation.hpp), and its rules one by one. ros2/tests/story_test.py asks the same of whole
// processes.
#include "merge.hpp"

#include <cstring>

#include "merge_simulation.hpp"

namespace baton::rmw {
namespace {

constexpr int kSteps = 300;
constexpr std::uint32_t kSeeds = 200;

/// Runs `check(simulation)` after each random schedule. The simulation itself checks that no message comes twice, out of order or
/// expired.
template <class Check>
void each_schedule(const Simulation::Options& options, Check&& check) {
  for (std::uint32_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(options, seed);
    for (int i = 0; i < kSteps; ++i) simulation.step();
    simulation.arrive_all();
    check(simulation);
  }
}

void expect_all_delivered(Simulation& simulation) {
  for (const auto& [time_ns, message] : simulation.sent) {
    ASSERT_EQ(simulation.delivered.count(time_ns), message.meant ? 1U : 0U)
        << "message " << message.number << " of publisher " << message.publisher;
  }
  EXPECT_EQ(simulation.merge.size(), 0U);
  EXPECT_TRUE(simulation.outside.empty()) << "buffers are not released";
}

Simulation::Options reliable_keep_all(std::size_t publishers) {
  Simulation::Options options;
  options.merge = {1000, false, true, INT64_MAX};
  options.publishers = publishers;
  return options;
}

TEST(MergeProperty, everything_reliable_is_delivered_once_it_has_arrived) {
  for (const std::size_t publishers : {1U, 2U, 3U}) {
    each_schedule(reliable_keep_all(publishers), [](Simulation& simulation) {
      simulation.drain(true);
      expect_all_delivered(simulation);
    });
  }
}

TEST(MergeProperty, no_clock_is_needed_where_the_underlying_rmw_has_matched_first) {
  for (const bool announces : {true, false}) {
    Simulation::Options options = reliable_keep_all(3);
    options.matched_at_start = true;
    options.announces_older = announces;
    each_schedule(options, [](Simulation& simulation) {
      simulation.drain(false);
      expect_all_delivered(simulation);
    });
  }
}

TEST(MergeProperty, no_clock_is_needed_where_baton_matches_first_and_carries_everything) {
  Simulation::Options options = reliable_keep_all(1);
  options.queue = SIZE_MAX;
  each_schedule(options, [](Simulation& simulation) {
    simulation.drain(false);
    expect_all_delivered(simulation);
  });
}

TEST(MergeProperty, every_message_of_batons_is_delivered_despite_losses_and_ended_processes) {
  for (const unsigned lost_one_in : {0U, 3U}) {
    Simulation::Options options;
    options.merge = {1000, false, lost_one_in == 0, INT64_MAX};
    options.lost_one_in = lost_one_in;
    options.ends_one_in = 50;
    each_schedule(options, [](Simulation& simulation) {
      simulation.drain(true);
      for (const auto& [time_ns, message] : simulation.sent) {
        if (message.handed) {
          ASSERT_EQ(simulation.delivered.count(time_ns), 1U) << message.number;
        }
      }
      EXPECT_EQ(simulation.merge.size(), 0U);
    });
  }
}

TEST(MergeProperty, keep_last_delivers_the_newest_of_both_paths_and_keeps_no_more) {
  for (const std::size_t depth : {1U, 3U, 8U, 20U}) {
    for (const unsigned takes_one_in : {0U, 2U, 10U}) {
      Simulation::Options options;
      options.merge = {depth, true, true, INT64_MAX};
      options.takes_one_in = takes_one_in;
      options.keeps_samples = takes_one_in == 10;
      each_schedule(options, [depth](Simulation& simulation) {
        const std::size_t taken = simulation.drain(true);
        // Else messages may be taken for copies of what is still in Baton's queue, and are not counted.
        if (depth <= simulation.options.held && !simulation.options.keeps_samples) {
          EXPECT_LE(taken, depth);
        }
        std::size_t newest = 0;
        for (auto each = simulation.sent.rbegin(); each != simulation.sent.rend() && newest < depth; ++each) {
          if (!each->second.meant) continue;
          ++newest;
          ASSERT_EQ(simulation.delivered.count(each->first), 1U)
              << "message " << each->second.number << " of publisher " << each->second.publisher;
        }
        EXPECT_TRUE(simulation.outside.empty());
      });
    }
  }
}

TEST(MergeProperty, nothing_comes_after_its_lifespan) {
  for (const bool keep_last : {false, true}) {
    Simulation::Options options;
    options.merge = {5, keep_last, true, 40};
    options.takes_one_in = 4;
    std::size_t delivered = 0, sent = 0;
    each_schedule(options, [&](Simulation& simulation) {
      delivered += simulation.delivered.size();
      sent += simulation.sent.size();
    });
    EXPECT_GT(delivered, sent / 10);
    EXPECT_LT(delivered, sent);
  }
}

TEST(MergeProperty, the_short_way_chooses_what_the_long_way_chooses) {
  std::size_t of_baton = 0, of_underlying = 0;
  for (const Merge::Options merge : {Merge::Options{1, true, true, INT64_MAX}, Merge::Options{3, true, false, 40},
                                     Merge::Options{8, true, true, INT64_MAX}, Merge::Options{1000, false, true, 60}}) {
    for (std::uint32_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Simulation::Options options;
      options.merge = merge;
      options.publishers = 1 + seed % 3;
      options.ends_one_in = seed % 2 == 0 ? 60 : 0;
      options.lost_one_in = seed % 5 == 0 ? 4 : 0;
      Simulation shortened(options, seed);
      options.the_long_way = true;
      Simulation whole(options, seed);
      shortened.running = whole.running = false;  // the two ask their sources differently often
      for (int i = 0; i < kSteps; ++i) {
        shortened.step();
        whole.step();
        ASSERT_EQ(shortened.chosen.source, whole.chosen.source);
        ASSERT_EQ(shortened.chosen.notified, whole.chosen.notified);
        ASSERT_EQ(shortened.delivered, whole.delivered);
        ASSERT_EQ(shortened.look_again_ns, whole.look_again_ns);
        ASSERT_EQ(shortened.merge.exchange_lost(), whole.merge.exchange_lost());
        ASSERT_EQ(shortened.merge.evicted(), whole.merge.evicted());
        ASSERT_EQ(shortened.merge.duplicates(), whole.merge.duplicates());
        of_baton += whole.chosen.source == Merge::Source::kBaton;
        of_underlying += whole.chosen.source == Merge::Source::kUnderlying;
        if (i % 7 == 0) {
          ASSERT_EQ(shortened.merge.mark_notified(), whole.merge.mark_notified());
        }
      }
    }
  }
  EXPECT_GT(of_baton, 10'000U);
  EXPECT_GT(of_underlying, 10'000U);
}

// The rules one by one: without steps, only what a test does happens.

Simulation::Options still(Merge::Options merge) {
  Simulation::Options options;
  options.merge = merge;
  options.publishers = 2;
  options.matched_at_start = true;
  options.without_memory_one_in = 0;
  return options;
}

struct MergeTest : testing::Test {
  explicit MergeTest(Merge::Options merge = {1000, false, true, INT64_MAX}) : simulation(still(merge), 1) {
    simulation.running = false;
    both.attached = true;
    both.other_reader = plain.other_reader = false;
  }
  Simulation simulation;
  Simulation::Publisher& both = simulation.publishers[0];
  Simulation::Publisher& plain = simulation.publishers[1];
};

TEST_F(MergeTest, the_underlying_rmw_has_its_turn_while_baton_brings_more_and_more) {
  for (int i = 0; i < 7; ++i) simulation.publish(both);
  simulation.publish(plain);
  simulation.arrive_all();
  const std::int64_t underlying_ns = simulation.now_ns;
  for (unsigned i = 0; i < Merge::kTurn; ++i) {
    EXPECT_TRUE(simulation.take());
    EXPECT_EQ(simulation.delivered.count(underlying_ns), 0U);
  }
  EXPECT_TRUE(simulation.take());
  EXPECT_EQ(simulation.delivered.count(underlying_ns), 1U);
}

TEST_F(MergeTest, one_sample_is_taken_ahead_while_no_order_has_to_be_found) {
  for (int i = 0; i < 7; ++i) simulation.publish(both);
  EXPECT_TRUE(simulation.take());
  EXPECT_EQ(simulation.merge.size(), 0U);
  EXPECT_EQ(simulation.baton_unread(), 6U);
}

TEST_F(MergeTest, a_publisher_with_a_message_here_is_not_forgotten) {
  both.attached = false;
  simulation.publish(both);
  simulation.publish(both);
  simulation.arrive_all();
  EXPECT_TRUE(simulation.take());  // the first; the second waits in the merge, or in the history
  EXPECT_TRUE(simulation.merge.fetch_everything());
  for (std::uint32_t other = 0; other <= PathOrders::kMost; ++other) {
    transport::Gid gid{};
    std::memcpy(gid.data() + 4, &other, sizeof other);
    simulation.merge.delivered_directly(gid, 1);
  }
  ASSERT_TRUE(simulation.merge.crowded());
  simulation.merge.forget({});
  EXPECT_FALSE(simulation.merge.crowded());
  simulation.history.push_back({both.gid, 1, 1, 0, false});  // comes again
  EXPECT_TRUE(simulation.take());                            // "twice" would fail
  EXPECT_FALSE(simulation.take());
}

TEST_F(MergeTest, a_gap_in_batons_queue_is_a_loss) {
  simulation.publish(both);
  EXPECT_TRUE(simulation.take());
  simulation.publish(both);
  both.queue.clear();
  simulation.publish(both);
  EXPECT_FALSE(simulation.merge.exchange_lost());
  EXPECT_TRUE(simulation.take());
  EXPECT_TRUE(simulation.merge.exchange_lost());
  EXPECT_FALSE(simulation.merge.exchange_lost());
}

TEST_F(MergeTest, a_message_directly_taken_from_the_underlying_rmw_does_not_come_again_from_baton) {
  both.other_reader = true;
  simulation.publish(both);
  simulation.arrive(both);
  FromUnderlying message;
  ASSERT_TRUE(simulation.take_underlying(&message));
  EXPECT_EQ(simulation.merge.delivered_directly(message.publisher, message.number), 1U);
  EXPECT_FALSE(simulation.take());
  EXPECT_EQ(simulation.merge.duplicates(), 1U);
}

struct KeepLastTest : MergeTest {
  KeepLastTest() : MergeTest({3, true, true, INT64_MAX}) {}
};

TEST_F(KeepLastTest, evicted_messages_are_counted_over_both_sources) {
  for (int i = 0; i < 4; ++i) {
    simulation.publish(both);
    simulation.publish(plain);
  }
  simulation.arrive_all();
  EXPECT_EQ(simulation.drain(false), 3U);
  EXPECT_TRUE(simulation.merge.exchange_lost());
  EXPECT_EQ(simulation.merge.evicted(), 3U);  // one more of each in its own history
}

TEST_F(KeepLastTest, a_message_whose_memory_has_not_arrived_does_not_evict_its_copy) {
  for (int i = 0; i < 3; ++i) {
    both.other_reader = true;
    simulation.publish(both);
  }
  both.without_memory = true;
  simulation.arrive_all_underlying();
  EXPECT_FALSE(simulation.take()) << "it is not known which of Baton's messages are older";
  EXPECT_EQ(simulation.merge.evicted(), 0U);
  simulation.memory_arrives(both);
  EXPECT_EQ(simulation.drain(false), 3U);
  EXPECT_FALSE(simulation.merge.exchange_lost());
}

}  // namespace
}  // namespace baton::rmw
