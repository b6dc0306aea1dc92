// SPDX-License-Identifier: Apache-2.0
// The counts of a process's pointers of baton/objects, explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "baton/objects/local_count.hpp"
#include "model_platform.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

using Op = Mutation::Op;

/// Two threads of a process get a pointer each, from a stored one, as long as the object lives; another process clears the stored one. The
/// process that finds that nothing refers to the object ends it.
enum class WrongHold { kNothing, kNoSecondLook, kCountBeforeLock, kNotWaiting };

/// A word of a LocalCount. Its plain stores are made by the only thread that may change what is there (asserted), so an addition is the same.
class CountWord {
 public:
  std::uint32_t load(std::memory_order order) const noexcept { return word_.load(order); }
  bool compare_exchange_weak(std::uint32_t& seen, std::uint32_t value, std::memory_order success,
                             std::memory_order failure) noexcept {
    return word_.compare_exchange_strong(seen, value, success, failure);
  }
  std::uint32_t fetch_add(std::uint32_t value, std::memory_order order) noexcept {
    return word_.fetch_add(value, order);
  }
  std::uint32_t fetch_sub(std::uint32_t value, std::memory_order order) noexcept {
    return word_.fetch_add(~value + 1, order);
  }
  void store(std::uint32_t value, std::memory_order order) noexcept {
    const std::uint32_t before = value == 0 ? 1 : 0;
    World& world = World::current();
    world.require(word_.fetch_add(value - before, order) == before, "the hold was got or dropped twice");
    world.futex_wake_all(word_.id());
  }
  void wait_for_drop() noexcept {
    const World::Word word{word_.id(), 1};
    (void)World::current().futex_wait(&word, 1);
  }
  int id() const noexcept { return word_.id(); }

 private:
  Atomic<std::uint32_t> word_{"count"};
};

class Holding : public Scenario {
 public:
  explicit Holding(WrongHold wrong = WrongHold::kNothing, int times = 2, bool copies = false)
      : wrong_(wrong), times_(times), copies_(copies) {}

  void setup(World& world) override {
    count_ = std::make_unique<CountWord>();
    hold_ = std::make_unique<Data<int>>("hold");
    stored_ = std::make_unique<Data<int>>("stored pointers");
    ended_ = std::make_unique<Data<int>>("ended");
    object_ = std::make_unique<Data<int>>("object");
    mutex_ = world.add_mutex();
    stored_->write(1);
    for (int t = 0; t < 2; ++t) {
      world.spawn(0, t == 0 ? "holder" : "holder2", [this, t] {
        for (int i = 0; i < (t == 0 ? times_ : 1); ++i) {
          if (!get()) return;
          (void)object_->read();
          if (copies_ && t == 0) {
            objects::detail::count_up(*count_);
            drop();
          }
          drop();
        }
      });
    }
    world.spawn(1, "clearer", [this] {
      lock();
      stored_->write(0);
      settle();
    });
  }
  void finish(World& world) override {
    world.require(world.latest(count_->id()) == 0 && ended_->read() == 1, "the object has not ended");
  }

 private:
  void lock() { World::current().lock(mutex_); }
  void unlock() { World::current().unlock(mutex_); }
  void settle() {
    if (stored_->read() == 0 && hold_->read() == 0 && ended_->read() == 0) {
      ended_->write(1);
      object_->write(1);
    }
    unlock();
  }
  bool lock_unless_held() {
    if (wrong_ == WrongHold::kNothing || wrong_ == WrongHold::kCountBeforeLock) {
      return objects::detail::lock_unless_held(
          *count_, [this] { lock(); }, [this] { unlock(); }, [this] { count_->wait_for_drop(); });
    }
    for (;;) {
      std::uint32_t seen = count_->load(std::memory_order_relaxed);
      if (seen == 0 || (seen == 1 && wrong_ == WrongHold::kNotWaiting)) {
        lock();
        if (wrong_ == WrongHold::kNoSecondLook || count_->load(std::memory_order_relaxed) == 0) return true;
        if (wrong_ == WrongHold::kNotWaiting && count_->load(std::memory_order_relaxed) == 1) {
          hold_->write(0);  // drops it for the other one
          objects::detail::end_holding(*count_);
          return true;
        }
        unlock();
      } else if (seen == 1) {
        count_->wait_for_drop();
      } else if (count_->compare_exchange_weak(seen, seen + 2, std::memory_order_acquire, std::memory_order_relaxed)) {
        return false;
      }
    }
  }
  bool get() {
    if (!lock_unless_held()) return true;
    const bool lives = ended_->read() == 0;
    if (lives) {
      World::current().require(hold_->read() == 0, "the hold was there");
      hold_->write(1);
      objects::detail::begin_holding(*count_);
    }
    unlock();
    return lives;
  }
  void drop() {
    if (!objects::detail::count_down(*count_)) return;
    if (wrong_ == WrongHold::kCountBeforeLock) objects::detail::end_holding(*count_);
    lock();
    World::current().require(hold_->read() == 1, "the hold was gone");
    hold_->write(0);
    if (wrong_ != WrongHold::kCountBeforeLock) objects::detail::end_holding(*count_);
    settle();
  }

  WrongHold wrong_;
  int times_;
  bool copies_;
  std::unique_ptr<CountWord> count_;
  std::unique_ptr<Data<int>> hold_, stored_, ended_, object_;
  int mutex_ = 0;
};

TEST(HoldModel, TheHoldIsGotAndDroppedOnceHoweverThreadsMeet) {
  expect_correct("hold: 2 threads", scenario<Holding>(WrongHold::kNothing, 2, false));
  expect_correct("hold: 2 threads, one copies", scenario<Holding>(WrongHold::kNothing, 1, true));
}
class WrongHolding : public testing::TestWithParam<WrongHold> {};
TEST_P(WrongHolding, IsFound) { expect_violation("hold: wrong", scenario<Holding>(GetParam())); }
INSTANTIATE_TEST_SUITE_P(HoldModel, WrongHolding,
                         testing::Values(WrongHold::kNoSecondLook, WrongHold::kCountBeforeLock,
                                         WrongHold::kNotWaiting));
TEST(HoldModel, WeakenedEndsOfPointersAreFound) {
  Options options;
  const Mutation relaxed{"count", Op::kRmw, -1};
  options.mutation = &relaxed;
  expect_violation("hold: changes of the count relaxed", scenario<Holding>(), options);
}

}  // namespace
}  // namespace baton::model
