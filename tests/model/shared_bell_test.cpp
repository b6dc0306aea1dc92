// SPDX-License-Identifier: Apache-2.0
// BellWords of baton/shared: who rings wakes whoever sleeps while there is something to take, explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "model_test.hpp"
#include "shared_bell.hpp"

namespace baton::model {
namespace {

using Op = Mutation::Op;

/// A counting semaphore on the bell: releasers add one each, takers take one each. Nobody may sleep while a count is left.
class Ringing : public Scenario {
 public:
  Ringing(int ringers, int sleepers, int each, bool no_look = false)
      : ringers_(ringers), sleepers_(sleepers), each_(each), no_look_(no_look) {}

  static constexpr int kFirstSleeper = 4;

  void setup(World& world) override {
    bell_ = std::make_unique<Bell>(Bell{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    for (int r = 0; r < ringers_; ++r) {
      world.spawn(r, r == 0 ? "ringer" : "ringer2", [this] {
        for (int i = 0; i < each_; ++i) {
          count_->fetch_add(1, std::memory_order_release);
          // The simulated kernel wakes all sleepers, where release() would wake one.
          if (bell_->must_wake()) bell_->woke(World::current().futex_wake_counted(bell_->event.id()));
        }
      });
    }
    const int takes = ringers_ * each_ / sleepers_;
    for (int s = 0; s < sleepers_; ++s) {
      world.spawn(kFirstSleeper + s, s == 0 ? "sleeper" : "sleeper2", [this, takes] {
        for (int i = 0; i < takes; ++i) take();
      });
    }
  }
  void take() {
    while (!try_take(*count_)) {
      const std::uint32_t seen = bell_->announce();
      const bool taken = !no_look_ && try_take(*count_);
      const World::Word word{bell_->event.id(), seen};
      if (taken || !World::current().futex_wait(&word, 1)) bell_->awake();
      if (taken) return;
    }
  }
  void finish(World& world) override {
    world.require(world.latest(count_->id()) == 0, "a count was left");
    world.require(world.latest(bell_->sleepers.id()) == 0, "a sleeper is counted who is awake");
  }

 private:
  int ringers_, sleepers_, each_;
  bool no_look_;
  std::unique_ptr<Bell> bell_;
  std::unique_ptr<Atomic<std::uint32_t>> count_;
};

TEST(BellModel, NobodySleepsWhileThereIsSomethingToTake) {
  expect_correct("bell: 1 ringer, 1 sleeper, 3 rings", scenario<Ringing>(1, 1, 3));
  expect_correct("bell: 2 ringers, 1 sleeper", scenario<Ringing>(2, 1, 1));
  Options bounded;
  bounded.preemptions = 3;
  expect_correct("bell: 1 ringer, 2 sleepers, 2 rings", scenario<Ringing>(1, 2, 2), full_run() ? Options{} : bounded);
}
TEST(BellModel, AMissingLookIsFound) {
  expect_violation("bell: no look after announcing", scenario<Ringing>(1, 1, 1, true));
}
/// Two who wait for an element, which a ring of one sleeper announces: one takes it, the other looks only, and rings in his turn.
class Watched : public Scenario {
 public:
  explicit Watched(bool passes_on) : passes_on_(passes_on) {}
  void setup(World& world) override {
    bell_ = std::make_unique<Bell>(Bell{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    world.spawn(0, "pusher", [this] {
      count_->store(1, std::memory_order_release);
      ring_one();
    });
    world.spawn(1, "popper", [this] {
      wait();
      ring_one();  // for the next element, so that the watcher comes to an end
    });
    world.spawn(2, "watcher", [this] {
      wait();
      if (passes_on_) ring_one();
    });
  }
  void finish(World& world) override {
    world.require(world.latest(bell_->sleepers.id()) == 0, "a sleeper is counted who is awake");
  }

 private:
  bool some() { return count_->load(std::memory_order_relaxed) != 0; }
  void ring_one() {
    if (bell_->must_wake()) bell_->woke(World::current().futex_wake_one(bell_->event.id()));
  }
  void wait() {
    while (!some()) {
      const std::uint32_t seen = bell_->announce();
      const bool there = some();
      const World::Word word{bell_->event.id(), seen};
      if (there || !World::current().futex_wait(&word, 1)) bell_->awake();
    }
  }
  bool passes_on_;
  std::unique_ptr<Bell> bell_;
  std::unique_ptr<Atomic<std::uint32_t>> count_;
};
TEST(BellModel, WhoOnlyLooksTakesNobodysWakeUp) {
  expect_correct("bell: a watcher that passes the wake-up on", scenario<Watched>(true));
  expect_violation("bell: a watcher that keeps the wake-up", scenario<Watched>(false));
}
class WeakenedBell : public testing::TestWithParam<WeakenedOperation> {};
TEST_P(WeakenedBell, IsFound) {
  Options options;
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<Ringing>(1, 1, 2), options);
}
INSTANTIATE_TEST_SUITE_P(BellModel, WeakenedBell,
                         testing::Values(WeakenedOperation{"ringer's fence missing", {"fence", Op::kFence, 0}}));

/// The condition variable: the state lies under a lock, and the waiter does not look between announcing and sleeping.
class Waiting : public Scenario {
 public:
  explicit Waiting(int waiters, bool announce_late = false) : waiters_(waiters), announce_late_(announce_late) {}
  void setup(World& world) override {
    bell_ = std::make_unique<Bell>(Bell{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    mutex_ = world.add_mutex();
    state_ = std::make_unique<Data<int>>("state");
    world.spawn(0, "notifier", [this] {
      for (int i = 1; i <= 2; ++i) {
        World::current().lock(mutex_);
        state_->write(i);
        World::current().unlock(mutex_);
        if (bell_->must_wake()) bell_->woke(World::current().futex_wake_counted(bell_->event.id()));
      }
    });
    for (int w = 0; w < waiters_; ++w) {
      world.spawn(1 + w, w == 0 ? "waiter" : "waiter2", [this] {
        World& now = World::current();
        now.lock(mutex_);
        while (state_->read() != 2) {
          std::uint32_t seen = 0;
          if (!announce_late_) seen = bell_->announce();
          now.unlock(mutex_);
          if (announce_late_) seen = bell_->announce();
          const World::Word word{bell_->event.id(), seen};
          if (!now.futex_wait(&word, 1)) bell_->awake();
          now.lock(mutex_);
        }
        now.unlock(mutex_);
      });
    }
  }

 private:
  int waiters_;
  bool announce_late_;
  std::unique_ptr<Bell> bell_;
  int mutex_ = 0;
  std::unique_ptr<Data<int>> state_;
};

TEST(BellModel, AConditionIsNeverMissed) {
  expect_correct("condition: 1 waiter", scenario<Waiting>(1));
  Options bounded;
  bounded.preemptions = 3;
  expect_correct("condition: 2 waiters", scenario<Waiting>(2), full_run() ? Options{} : bounded);
}
TEST(BellModel, AWaiterKilledAnywhereOutsideTheLockTakesNoWakeUp) {
  // The lock of this model is not robust, so the one that dies is a taker of the semaphore.
  Options options;
  options.kills = 1;
  options.killable = 1U << (Ringing::kFirstSleeper + 1);
  options.preemptions = full_run() ? -1 : 2;
  class OneDies : public Ringing {
   public:
    OneDies() : Ringing(1, 2, 2) {}
    void finish(World&) override {}  // the dead one may have taken or not
  };
  expect_correct(
      "bell: 1 of 2 sleepers killed", [] { return std::make_unique<OneDies>(); }, options);
}
TEST(BellModel, AnnouncingAfterTheUnlockIsFound) {
  expect_violation("condition: announced after the unlock", scenario<Waiting>(1, true));
}

}  // namespace
}  // namespace baton::model
