// SPDX-License-Identifier: Apache-2.0
// HearingWords of baton/shared: who hears of a death wakes for the dead, explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "baton/shared/hearing.hpp"
#include "model_test.hpp"
#include "shared_bell.hpp"

namespace baton::model {
namespace {

using Op = Mutation::Op;

/// Ringers that may be killed at any step, the second after the first, one who sleeps without a time limit, and the thread of his process that hears of deaths. The
/// sleeper's bell is gone when he has left.
enum class WrongHearing { kNothing, kNobodyRings, kPlaceAfterAnnouncing, kDeafAndNotAsked, kNoMark };

class Heard : public Scenario {
 public:
  static constexpr int kSleeper = 2, kHearer = 3;
  using Hearing = shared::detail::HearingWords<ModelPlatform, 1>;
  /// `deaf`: from the first death on.
  explicit Heard(WrongHearing wrong, int ringers = 2, bool deaf = false)
      : wrong_(wrong), ringers_(ringers), deaf_(deaf) {}

  void setup(World& world) override {
    bell_ = std::make_unique<Bell>(Bell{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    hearing_ = std::make_unique<Hearing>(Hearing{Atomic<std::uint32_t>("hears", 1), {Atomic<std::uint64_t>("place")}});
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    memory_ = std::make_unique<Data<int>>("the bell's memory");
    mutex_ = world.add_mutex();
    for (int r = 0; r < ringers_; ++r) {
      world.spawn(
          r, r == 0 ? "ringer" : "ringer2",
          [this, r] {
            if (r > 0) World::current().await_death(r - 1);
            count_->fetch_add(1, std::memory_order_release);
            ring();
          },
          r > 0);
    }
    world.spawn(
        kSleeper, "sleeper",
        [this] {
          memory_->write(1);
          for (int taken = 0; taken < ringers_ && !limited_; ++taken) wait();
          memory_->write(2);
        },
        true);
    world.spawn(
        kHearer, "hearer",
        [this] {
          for (int r = 0; r < ringers_; ++r) {
            World::current().await_death(r);
            if (deaf_ && r > 0) return;
            World::current().lock(mutex_);
            ring_all();
            World::current().unlock(mutex_);
            if (!deaf_) hearing_->hear();
          }
        },
        true);
  }
  void finish(World& world) override {
    world.require(limited_ || world.finished(kSleeper) || world.latest(count_->id()) == 0,
                  "a wake-up died with its sender");
  }

 private:
  static constexpr std::uint64_t kBell = 2;
  void ring() {
    if (bell_->must_wake()) bell_->woke(World::current().futex_wake_counted(bell_->event.id()));
  }
  void touch_and_ring() {
    memory_->write(3);
    ring();
  }
  void ring_all() {
    if (wrong_ == WrongHearing::kNobodyRings) return;
    if (wrong_ != WrongHearing::kNoMark) return hearing_->ring_all([this](std::uint64_t) { touch_and_ring(); });
    hearing_->hears.store(0, std::memory_order_relaxed);
    ModelPlatform::fence_seq_cst();
    if (hearing_->places[0].load(std::memory_order_acquire) != 0) touch_and_ring();
  }
  /// As Bell::wait().
  void wait() {
    World& world = World::current();
    while (!try_take(*count_)) {
      const bool late = wrong_ == WrongHearing::kPlaceAfterAnnouncing;
      if (!late) (void)hearing_->take(kBell, 0);
      const std::uint32_t seen = bell_->announce();
      const bool taken = try_take(*count_);
      if (late) (void)hearing_->take(kBell, 0);
      limited_ = !taken && !hearing_->heard() && wrong_ != WrongHearing::kDeafAndNotAsked;
      const World::Word word{bell_->event.id(), seen};
      if (taken || limited_ || !world.futex_wait(&word, 1)) bell_->awake();
      hearing_->leave(0, kBell, [&](const auto& gone) {
        world.lock(mutex_);
        (void)gone();
        world.unlock(mutex_);
      });
      if (taken || limited_) return;
    }
  }

  WrongHearing wrong_;
  int ringers_;
  bool deaf_, limited_ = false;  // he sleeps with a time limit, and looks again when it is over
  std::unique_ptr<Bell> bell_;
  std::unique_ptr<Hearing> hearing_;
  std::unique_ptr<Atomic<std::uint32_t>> count_;
  std::unique_ptr<Data<int>> memory_;
  int mutex_ = 0;
};

Options ringers_die(int preemptions) {
  Options options;
  options.kills = 2;
  options.killable = 3;
  options.preemptions = preemptions;
  return options;
}
TEST(HearingModel, WhoeverDiesBeforeTheWakeIsRungFor) {
  constexpr auto kNothing = WrongHearing::kNothing;
  const int few = full_run() ? 3 : 1;
  expect_correct("hearing: 1 ringer killed anywhere", scenario<Heard>(kNothing, 1), ringers_die(-1));
  expect_correct("hearing: 2 ringers killed anywhere", scenario<Heard>(kNothing, 2), ringers_die(few));
  expect_correct("hearing: deaf after the first death", scenario<Heard>(kNothing, 2, true), ringers_die(few));
}
TEST(HearingModel, MistakesAreFound) {
  const Options options = ringers_die(3);
  expect_violation("hearing: nobody rings", scenario<Heard>(WrongHearing::kNobodyRings), options);
  expect_violation("hearing: the place is taken after announcing", scenario<Heard>(WrongHearing::kPlaceAfterAnnouncing),
                   options);
  expect_violation("hearing: deaf, and the sleeper does not ask",
                   scenario<Heard>(WrongHearing::kDeafAndNotAsked, 2, true), options);
  expect_violation("hearing: rings without a mark", scenario<Heard>(WrongHearing::kNoMark), options);
}
class WeakenedHearing : public testing::TestWithParam<WeakenedOperation> {};
TEST_P(WeakenedHearing, IsFound) {
  Options options = ringers_die(3);
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<Heard>(WrongHearing::kNothing), options);
}
INSTANTIATE_TEST_SUITE_P(
    HearingModel, WeakenedHearing,
    testing::Values(WeakenedOperation{"hearer's fences missing", {"fence", Op::kFence, Heard::kHearer}},
                    WeakenedOperation{"sleeper's fence missing", {"fence", Op::kFence, Heard::kSleeper}},
                    WeakenedOperation{"sleeper's changes of the place relaxed", {"place", Op::kRmw, Heard::kSleeper}},
                    WeakenedOperation{"hearer's marks relaxed", {"place", Op::kRmw, Heard::kHearer}}));

}  // namespace
}  // namespace baton::model
