// SPDX-License-Identifier: Apache-2.0
#include "baton/node/executor.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "baton/baton.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using String = baton::msg::std_msgs::String;

namespace {

class ExecutorTest : public baton::test::DomainTest {};

TEST_F(ExecutorTest, SpinRunsCallbacksUntilItIsCancelled) {
  baton::Node node("n");
  baton::Executor executor;
  int calls = 0;
  auto sub = node.subscribe<String>("t", {}, [&](const String&) {
    if (++calls == 3) executor.cancel();
  });
  auto pub = node.advertise<String>("t");
  baton::test::await_matched(node, sub);
  executor.add(node);
  std::thread talker([&] {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(2ms);
      pub.publish(String{});
    }
  });
  executor.spin();
  talker.join();
  EXPECT_EQ(calls, 3);
}

TEST_F(ExecutorTest, ACallbackWithoutBatonsMemoryIsCountedAndEveryOtherExceptionEndsTheSpin) {
  baton::Node node("n");
  baton::PublisherOptions small;
  small.memory_limit_bytes = 256 << 10;
  small.max_message_bytes = 1 << 20;
  auto big = node.advertise<String>("big", {}, small);
  int calls = 0;
  auto timer = node.create_timer(1ms, [&] {
    if (++calls > 5) throw baton::Exception({baton::Errc::limit_reached, "the program's own"});
    auto loan = big.loan();
    loan->data.resize(512 << 10);
  });
  baton::Executor executor;
  executor.add(node);
  try {
    executor.spin();
    ADD_FAILURE() << "the program's own exception leaves spin()";
  } catch (const baton::Shortage&) {
    ADD_FAILURE() << "a Shortage stays in the executor";
  } catch (const baton::Exception& error) {
    EXPECT_STREQ(error.what(), "limit_reached: the program's own");
  }
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(executor.shortages(), 5U);
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

TEST_F(ExecutorTest, AForkedChildMayDestroyTheExecutorOfItsParentWhileThatSpins) {
  baton::Node node("n");
  auto executor = std::make_unique<baton::Executor>(3);
  executor->add(node);
  std::thread spinner([&] { executor->spin(); });
  const pid_t child = ::fork();
  if (child == 0) {
    executor.reset();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  executor->cancel();
  spinner.join();
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
  auto timer = node.create_timer(
      10ms, [&] { ++calls; }, clock);
  baton::Executor executor;
  executor.add(node);
  EXPECT_FALSE(executor.spin_once(0s));
  clock->set(10ms);
  EXPECT_TRUE(executor.spin_once(60s));
  EXPECT_FALSE(executor.spin_once(0s));
  clock->set(45ms);
  EXPECT_TRUE(executor.spin_once(60s));
  EXPECT_FALSE(executor.spin_once(0s)) << "three periods passed, one call";
  clock->set(50ms);
  EXPECT_TRUE(executor.spin_once(60s));
  EXPECT_EQ(calls, 3);
}

TEST_F(ExecutorTest, AJumpOfSimulatedTimeWakesASleepingExecutor) {
  baton::Node node("n");
  auto clock = std::make_shared<baton::SimulatedClock>();
  baton::Executor executor;
  auto timer = node.create_timer(
      1s, [&] { executor.cancel(); }, clock);
  executor.add(node);
  std::thread jump([&] {
    std::this_thread::sleep_for(20ms);
    clock->set(2s);
  });
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
  EXPECT_TRUE(node.wait_for([&] { return pub.matched() == 0; }, 60s));
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
  auto c = node.subscribe<String>(
      "t", baton::QoS(100),
      [&](const String&) {
        other_running = true;
        std::this_thread::sleep_for(3ms);
        other_running = false;
        ++done;
      },
      other);
  auto pub = node.advertise<String>("t");
  for (auto* sub : {&a, &b, &c}) baton::test::await_matched(node, *sub);
  executor.add(node);
  int published = 0;
  for (; published < 20; ++published) pub.publish(String{});
  std::thread spinner([&] { executor.spin(); });
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  // On a busy machine the threads may not have met in so few callbacks.
  while ((done < 3 * published || together == 0) && std::chrono::steady_clock::now() < deadline) {
    if (done == 3 * published) {
      pub.publish(String{});
      ++published;
    }
    std::this_thread::sleep_for(1ms);
  }
  executor.cancel();
  spinner.join();
  EXPECT_EQ(done, 3 * published);
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

TEST_F(ExecutorTest, AMessageThatExpiredUnseenIsNoCallback) {
  baton::Node node("n");
  int calls = 0;
  auto sub = node.subscribe<String>("t", {}, [&](const String&) { ++calls; });
  baton::QoS brief;
  brief.lifespan = 1ns;
  auto pub = node.advertise<String>("t", brief);
  baton::test::await_matched(node, sub);
  baton::Executor executor;
  executor.add(node);
  pub.publish(String{});
  EXPECT_FALSE(executor.spin_once(10ms));
  pub.publish(String{});
  EXPECT_EQ(executor.spin_some(), 0U);
  EXPECT_EQ(calls, 0);
}

TEST_F(ExecutorTest, SpinSomeTakesNoticeOfACancelAndTheNextSpinRunsAgain) {
  baton::Node node("n");
  baton::Executor executor;
  int calls = 0;
  auto sub = node.subscribe<String>("t", {}, [&](const String&) {
    ++calls;
    executor.cancel();
  });
  auto pub = node.advertise<String>("t");
  baton::test::await_matched(node, sub);
  executor.add(node);
  pub.publish(String{});
  pub.publish(String{});
  EXPECT_EQ(executor.spin_some(), 1u);
  EXPECT_EQ(executor.spin_some(), 1u) << "one cancel() ends one spin";
  EXPECT_EQ(calls, 2);
}

TEST_F(ExecutorTest, ANodeWhoseSubscriptionIsPolledIsRefusedAndTheExecutorGoesOn) {
  baton::Node node("n"), polled("polled");
  baton::Executor executor;
  int calls = 0;
  auto sub = node.subscribe<String>("t", {}, [&](const String&) { ++calls; });
  auto pub = node.advertise<String>("t");
  baton::test::await_matched(node, sub);
  executor.add(node);
  auto other = polled.subscribe<String>("t", {}, [](const String&) {});
  other.pollable_fd();
  EXPECT_THROW(executor.add(polled), baton::Exception);
  pub.publish(String{});
  EXPECT_TRUE(executor.spin_once(60s));
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(executor.remove(polled), baton::Exception) << "it never belonged to the executor";
  auto later = node.subscribe<String>("u", {}, [](const String&) {});
  EXPECT_NO_THROW(executor.spin_some());
}

TEST_F(ExecutorTest, ASecondSpinAtTheSameTimeIsRefused) {
  baton::Node node("n");
  baton::Executor executor;
  int refused = 0;
  auto timer = node.create_timer(1ms, [&] {
    try {
      executor.spin_once(0s);
    } catch (const baton::Exception& exception) {
      refused += exception.code() == baton::Errc::already_exists;
    }
    executor.cancel();
  });
  executor.add(node);
  executor.spin();
  EXPECT_EQ(refused, 1);
  EXPECT_NO_THROW(executor.spin_some()) << "one after the other is fine";
}

TEST_F(ExecutorTest, SimulatedTimeMayJumpAfterTheExecutorOrTheNodeWasTakenAway) {
  baton::Node node("n");
  auto clock = std::make_shared<baton::SimulatedClock>();
  int calls = 0;
  auto timer = node.create_timer(
      10ms, [&] { ++calls; }, clock);
  {
    baton::Executor executor;
    executor.add(node);
    executor.remove(node);
    EXPECT_NO_THROW(clock->set(10ms));
    executor.add(node);
  }
  EXPECT_NO_THROW(clock->set(20ms));
  EXPECT_EQ(calls, 0);
}

TEST_F(ExecutorTest, ATimerOfAReentrantGroupIsCalledOncePerPeriod) {
  struct SlowClock final : baton::Clock {  // gives all threads time to find the timer ready
    std::chrono::nanoseconds now() const override {
      std::this_thread::sleep_for(2ms);
      return std::chrono::nanoseconds(time_ns.load());
    }
    std::chrono::nanoseconds real_time_until(std::chrono::nanoseconds) const override { return 1ms; }
    std::shared_ptr<void> on_jump(std::function<void()>) override { return nullptr; }
    std::atomic<std::int64_t> time_ns{0};
  };
  baton::Node node("n");
  auto clock = std::make_shared<SlowClock>();
  std::atomic<int> calls{0};
  auto group = std::make_shared<baton::CallbackGroup>(baton::CallbackGroup::Kind::kReentrant);
  auto timer = node.create_timer(
      100ns, [&] { ++calls; }, clock, group);
  baton::Executor executor(4);
  executor.add(node);
  std::thread spinner([&] { executor.spin(); });
  for (int i = 1; i <= 5; ++i) {
    clock->time_ns = 100 * i;
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (calls < i && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(10ms);  // for a call too many
  }
  executor.cancel();
  spinner.join();
  EXPECT_EQ(calls, 5);
}

TEST_F(ExecutorTest, ASpinThatGetsNoThreadThrows) {
  baton::Executor executor(3);
  pthread_attr_t before, greedy;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(::pthread_attr_init(&greedy), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&greedy, std::size_t{1} << 47), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&greedy), 0);
  EXPECT_THROW(executor.spin(), std::system_error);
  ASSERT_EQ(::pthread_setattr_default_np(&before), 0);
  executor.cancel();
  EXPECT_NO_THROW(executor.spin());
}

TEST_F(ExecutorTest, ASubscriptionPolledInsideItsCallbackEndsTheSpinWithAnError) {
  baton::Node node("n");
  baton::Subscription<String> sub;
  sub = node.subscribe<String>("t", {}, [&](const String&) {
    // While its group is busy and it has data, the reader is not in the wait set, once the other thread has seen to that.
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < deadline) {
      try {
        sub.pollable_fd();
        return;
      } catch (const baton::Exception&) {
        std::this_thread::sleep_for(1ms);
      }
    }
  });
  auto pub = node.advertise<String>("t");
  baton::test::await_matched(node, sub);
  baton::Executor executor(2);
  executor.add(node);
  pub.publish(String{});
  pub.publish(String{});
  EXPECT_THROW(executor.spin(), baton::Exception);
}

TEST_F(ExecutorTest, AnExecutorMayEndWhileItsNodesChangeInAnotherThread) {
  baton::Node node("n");
  auto clock = std::make_shared<baton::SimulatedClock>();
  auto timer = node.create_timer(
      1s, [] {}, clock);
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    while (!stop) {
      auto short_lived = node.create_timer(1h, [] {});
      clock->set(clock->now() + 1ns);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    baton::Executor executor;
    executor.add(node);
    executor.spin_some();
  }
  stop = true;
  changes.join();
}

TEST_F(ExecutorTest, ANodeMayMoveFromOneSpinningExecutorToAnother) {
  baton::Node node("n");
  std::atomic<int> calls{0};
  auto sub = node.subscribe<String>("t", {}, [&](const String&) { ++calls; });
  auto pub = node.advertise<String>("t");
  baton::test::await_matched(node, sub);
  baton::Executor a, b;
  std::thread spin_a([&] { a.spin(); }), spin_b([&] { b.spin(); });
  a.add(node);
  baton::Executor* mine = &a;
  baton::Executor* other = &b;
  for (int i = 1; i <= 3000 && !HasFailure(); ++i) {
    mine->remove(node);
    other->add(node);
    std::swap(mine, other);
    for (volatile int n = 0; n < i * 13 % 20000; n = n + 1) {
    }
    pub.publish(String{});
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (calls < i && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(20us);
    EXPECT_EQ(calls, i) << "a message was slept over";
  }
  a.cancel();
  b.cancel();
  spin_a.join();
  spin_b.join();
}

TEST_F(ExecutorTest, ACallbackThatOutlastsItsNodesMoveExcludesTheNextInTheNewExecutor) {
  for (const unsigned threads : {1U, 2U}) {
    baton::Node node("n" + std::to_string(threads));
    std::atomic<int> begun{0}, ended{0};
    std::atomic<bool> go_on{false};
    auto sub = node.subscribe<String>("t", {}, [&](const String&) {
      ++begun;
      while (!go_on) std::this_thread::sleep_for(100us);
      ++ended;
    });
    auto pub = node.advertise<String>("t");
    baton::test::await_matched(node, sub);
    baton::Executor a, b(threads);
    std::thread spin_a([&] { a.spin(); }), spin_b([&] { b.spin(); });
    a.add(node);
    const auto await = [](const std::atomic<int>& count, int value) {
      const auto deadline = std::chrono::steady_clock::now() + 60s;
      while (count < value && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(100us);
      return count.load();
    };
    pub.publish(String{});
    EXPECT_EQ(await(begun, 1), 1);
    a.remove(node);
    b.add(node);
    pub.publish(String{});
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(begun, 1) << "two callbacks of one group at the same time";
    go_on = true;
    EXPECT_EQ(await(ended, 2), 2) << "the new executor slept over the end of the old one's callback";
    a.cancel();
    b.cancel();
    spin_a.join();
    spin_b.join();
  }
}

/// Two subscriptions of one executor: each message of the loud one publishes the next, after a call of `on_loud`.
struct LoudAndLow {
  explicit LoudAndLow(const std::function<void()>& on_loud) {
    a = node.subscribe<String>("loud", {}, [this, on_loud](const String&) {
      on_loud();
      loud.publish(String{});
    });
    b = node.subscribe<String>("low", {}, [this](const String&) { ++others; });
    for (auto* sub : {&a, &b}) baton::test::await_matched(node, *sub);
    executor.add(node);
    loud.publish(String{});
  }

  baton::Node node{"n"};
  baton::Executor executor;
  baton::Publisher<String> loud = node.advertise<String>("loud"), low = node.advertise<String>("low");
  int others = 0;
  baton::Subscription<String> a, b;
};

TEST_F(ExecutorTest, AReaderThatAlwaysHasAMessageStarvesNoOther) {
  LoudAndLow both([] {});
  EXPECT_TRUE(both.executor.spin_once(60s));
  for (int i = 1; i <= 100; ++i) {
    both.low.publish(String{});
    for (int turn = 0; turn < 2; ++turn) EXPECT_TRUE(both.executor.spin_once(60s));
    EXPECT_EQ(both.others, i);
  }
}

TEST_F(ExecutorTest, ACallbackThatChangesItsNodeEachTimeStarvesNoOther) {
  baton::Node* node = nullptr;
  LoudAndLow both([&node] { auto short_lived = node->create_timer(1h, [] {}); });
  node = &both.node;
  both.low.publish(String{});
  for (int turn = 0; turn < 2; ++turn) EXPECT_TRUE(both.executor.spin_once(60s));
  EXPECT_EQ(both.others, 1);
}

TEST_F(ExecutorTest, TheCallbackOfASleeperIsThatOfTheReaderWithTheMessage) {
  baton::Node node("n");
  baton::Executor executor;
  std::vector<baton::Subscription<String>> subs;
  std::vector<baton::Publisher<String>> pubs;
  std::atomic<int> called{-1};
  for (int i = 0; i < 4; ++i) {
    subs.push_back(node.subscribe<String>("t" + std::to_string(i), {}, [&called, i](const String&) { called = i; }));
    pubs.push_back(node.advertise<String>("t" + std::to_string(i)));
    baton::test::await_matched(node, subs.back());
  }
  auto timer = node.create_timer(1h, [] {});
  executor.add(node);
  for (int i = 0; i < 40; ++i) {
    const int which = i * 3 % 4;
    std::thread talker([&] {
      std::this_thread::sleep_for(1ms);  // mostly, the executor sleeps by then
      pubs[static_cast<std::size_t>(which)].publish(String{});
    });
    EXPECT_TRUE(executor.spin_once(60s));
    EXPECT_EQ(called, which);
    talker.join();
  }
}

TEST_F(ExecutorTest, ACallbackThatEndsItsSubscriptionKeepsWhatItCapturedUntilItReturns) {
  for (const auto kind : {baton::CallbackGroup::Kind::kMutuallyExclusive, baton::CallbackGroup::Kind::kReentrant}) {
    const unsigned threads = kind == baton::CallbackGroup::Kind::kReentrant ? 2 : 1;
    baton::Node node("n" + std::to_string(threads));
    baton::Executor executor(threads);
    baton::Subscription<String> sub;
    auto captured = std::make_shared<int>(7);
    const std::weak_ptr<int> watched = captured;
    std::atomic<unsigned> inside{0}, alive{0};
    sub = node.subscribe<String>(
        "t", {},
        [&, captured = std::move(captured)](const String&) {
          const auto deadline = std::chrono::steady_clock::now() + 60s;
          if (++inside == threads) sub = {};
          while (inside < threads && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(100us);
          std::this_thread::sleep_for(1ms);  // of two calls, one mostly outlasts the other
          if (!watched.expired() && *captured == 7) ++alive;
          if (alive == threads) executor.cancel();
        },
        std::make_shared<baton::CallbackGroup>(kind));
    auto pub = node.advertise<String>("t");
    baton::test::await_matched(node, sub);
    executor.add(node);
    for (unsigned i = 0; i < threads; ++i) pub.publish(String{});
    executor.spin();
    EXPECT_EQ(alive, threads);
    EXPECT_TRUE(watched.expired()) << "the executor keeps a subscription that has ended";
  }
}

TEST_F(ExecutorTest, WhatEndsWhileItHasNoWorkAfterAllMayCallTheExecutor) {
  struct LateClock final : baton::Clock {  // the timer is ready; when it is called, it ends, and the time was wrong
    std::chrono::nanoseconds now() const override {
      if (looks.fetch_add(1) != 2) return std::chrono::nanoseconds(looks == 2 ? 10 : 0);
      *timer = {};
      return 0ns;
    }
    std::chrono::nanoseconds real_time_until(std::chrono::nanoseconds) const override { return 1ms; }
    std::shared_ptr<void> on_jump(std::function<void()>) override { return nullptr; }
    mutable std::atomic<int> looks{0};
    baton::Timer* timer = nullptr;
  };
  baton::Node node("n");
  baton::Executor executor;
  executor.add(node);
  auto clock = std::make_shared<LateClock>();
  baton::Timer timer;
  bool ended = false;
  {
    std::shared_ptr<void> at_end(nullptr, [&](void*) {
      ended = true;
      executor.cancel();
    });
    timer = node.create_timer(
        10ns, [at_end = std::move(at_end)] {}, clock);
  }
  clock->timer = &timer;
  EXPECT_FALSE(executor.spin_once(60s));
  EXPECT_TRUE(ended);
}

TEST_F(ExecutorTest, AForkedChildGetsTheErrorEachTimeThatItSpins) {
  baton::Node node("n");
  baton::Executor executor;
  executor.add(node);
  const pid_t child = ::fork();
  if (child == 0) {
    int errors = 0;
    for (int i = 0; i < 3; ++i) {
      try {
        executor.spin_once(1ms);
      } catch (const baton::Exception& error) {
        errors += error.code() == baton::Errc::forked;
      }
    }
    ::_exit(errors);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(ExecutorTest, DurationsWithoutEndAreWaitsWithoutEnd) {
  baton::Node node("n");
  auto timer = node.create_timer(std::chrono::nanoseconds::max(), [] {});
  baton::Executor executor;
  executor.add(node);
  EXPECT_FALSE(executor.spin_once(1ms));
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    executor.cancel();
  });
  EXPECT_FALSE(executor.spin_once(std::chrono::nanoseconds::max()));
  later.join();
  int looks = 0;
  std::atomic<bool> looked{false};
  std::thread change([&] {
    while (!looked) {  // again and again: the first look may come late
      std::this_thread::sleep_for(20ms);
      baton::Node another("m");
    }
  });
  EXPECT_TRUE(node.wait_for([&] { return ++looks == 2; }, baton::kInfinite));
  looked = true;
  change.join();
}

/// As a subscription that loses all that it gets.
class NeverRuns final : public baton::detail::Executable {
 public:
  using Executable::Executable;
  bool ready() const override { return true; }
  bool execute() override {
    std::this_thread::sleep_for(1ms);
    ++tried;
    return false;
  }
  std::atomic<int> tried{0};
};

TEST_F(ExecutorTest, WhatIsReadyAndNeverRunsHoldsNoTimeoutUp) {
  baton::Node node("n");
  baton::Executor executor;
  executor.add(node);
  const auto never = std::make_shared<NeverRuns>(node.default_group());
  const auto added = node.add(never);
  EXPECT_FALSE(executor.spin_once(20ms));
  EXPECT_GT(never->tried, 1);
  EXPECT_FALSE(executor.spin_once(0ms));
  EXPECT_EQ(executor.spin_some(), 0U);
  int calls = 0;
  const auto timer = node.create_timer(1ms, [&] { ++calls; });
  std::this_thread::sleep_for(2ms);
  executor.spin_some();
  EXPECT_GE(calls, 1) << "the others have their turn";
}

TEST_F(ExecutorTest, ZeroThreadsAreRefused) { EXPECT_THROW(baton::Executor(0), baton::Exception); }

}  // namespace
