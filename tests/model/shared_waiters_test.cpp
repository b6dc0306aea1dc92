// SPDX-License-Identifier: Apache-2.0
// WaiterTableWords of baton/objects: the thread that watches deaths makes the notifications of the dead. Explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "baton/objects/waiter_table.hpp"
#include "model_test.hpp"
#include "shared_event_count.hpp"

namespace baton::model {
namespace {

using Op = Mutation::Op;

/// Notifiers that may be killed at any step, the second after the first; a sleeper without a time limit; and the thread of its process that watches
/// deaths. The sleeper's event count is gone when the sleeper has left.
enum class WrongTable { kNothing, kNobodyNotifies, kPlaceAfterPrepare, kNotWatchingAndNotAsked, kNoMark };

class DeathsWatched : public Scenario {
 public:
  static constexpr int kSleeper = 2, kWatcher = 3;
  using WaiterTable = objects::detail::WaiterTableWords<ModelPlatform, 1>;
  /// `stops`: the watcher stops after the first death.
  explicit DeathsWatched(WrongTable wrong, int notifiers = 2, bool stops = false)
      : wrong_(wrong), notifiers_(notifiers), stops_(stops) {}

  void setup(World& world) override {
    event_count_ =
        std::make_unique<EventCount>(EventCount{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    waiters_ = std::make_unique<WaiterTable>(
        WaiterTable{Atomic<std::uint32_t>("watches", 1), {Atomic<std::uint64_t>("place")}});
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    memory_ = std::make_unique<Data<int>>("the event count's memory");
    mutex_ = world.add_mutex();
    for (int r = 0; r < notifiers_; ++r) {
      world.spawn(
          r, r == 0 ? "notifier" : "notifier2",
          [this, r] {
            if (r > 0) World::current().await_death(r - 1);
            count_->fetch_add(1, std::memory_order_release);
            notify();
          },
          r > 0);
    }
    world.spawn(
        kSleeper, "sleeper",
        [this] {
          memory_->write(1);
          for (int taken = 0; taken < notifiers_ && !limited_; ++taken) wait();
          memory_->write(2);
        },
        true);
    world.spawn(
        kWatcher, "watcher",
        [this] {
          for (int r = 0; r < notifiers_; ++r) {
            World::current().await_death(r);
            if (stops_ && r > 0) return;
            World::current().lock(mutex_);
            notify_all();
            World::current().unlock(mutex_);
            if (!stops_) waiters_->begin_watch();
          }
        },
        true);
  }
  void finish(World& world) override {
    world.require(limited_ || world.finished(kSleeper) || world.latest(count_->id()) == 0,
                  "a wake-up died with its sender");
  }

 private:
  static constexpr std::uint64_t kEventCount = 2;
  void notify() {
    if (event_count_->must_wake()) event_count_->woke(World::current().futex_wake_counted(event_count_->event.id()));
  }
  void touch_and_notify() {
    memory_->write(3);
    notify();
  }
  void notify_all() {
    if (wrong_ == WrongTable::kNobodyNotifies) return;
    if (wrong_ != WrongTable::kNoMark) return waiters_->notify_all([this](std::uint64_t) { touch_and_notify(); });
    waiters_->watches.store(0, std::memory_order_relaxed);
    ModelPlatform::fence_seq_cst();
    if (waiters_->places[0].load(std::memory_order_acquire) != 0) touch_and_notify();
  }
  /// As EventCount::wait().
  void wait() {
    World& world = World::current();
    while (!try_take(*count_)) {
      const bool late = wrong_ == WrongTable::kPlaceAfterPrepare;
      if (!late) (void)waiters_->enter(kEventCount, 0);
      const std::uint32_t seen = event_count_->prepare();
      const bool taken = try_take(*count_);
      if (late) (void)waiters_->enter(kEventCount, 0);
      limited_ = !taken && !waiters_->is_watched() && wrong_ != WrongTable::kNotWatchingAndNotAsked;
      const World::Word word{event_count_->event.id(), seen};
      if (taken || limited_ || !world.futex_wait(&word, 1)) event_count_->cancel();
      waiters_->leave(0, kEventCount, [&](const auto& gone) {
        world.lock(mutex_);
        (void)gone();
        world.unlock(mutex_);
      });
      if (taken || limited_) return;
    }
  }

  WrongTable wrong_;
  int notifiers_;
  bool stops_, limited_ = false;  // the sleep has a time limit, so its sleeper looks again
  std::unique_ptr<EventCount> event_count_;
  std::unique_ptr<WaiterTable> waiters_;
  std::unique_ptr<Atomic<std::uint32_t>> count_;
  std::unique_ptr<Data<int>> memory_;
  int mutex_ = 0;
};

Options notifiers_die(int preemptions) {
  Options options;
  options.kills = 2;
  options.killable = 3;
  options.preemptions = preemptions;
  return options;
}
TEST(WaiterTableModel, ADeathBeforeTheWakeIsMadeGood) {
  constexpr auto kNothing = WrongTable::kNothing;
  const int few = full_run() ? 3 : 1;
  expect_correct("waiter table: 1 notifier killed anywhere", scenario<DeathsWatched>(kNothing, 1), notifiers_die(-1));
  expect_correct("waiter table: 2 notifiers killed anywhere", scenario<DeathsWatched>(kNothing, 2), notifiers_die(few));
  expect_correct("waiter table: not watched after the first death", scenario<DeathsWatched>(kNothing, 2, true),
                 notifiers_die(few));
}
TEST(WaiterTableModel, MistakesAreFound) {
  const Options options = notifiers_die(3);
  expect_violation("waiter table: nobody notifies", scenario<DeathsWatched>(WrongTable::kNobodyNotifies), options);
  expect_violation("waiter table: the place is entered after prepare()",
                   scenario<DeathsWatched>(WrongTable::kPlaceAfterPrepare), options);
  expect_violation("waiter table: not watched, and the sleeper does not ask",
                   scenario<DeathsWatched>(WrongTable::kNotWatchingAndNotAsked, 2, true), options);
  expect_violation("waiter table: notifies without a mark", scenario<DeathsWatched>(WrongTable::kNoMark), options);
}
class WeakenedWaiterTable : public testing::TestWithParam<WeakenedOperation> {};
TEST_P(WeakenedWaiterTable, IsFound) {
  Options options = notifiers_die(3);
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<DeathsWatched>(WrongTable::kNothing), options);
}
INSTANTIATE_TEST_SUITE_P(
    WaiterTableModel, WeakenedWaiterTable,
    testing::Values(WeakenedOperation{"watcher's fences missing", {"fence", Op::kFence, DeathsWatched::kWatcher}},
                    WeakenedOperation{"sleeper's fence missing", {"fence", Op::kFence, DeathsWatched::kSleeper}},
                    WeakenedOperation{"sleeper's changes of the place relaxed",
                                      {"place", Op::kRmw, DeathsWatched::kSleeper}},
                    WeakenedOperation{"watcher's marks relaxed", {"place", Op::kRmw, DeathsWatched::kWatcher}}));

}  // namespace
}  // namespace baton::model
