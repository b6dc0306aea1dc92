// SPDX-License-Identifier: Apache-2.0
// The account of notifications: an application that takes once for each message that it was notified of.
#include "notifications.hpp"

#include "merge_simulation.hpp"

namespace baton::rmw {
namespace {

/// The callback thread and the application, as subscription_path.cpp wires them.
struct Application {
  explicit Application(Simulation& simulated) : simulation(simulated) {}

  void run_callback_thread() {
    bool more_waits = false;
    owed += account.fetch({simulation.now_ns, simulation.now_ns}, &more_waits);
  }
  void take() {
    if (owed == 0) return;
    --owed;
    std::int64_t look_again_ns = INT64_MAX;
    const Merge::Next next = simulation.merge.choose({simulation.now_ns, simulation.now_ns}, &look_again_ns);
    if (next.source == Merge::Source::kNone) {
      if (!account.found_nothing(look_again_ns)) ++vain;
      return;
    }
    account.taken(next.notified);
    simulation.take(next);
  }
  /// Until nothing is left to notify of, also at a later time.
  void finish() {
    for (;;) {
      run_callback_thread();
      if (owed == 0 && account.look_again_ns() == INT64_MAX) return;
      if (owed == 0) simulation.now_ns = account.look_again_ns();
      while (owed != 0) take();
    }
  }

  Simulation& simulation;
  Notifications account{simulation.merge};
  std::size_t owed = 0;  // takes
  std::size_t vain = 0;  // notifications without a message
};

TEST(NotificationsProperty, one_take_for_each_notification_gets_every_message_and_none_is_in_vain) {
  for (const std::size_t publishers : {1U, 3U}) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Simulation::Options options;
      options.merge = {1000, false, true, INT64_MAX};
      options.publishers = publishers;
      options.takes_one_in = 0;
      options.keeps_samples = seed % 2 == 0;
      Simulation simulation(options, seed);
      Application application(simulation);
      application.account.start();
      for (int i = 0; i < 300; ++i) {
        simulation.step();
        if (simulation.one_in(3)) application.run_callback_thread();
        if (simulation.one_in(2)) application.take();
      }
      simulation.arrive_all();
      application.finish();
      for (const auto& [time_ns, message] : simulation.sent) {
        ASSERT_EQ(simulation.delivered.count(time_ns), message.meant ? 1U : 0U)
            << "message " << message.number << " of publisher " << message.publisher;
      }
      if (!options.keeps_samples) {  // else a message may be notified of beside its copy, which may not be fetched
        EXPECT_EQ(application.vain, 0U);
      }
      EXPECT_FALSE(application.account.pending());
      if (HasFailure()) return;
    }
  }
}

struct NotificationsTest : testing::Test {
  NotificationsTest() : simulation(options(), 1), application(simulation) {
    simulation.running = false;
    publisher.other_reader = false;
    publisher.attached = true;
  }
  static Simulation::Options options() {
    Simulation::Options options;
    options.merge = {5, false, true, INT64_MAX};
    options.matched_at_start = true;
    return options;
  }
  Simulation simulation;
  Application application;
  Notifications& account = application.account;
  Simulation::Publisher& publisher = simulation.publishers[0];
};

TEST_F(NotificationsTest, a_message_that_takes_both_paths_is_counted_once) {
  publisher.other_reader = true;
  account.start();
  simulation.publish(publisher);
  application.run_callback_thread();
  EXPECT_EQ(application.owed, 1U);
  simulation.arrive_all();
  application.run_callback_thread();
  EXPECT_EQ(application.owed, 1U);
}

TEST_F(NotificationsTest, a_message_whose_copy_is_fetched_later_keeps_its_mark) {
  publisher.other_reader = true;
  publisher.kept = simulation.options.held;
  account.start();
  simulation.publish(publisher);
  simulation.arrive(publisher);
  application.run_callback_thread();  // has the underlying RMW's
  EXPECT_EQ(application.owed, 1U);
  publisher.kept = 0;
  application.run_callback_thread();  // has Baton's, too
  EXPECT_EQ(application.owed, 1U);
  EXPECT_EQ(simulation.merge.size(), 1U);
}

TEST_F(NotificationsTest, a_message_that_another_thread_takes_first_is_counted_later) {
  account.start();
  simulation.publish(publisher);
  ASSERT_TRUE(simulation.take());  // before the callback thread has run
  account.taken(false);
  EXPECT_TRUE(account.pending());
  application.run_callback_thread();
  EXPECT_EQ(application.owed, 1U);
  EXPECT_FALSE(account.pending());
}

TEST_F(NotificationsTest, without_a_callback_nothing_is_counted) {
  simulation.publish(publisher);
  ASSERT_TRUE(simulation.take());
  account.taken(false);
  EXPECT_FALSE(account.pending());
  account.start();
  application.run_callback_thread();
  EXPECT_EQ(application.owed, 0U);
}

TEST_F(NotificationsTest, a_second_callback_is_not_notified_of_messages_taken_before) {
  account.start();
  simulation.publish(publisher);
  ASSERT_TRUE(simulation.take());
  account.taken(false);  // pending
  account.stop();
  account.start();
  EXPECT_FALSE(account.pending());
}

TEST_F(NotificationsTest, a_take_that_came_too_early_is_made_up_for) {
  publisher.attached = false;
  simulation.publish(publisher);  // on its way through the underlying RMW
  publisher.attached = true;
  simulation.publish(publisher);
  account.start();
  application.run_callback_thread();
  ASSERT_EQ(application.owed, 1U);
  application.take();
  EXPECT_TRUE(simulation.delivered.empty());
  EXPECT_EQ(application.vain, 0U);
  EXPECT_LT(account.look_again_ns(), INT64_MAX);
  simulation.arrive_all();
  application.run_callback_thread();
  EXPECT_EQ(application.owed, 2U);  // the older message, and again the younger
  application.take();
  application.take();
  EXPECT_EQ(simulation.delivered.size(), 2U);
}

TEST_F(NotificationsTest, messages_that_were_announced_in_the_underlying_rmw_are_not_counted_again) {
  account.start();
  EXPECT_EQ(account.count_direct(3), 3U);
  EXPECT_TRUE(account.taken_from_underlying());
  EXPECT_EQ(account.count_direct(9), 9U);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(account.taken_from_underlying()) << "the depth bounds what can be there";
  EXPECT_FALSE(account.taken_from_underlying());
  EXPECT_EQ(account.count_direct(1), 1U);
  account.underlying_is_empty();
  EXPECT_FALSE(account.taken_from_underlying());
}

TEST_F(NotificationsTest, messages_that_may_not_be_fetched_yet_are_reported) {
  publisher.kept = simulation.options.held;
  account.start();
  simulation.publish(publisher);
  bool more_waits = false;
  EXPECT_EQ(account.fetch({1, 1}, &more_waits), 0U);
  EXPECT_TRUE(more_waits);
  publisher.kept = 0;
  EXPECT_EQ(account.fetch({1, 1}, &more_waits), 1U);
  EXPECT_FALSE(more_waits);
}

}  // namespace
}  // namespace baton::rmw
