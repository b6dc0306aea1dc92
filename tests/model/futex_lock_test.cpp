// SPDX-License-Identifier: Apache-2.0
// The lock in one word: there are never two holders, each holder sees the writes of the last one, and no thread sleeps for ever.
#include <gtest/gtest.h>

#include "baton/os/futex_lock.hpp"
#include "model_platform.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

namespace lock = os::futex_lock;

enum class Wrong { kNothing, kTakesItAsHeld, kNoWake, kSleepsUnannounced };

class Locking : public Scenario {
 public:
  Locking(int threads, int rounds, Wrong wrong) : threads_(threads), rounds_(rounds), wrong_(wrong) {}

  void setup(World& world) override {
    word_ = std::make_unique<Atomic<std::uint32_t>>("word");
    guarded_ = std::make_unique<Data<std::uint64_t>>("guarded");
    for (int i = 0; i < threads_; ++i) world.spawn(0, "thread", [this] { run(); });
  }
  void finish(World& world) override {
    world.require(guarded_->read() == static_cast<std::uint64_t>(threads_ * rounds_), "a holder's work is lost");
    world.require(word_->load(std::memory_order_relaxed) == lock::kFree, "it is not free at the end");
  }

 private:
  void run() {
    World& world = World::current();
    for (int i = 0; i < rounds_; ++i) {
      if (!lock::try_lock(*word_)) contend();
      guarded_->write(guarded_->read() + 1);  // a race, if two are in
      if (lock::try_unlock(*word_)) continue;
      lock::unlock_contended(*word_, [&] {
        if (wrong_ != Wrong::kNoWake) world.futex_wake_one(word_->id());
      });
    }
  }

  void contend() {
    const auto sleep = [&](std::uint32_t seen) {
      const World::Word word{word_->id(), seen};
      World::current().futex_wait(&word, 1);
    };
    if (wrong_ == Wrong::kNothing || wrong_ == Wrong::kNoWake) return lock::lock_contended(*word_, sleep);
    for (;;) {
      std::uint32_t seen = lock::kFree;
      const std::uint32_t taken = wrong_ == Wrong::kTakesItAsHeld ? lock::kHeld : lock::kContended;
      if (word_->compare_exchange_strong(seen, taken, std::memory_order_acquire, std::memory_order_relaxed)) return;
      if (wrong_ == Wrong::kSleepsUnannounced) {
        sleep(seen);
        continue;
      }
      if (seen == lock::kHeld &&
          !word_->compare_exchange_strong(seen, lock::kContended, std::memory_order_relaxed,
                                          std::memory_order_relaxed) &&
          seen == lock::kFree)
        continue;
      sleep(lock::kContended);
    }
  }

  const int threads_, rounds_;
  const Wrong wrong_;
  std::unique_ptr<Atomic<std::uint32_t>> word_;
  std::unique_ptr<Data<std::uint64_t>> guarded_;
};

Options weakened(const Mutation& mutation) {
  Options options;
  options.mutation = &mutation;
  return options;
}

TEST(FutexLock, TwoThreadsThreeTimes) { expect_correct("futex lock 2x3", scenario<Locking>(2, 3, Wrong::kNothing)); }
TEST(FutexLock, ThreeThreads) { expect_correct("futex lock 3x1", scenario<Locking>(3, 1, Wrong::kNothing)); }
TEST(FutexLock, ThreeThreadsTwice) {  // all interleavings are too many
  Options options;
  options.preemptions = full_run() ? 4 : 2;
  expect_correct("futex lock 3x2", scenario<Locking>(3, 2, Wrong::kNothing), options);
}

TEST(FutexLock, ASleeperThatTakesItAsUncontendedForgetsAnother) {
  expect_violation("futex lock, taken as held", scenario<Locking>(3, 2, Wrong::kTakesItAsHeld));
}
TEST(FutexLock, AnUnlockThatWakesNobodyLeavesASleeper) {
  expect_violation("futex lock, no wake", scenario<Locking>(2, 2, Wrong::kNoWake));
}
TEST(FutexLock, ASleeperThatIsNotAnnouncedIsForgotten) {
  expect_violation("futex lock, unannounced", scenario<Locking>(2, 2, Wrong::kSleepsUnannounced));
}
TEST(FutexLock, WithoutTheAcquireAHolderMissesTheLastOnesWork) {
  static const Mutation mutation{"word", Mutation::Op::kRmw, -1, std::memory_order_release};
  expect_violation("futex lock, no acquire", scenario<Locking>(2, 2, Wrong::kNothing), weakened(mutation));
}
TEST(FutexLock, WithoutTheReleaseAHolderMissesTheLastOnesWork) {
  static const Mutation mutation{"word", Mutation::Op::kRmw, -1, std::memory_order_acquire};
  expect_violation("futex lock, no release", scenario<Locking>(2, 2, Wrong::kNothing), weakened(mutation));
}

}  // namespace
}  // namespace baton::model
