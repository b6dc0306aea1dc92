// SPDX-License-Identifier: Apache-2.0
#include "baton/node/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "baton/baton.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "node_test_domain.hpp"

using namespace std::chrono_literals;
using String = baton::msg::std_msgs::String;

namespace {

class ExecutorTest : public baton::test::DomainTest {};

TEST_F(ExecutorTest, SpinRunsCallbacksUntilItIsCancelled) {
  baton::Node node("n");
  baton::Executor executor;
  int calls = 0;
  auto sub = node.subscribe<String>("t", {}, [&](const String&) { if (++calls == 3) executor.cancel(); });
  auto pub = node.advertise<String>("t");
  baton::test::await_matched(node, sub);
  executor.add(node);
  std::thread talker([&] { for (int i = 0; i < 3; ++i) { std::this_thread::sleep_for(2ms); pub.publish(String{}); } });
  executor.spin();
  talker.join();
  EXPECT_EQ(calls, 3);
}

TEST_F(ExecutorTest, ANodeBelongsToOneExecutorAtATime) {
  baton::Node node("n");
  baton::Executor a, b;
  a.add(node);
  EXPECT_THROW(b.add(node), baton::Exception);
  a.remove(node);
  EXPECT_NO_THROW(b.add(node));
  EXPECT_THROW(a.remove(node), baton::Exception);
}

TEST_F(ExecutorTest, AnExceptionOfACallbackComesOutOfSpin) {
  baton::Node node("n");
  auto timer = node.create_timer(1ms, [] { throw std::runtime_error("from the callback"); });
  for (unsigned threads : {1u, 3u}) {
    baton::Executor executor(threads);
    executor.add(node);
    EXPECT_THROW(executor.spin(), std::runtime_error);
  }
}

TEST_F(ExecutorTest, TimersKeepTheirPhaseAndSkipMissedPeriods) {
  baton::Node node("n");
  auto clock = std::make_shared<baton::SimulatedClock>();
  int calls = 0;
  auto timer = node.create_timer(10ms, [&] { ++calls; }, clock);
  baton::Executor executor;
  executor.add(node);
  EXPECT_FALSE(executor.spin_once(0s));
  clock->set(10ms);
  EXPECT_TRUE(executor.spin_once(1s));
  EXPECT_FALSE(executor.spin_once(0s));
  clock->set(45ms);
  EXPECT_TRUE(executor.spin_once(1s));
  EXPECT_FALSE(executor.spin_once(0s)) << "three periods passed, one call";
  clock->set(50ms);
  EXPECT_TRUE(executor.spin_once(1s));
  EXPECT_EQ(calls, 3);
}

TEST_F(ExecutorTest, AJumpOfSimulatedTimeWakesASleepingExecutor) {
  baton::Node node("n");
  auto clock = std::make_shared<baton::SimulatedClock>();
  baton::Executor executor;
  auto timer = node.create_timer(1s, [&] { executor.cancel(); }, clock);
  executor.add(node);
  std::thread jump([&] { std::this_thread::sleep_for(20ms); clock->set(2s); });
  executor.spin();
  jump.join();
}

TEST_F(ExecutorTest, ADestroyedSubscriptionIsNotCalledAgain) {
  baton::Node node("n");
  baton::Executor executor;
  executor.add(node);
  int calls = 0;
  auto pub = node.advertise<String>("t");
  {
    auto sub = node.subscribe<String>("t", {}, [&](const String&) { ++calls; });
    baton::test::await_matched(node, pub);
    pub.publish(String{});
  }
  EXPECT_FALSE(executor.spin_once(10ms));
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(node.wait_for([&] { return pub.matched() == 0; }, 5s));
}

TEST_F(ExecutorTest, CallbacksOfOneGroupNeverOverlapAndGroupsRunInParallel) {
  baton::Node node("n");
  baton::Executor executor(3);
  auto other = std::make_shared<baton::CallbackGroup>();
  std::atomic<int> in_group{0}, overlaps{0}, together{0}, done{0};
  std::atomic<bool> other_running{false};
  auto work = [&](const String&) {
    if (in_group.fetch_add(1) != 0) ++overlaps;
    std::this_thread::sleep_for(2ms);
    if (other_running) ++together;
    in_group.fetch_sub(1);
    ++done;
  };
  auto a = node.subscribe<String>("t", baton::QoS(100), work);
  auto b = node.subscribe<String>("t", baton::QoS(100), work);
  auto c = node.subscribe<String>("t", baton::QoS(100), [&](const String&) {
    other_running = true;
    std::this_thread::sleep_for(3ms);
    other_running = false;
    ++done;
  }, other);
  auto pub = node.advertise<String>("t");
  for (auto* sub : {&a, &b, &c}) baton::test::await_matched(node, *sub);
  executor.add(node);
  for (int i = 0; i < 20; ++i) pub.publish(String{});
  std::thread spinner([&] { executor.spin(); });
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (done < 60 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  executor.cancel();
  spinner.join();
  EXPECT_EQ(done, 60);
  EXPECT_EQ(overlaps, 0);
  EXPECT_GT(together, 0);
}

TEST_F(ExecutorTest, SpinSomeRunsWhatIsReadyAndReturns) {
  baton::Node node("n");
  baton::Executor executor;
  executor.add(node);
  EXPECT_EQ(executor.spin_some(), 0u);
  int calls = 0;
  auto sub = node.subscribe<String>("t", {}, [&](const String&) { ++calls; });
  auto pub = node.advertise<String>("t");
  baton::test::await_matched(node, sub);
  pub.publish(String{});
  EXPECT_EQ(executor.spin_some(), 1u);
  EXPECT_EQ(calls, 1);
}

TEST_F(ExecutorTest, ZeroThreadsAreRefused) { EXPECT_THROW(baton::Executor(0), baton::Exception); }

}  // namespace
