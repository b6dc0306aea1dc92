// SPDX-License-Identifier: Apache-2.0
// EventCountWords of baton/objects: no waiter sleeps while there is an element to take. Explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "model_test.hpp"
#include "shared_event_count.hpp"

namespace baton::model {
namespace {

using Op = Mutation::Op;

/// A counting semaphore on an event count: releasers add one each, takers take one each. Nobody may sleep while a count is left.
class Notifying : public Scenario {
 public:
  Notifying(int notifiers, int sleepers, int each, bool no_look = false)
      : notifiers_(notifiers), sleepers_(sleepers), each_(each), no_look_(no_look) {}

  static constexpr int kFirstSleeper = 4;

  void setup(World& world) override {
    event_count_ =
        std::make_unique<EventCount>(EventCount{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    for (int r = 0; r < notifiers_; ++r) {
      world.spawn(r, r == 0 ? "notifier" : "notifier2", [this] {
        for (int i = 0; i < each_; ++i) {
          count_->fetch_add(1, std::memory_order_release);
          // The simulated kernel wakes all sleepers, where release() would wake one.
          if (event_count_->must_wake())
            event_count_->woke(World::current().futex_wake_counted(event_count_->event.id()));
        }
      });
    }
    const int takes = notifiers_ * each_ / sleepers_;
    for (int s = 0; s < sleepers_; ++s) {
      world.spawn(kFirstSleeper + s, s == 0 ? "sleeper" : "sleeper2", [this, takes] {
        for (int i = 0; i < takes; ++i) take();
      });
    }
  }
  void take() {
    while (!try_take(*count_)) {
      const std::uint32_t seen = event_count_->prepare();
      const bool taken = !no_look_ && try_take(*count_);
      const World::Word word{event_count_->event.id(), seen};
      if (taken || !World::current().futex_wait(&word, 1)) event_count_->cancel();
      if (taken) return;
    }
  }
  void finish(World& world) override {
    world.require(world.latest(count_->id()) == 0, "a count was left");
    world.require(world.latest(event_count_->sleepers.id()) == 0, "an awake sleeper is counted");
  }

 private:
  int notifiers_, sleepers_, each_;
  bool no_look_;
  std::unique_ptr<EventCount> event_count_;
  std::unique_ptr<Atomic<std::uint32_t>> count_;
};

TEST(EventCountModel, NobodySleepsWhileThereIsSomethingToTake) {
  expect_correct("event count: 1 notifier, 1 sleeper, 3 notifications", scenario<Notifying>(1, 1, 3));
  expect_correct("event count: 2 notifiers, 1 sleeper", scenario<Notifying>(2, 1, 1));
  Options bounded;
  bounded.preemptions = 3;
  expect_correct("event count: 1 notifier, 2 sleepers, 2 notifications", scenario<Notifying>(1, 2, 2),
                 full_run() ? Options{} : bounded);
}
TEST(EventCountModel, AMissingLookIsFound) {
  expect_violation("event count: no look after prepare()", scenario<Notifying>(1, 1, 1, true));
}
/// Two threads wait for one element, and one of them is woken. The popper takes the element; the watcher only looks, and passes the wake-up on.
class Watched : public Scenario {
 public:
  explicit Watched(bool passes_on) : passes_on_(passes_on) {}
  void setup(World& world) override {
    event_count_ =
        std::make_unique<EventCount>(EventCount{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    world.spawn(0, "pusher", [this] {
      count_->store(1, std::memory_order_release);
      notify_one();
    });
    world.spawn(1, "popper", [this] {
      wait();
      notify_one();  // for the next element, so that the watcher comes to an end
    });
    world.spawn(2, "watcher", [this] {
      wait();
      if (passes_on_) notify_one();
    });
  }
  void finish(World& world) override {
    world.require(world.latest(event_count_->sleepers.id()) == 0, "an awake sleeper is counted");
  }

 private:
  bool some() { return count_->load(std::memory_order_relaxed) != 0; }
  void notify_one() {
    if (event_count_->must_wake()) event_count_->woke(World::current().futex_wake_one(event_count_->event.id()));
  }
  void wait() {
    while (!some()) {
      const std::uint32_t seen = event_count_->prepare();
      const bool there = some();
      const World::Word word{event_count_->event.id(), seen};
      if (there || !World::current().futex_wait(&word, 1)) event_count_->cancel();
    }
  }
  bool passes_on_;
  std::unique_ptr<EventCount> event_count_;
  std::unique_ptr<Atomic<std::uint32_t>> count_;
};
TEST(EventCountModel, AWatcherTakesNobodysWakeUp) {
  expect_correct("event count: a watcher that passes the wake-up on", scenario<Watched>(true));
  expect_violation("event count: a watcher that keeps the wake-up", scenario<Watched>(false));
}
class WeakenedEventCount : public testing::TestWithParam<WeakenedOperation> {};
TEST_P(WeakenedEventCount, IsFound) {
  Options options;
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<Notifying>(1, 1, 2), options);
}
INSTANTIATE_TEST_SUITE_P(EventCountModel, WeakenedEventCount,
                         testing::Values(WeakenedOperation{"notifier's fence missing", {"fence", Op::kFence, 0}}));

/// The condition variable: the state lies under a lock, and the waiter does not look between prepare() and the sleep.
class Waiting : public Scenario {
 public:
  explicit Waiting(int waiters, bool prepare_late = false) : waiters_(waiters), prepare_late_(prepare_late) {}
  void setup(World& world) override {
    event_count_ =
        std::make_unique<EventCount>(EventCount{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    mutex_ = world.add_mutex();
    state_ = std::make_unique<Data<int>>("state");
    world.spawn(0, "notifier", [this] {
      for (int i = 1; i <= 2; ++i) {
        World::current().lock(mutex_);
        state_->write(i);
        World::current().unlock(mutex_);
        if (event_count_->must_wake())
          event_count_->woke(World::current().futex_wake_counted(event_count_->event.id()));
      }
    });
    for (int w = 0; w < waiters_; ++w) {
      world.spawn(1 + w, w == 0 ? "waiter" : "waiter2", [this] {
        World& now = World::current();
        now.lock(mutex_);
        while (state_->read() != 2) {
          std::uint32_t seen = 0;
          if (!prepare_late_) seen = event_count_->prepare();
          now.unlock(mutex_);
          if (prepare_late_) seen = event_count_->prepare();
          const World::Word word{event_count_->event.id(), seen};
          if (!now.futex_wait(&word, 1)) event_count_->cancel();
          now.lock(mutex_);
        }
        now.unlock(mutex_);
      });
    }
  }

 private:
  int waiters_;
  bool prepare_late_;
  std::unique_ptr<EventCount> event_count_;
  int mutex_ = 0;
  std::unique_ptr<Data<int>> state_;
};

TEST(EventCountModel, AConditionIsNeverMissed) {
  expect_correct("condition: 1 waiter", scenario<Waiting>(1));
  Options bounded;
  bounded.preemptions = 3;
  expect_correct("condition: 2 waiters", scenario<Waiting>(2), full_run() ? Options{} : bounded);
}
TEST(EventCountModel, AWaiterKilledAnywhereOutsideTheLockTakesNoWakeUp) {
  // The lock of this model is not robust, so the one that dies is a taker of the semaphore.
  Options options;
  options.kills = 1;
  options.killable = 1U << (Notifying::kFirstSleeper + 1);
  options.preemptions = full_run() ? -1 : 2;
  class OneDies : public Notifying {
   public:
    OneDies() : Notifying(1, 2, 2) {}
    void finish(World&) override {}  // the dead taker may have taken an element or not
  };
  expect_correct(
      "event count: 1 of 2 sleepers killed", [] { return std::make_unique<OneDies>(); }, options);
}
TEST(EventCountModel, PreparingAfterTheUnlockIsFound) {
  expect_violation("condition: prepare() after the unlock", scenario<Waiting>(1, true));
}

}  // namespace
}  // namespace baton::model
