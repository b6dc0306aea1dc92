// SPDX-License-Identifier: Apache-2.0
// The redo record of baton/objects's pointers, explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "baton/objects/transfer.hpp"
#include "model_platform.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

/// A stored pointer is set and cleared under a block's lock by a process that may be killed at any step. The process that takes the lock
/// over may be killed, too, and must leave the count equal to the pointers.
enum class Wrong { kNothing, kCountBeforeRecord, kPointerBeforeCount, kRecordEndsBeforePointer, kNoRedo };

template <class Count, class Change>
void wrong_transfer(Wrong wrong, Count& count, Count& before, Atomic<std::uint64_t>& record, std::uint64_t what,
                    Change&& change) {
  const std::uint32_t now = count.load(std::memory_order_relaxed);
  const std::uint32_t next = (what & objects::detail::kToNull) != 0 ? now - 1 : now + 1;
  constexpr auto kRelease = std::memory_order_release;
  before.store(now, kRelease);
  switch (wrong) {
    case Wrong::kCountBeforeRecord:
      count.store(next, kRelease), record.store(what, kRelease), change(), record.store(0, kRelease);
      break;
    case Wrong::kPointerBeforeCount:
      record.store(what, kRelease), change(), count.store(next, kRelease), record.store(0, kRelease);
      break;
    default:
      record.store(what, kRelease), count.store(next, kRelease), record.store(0, kRelease), change();
      break;
  }
}

class Transfer : public Scenario {
 public:
  explicit Transfer(Wrong wrong = Wrong::kNothing) : wrong_(wrong) {}
  void setup(World& world) override {
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    before_ = std::make_unique<Atomic<std::uint32_t>>("before");
    record_ = std::make_unique<Atomic<std::uint64_t>>("record");
    pointer_ = std::make_unique<Atomic<std::uint64_t>>("pointer");
    progress_ = std::make_unique<Atomic<std::uint64_t>>("progress");
    world.spawn(0, "owner", [this] {
      for (const std::uint64_t what : {8ULL, 8ULL | objects::detail::kToNull, 8ULL}) {
        const auto change = [&] {
          pointer_->store((what & objects::detail::kToNull) != 0 ? 0 : 1, std::memory_order_release);
        };
        if (wrong_ == Wrong::kNothing || wrong_ == Wrong::kNoRedo) {
          objects::detail::transfer(*count_, *before_, *record_, what, change);
        } else {
          wrong_transfer(wrong_, *count_, *before_, *record_, what, change);
        }
        progress_->fetch_add(1, std::memory_order_relaxed);
      }
    });
    world.spawn(
        1, "first heir",
        [this] {
          World::current().await_death(0);
          take_over();
        },
        true);
    world.spawn(
        2, "second heir",
        [this] {
          World::current().await_death(0);
          World::current().await_death(1);
          take_over();
          check();
        },
        true);
  }
  void finish(World& world) override {
    if (world.dead(0) && world.dead(1) && !world.finished(2)) return;
    if (world.dead(0) && !world.dead(1) && !world.finished(1)) return;
    world.require(world.latest(count_->id()) == world.latest(pointer_->id()),
                  "the count is not the number of pointers");
  }

 private:
  void take_over() {
    if (wrong_ == Wrong::kNoRedo) return;
    objects::detail::redo([this](std::uint64_t) -> Atomic<std::uint32_t>& { return *count_; }, *before_, *record_,
                          [this](std::uint64_t) { return pointer_->load(std::memory_order_acquire) != 0; });
  }
  void check() {
    World::current().require(count_->load(std::memory_order_acquire) == pointer_->load(std::memory_order_acquire),
                             "the heir's count is not the number of pointers");
  }
  Wrong wrong_;
  std::unique_ptr<Atomic<std::uint32_t>> count_, before_;
  std::unique_ptr<Atomic<std::uint64_t>> record_, pointer_, progress_;
};

Options two_deaths() {
  Options options;
  options.kills = 2;
  options.killable = 3;
  return options;
}
TEST(TransferModel, CountAndPointersAgreeWhicheverProcessDiesAtAnyStep) {
  expect_correct("transfer: owner and heir killed anywhere", scenario<Transfer>(), two_deaths());
}
class WrongTransfer : public testing::TestWithParam<Wrong> {};
TEST_P(WrongTransfer, IsFound) { expect_violation("transfer: wrong", scenario<Transfer>(GetParam()), two_deaths()); }
INSTANTIATE_TEST_SUITE_P(TransferModel, WrongTransfer,
                         testing::Values(Wrong::kCountBeforeRecord, Wrong::kPointerBeforeCount,
                                         Wrong::kRecordEndsBeforePointer, Wrong::kNoRedo));

}  // namespace
}  // namespace baton::model
