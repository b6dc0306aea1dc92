// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/handle_queue.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace baton::memory {
namespace {

using Producer = QueueProducer<StdPlatform>;
using Consumer = QueueConsumer<StdPlatform>;
using Ring = RingLayout<StdPlatform>;

class HandleQueue : public testing::Test {
 protected:
  void make(std::uint32_t depth, std::uint32_t capacity = 0) {
    if (capacity == 0) capacity = ring_capacity(depth);
    ring_ = Ring::at(memory_, capacity);
    producer_ = std::make_unique<Producer>(ring_, &cursor_, depth);
    consumer_ = std::make_unique<Consumer>(ring_, &cursor_);
  }
  QueueStatus push(std::uint64_t handle) {
    const std::uint64_t token = make_token(producer_->head(), static_cast<std::uint32_t>(handle % 1000));
    ++pushed_;
    const QueueStatus status = producer_->push(handle, token, static_cast<std::int64_t>(pushed_ * 10), pushed_,
                                               [this](std::uint64_t position) { note(position); });
    if (status == QueueStatus::kOk) handles_.push_back(handle);
    return status;
  }
  void note(std::uint64_t position) { evicted_.push_back(handles_.at(position)); }
  QueueStatus evict_if_oldest(std::uint64_t handle) {
    return producer_->evict_oldest_if([&](std::uint64_t position) { return handles_.at(position) == handle; },
                                      [this](std::uint64_t position) { note(position); });
  }
  std::uint64_t take() {
    QueuedMessage message{};
    const QueueStatus status = consumer_->take(&message);
    EXPECT_EQ(status, QueueStatus::kOk);
    EXPECT_EQ(message.entry, make_token(message.position, static_cast<std::uint32_t>(message.handle % 1000)));
    return message.handle;
  }
  QueueStatus look() {
    QueuedMessage message{};
    return consumer_->peek(&message);
  }

  alignas(kCacheLineBytes) std::byte memory_[4096] = {};
  std::atomic<std::uint64_t> cursor_{0};
  Ring ring_;
  std::unique_ptr<Producer> producer_;
  std::unique_ptr<Consumer> consumer_;
  std::uint64_t pushed_ = 0;
  std::vector<std::uint64_t> handles_;  // by position
  std::vector<std::uint64_t> evicted_;
};

TEST_F(HandleQueue, IsEmptyAtFirst) {
  make(4);
  EXPECT_EQ(look(), QueueStatus::kEmpty);
  EXPECT_FALSE(consumer_->ready());
  EXPECT_EQ(consumer_->size(), 0U);
}

TEST_F(HandleQueue, GivesMessagesInOrderWithEverythingThatBelongsToThem) {
  make(4);
  push(7);
  push(8);
  QueuedMessage message{};
  ASSERT_EQ(consumer_->peek(&message), QueueStatus::kOk);
  EXPECT_EQ(message.handle, 7U);
  EXPECT_EQ(message.entry, make_token(0, 7));
  EXPECT_EQ(message.source_monotonic_ns, 10);
  EXPECT_EQ(message.sequence, 1U);
  EXPECT_EQ(message.position, 0U);
  EXPECT_EQ(consumer_->size(), 2U);  // a peek takes nothing
  EXPECT_TRUE(consumer_->try_take(message));
  EXPECT_FALSE(consumer_->try_take(message)) << "a position can be taken once";
  EXPECT_EQ(take(), 8U);
  EXPECT_EQ(look(), QueueStatus::kEmpty);
}

TEST_F(HandleQueue, DropsTheOldestUnreadMessageWhenFull) {
  make(2);
  for (std::uint64_t handle = 1; handle <= 5; ++handle) EXPECT_EQ(push(handle), QueueStatus::kOk);
  EXPECT_EQ(evicted_, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(take(), 4U);
  EXPECT_EQ(take(), 5U);
}

TEST_F(HandleQueue, HoldsItsDepthWhenTheRingIsLarger) {
  make(3, 8);
  for (std::uint64_t handle = 1; handle <= 20; ++handle) push(handle);
  EXPECT_EQ(consumer_->size(), 3U);
  EXPECT_EQ(take(), 18U);
}

TEST_F(HandleQueue, SaysWhetherAPushWouldEvict) {
  make(2);
  push(1);
  EXPECT_FALSE(producer_->full());
  push(2);
  EXPECT_TRUE(producer_->full());
  take();
  EXPECT_FALSE(producer_->full());
}

TEST_F(HandleQueue, EvictsForAMemoryPolicyOnlyTheOldestUnreadMessage) {
  make(4);
  push(1);
  push(2);
  EXPECT_EQ(evict_if_oldest(2), QueueStatus::kEmpty);
  EXPECT_EQ(evict_if_oldest(1), QueueStatus::kOk);
  EXPECT_EQ(evict_if_oldest(1), QueueStatus::kEmpty);
  EXPECT_EQ(take(), 2U);
  EXPECT_EQ(evict_if_oldest(2), QueueStatus::kEmpty) << "a taken message is never evicted";
  EXPECT_EQ(evicted_.size(), 1U);
}

TEST_F(HandleQueue, EvictsEverythingUnreadWhenTheSubscriptionEnds) {
  make(4);
  for (std::uint64_t handle = 1; handle <= 4; ++handle) push(handle);
  take();
  EXPECT_EQ(producer_->evict_all([this](std::uint64_t position) { note(position); }), QueueStatus::kOk);
  EXPECT_EQ(evicted_.size(), 3U);
  EXPECT_EQ(look(), QueueStatus::kEmpty);
}

TEST_F(HandleQueue, ProducerReportsACursorBeyondItsHead) {
  make(2);
  push(1);
  cursor_.store(5);
  EXPECT_EQ(push(2), QueueStatus::kOk) << "with room left it does not look";
  EXPECT_EQ(push(3), QueueStatus::kCorrupted);
  EXPECT_TRUE(evicted_.empty());
  cursor_.store(0);
  EXPECT_EQ(push(4), QueueStatus::kCorrupted) << "once corrupted, always corrupted";
  EXPECT_TRUE(producer_->corrupted());
}

TEST_F(HandleQueue, ProducerReportsACursorThatMovesBackwards) {
  make(2);
  push(1);
  take();
  EXPECT_EQ(producer_->refresh(), QueueStatus::kOk);
  push(2);
  cursor_.store(0);
  EXPECT_EQ(producer_->refresh(), QueueStatus::kCorrupted);
}

TEST_F(HandleQueue, ConsumerReportsASlotOfAnImpossiblePosition) {
  make(2);
  push(1);
  for (const std::uint64_t position : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{100}}) {
    ring_.slot_table[0].entry.store(make_token(position, 0));
    EXPECT_EQ(look(), QueueStatus::kCorrupted) << position;
    EXPECT_TRUE(consumer_->ready()) << "so that a waiter meets the error";
  }
  ring_.slot_table[0].entry.store(make_token(0, 1));
  push(2);
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  ring_.slot_table[0].entry.store(kNoEntry);  // the third message's slot, which had the first one
  EXPECT_EQ(look(), QueueStatus::kCorrupted);
}

TEST_F(HandleQueue, ConsumerFindsAMessageBeforeTheHeadSaysSo) {
  make(2);
  for (std::uint64_t handle = 1; handle <= 5; ++handle) {
    push(handle);
    ring_.head->store(handle - 1);  // the producer is between its two last stores
    EXPECT_TRUE(consumer_->ready());
    EXPECT_EQ(consumer_->size(), 1U);
    EXPECT_EQ(take(), handle);
    EXPECT_EQ(look(), QueueStatus::kEmpty) << "the cursor is beyond the head now";
    EXPECT_FALSE(consumer_->ready());
    EXPECT_EQ(consumer_->size(), 0U);
    ring_.head->store(handle);
  }
}

TEST_F(HandleQueue, ALyingHeadMisleadsOnlyTheCount) {
  make(2);
  push(1);
  for (const std::uint64_t head : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{100}, ~std::uint64_t{0}}) {
    ring_.head->store(head);
    EXPECT_EQ(look(), QueueStatus::kOk);
    EXPECT_EQ(consumer_->size(), head == 2 ? 2U : 1U);
  }
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(look(), QueueStatus::kEmpty);
  EXPECT_FALSE(consumer_->ready());
}

/// Words that change whenever somebody looks: the worst a hostile peer can do.
struct RestlessPlatform {
  template <class T>
  class atomic {
   public:
    T load(std::memory_order) const noexcept { return value_ += step_; }
    void store(T value, std::memory_order) noexcept { value_ = value; }
    bool compare_exchange_strong(T& expected, T, std::memory_order, std::memory_order) noexcept {
      expected = (value_ += step_);
      return false;
    }
    mutable T value_{};
    T step_{};
  };
  static void fence_seq_cst() noexcept {}
};

TEST(HandleQueueUnderAttack, ConsumerGivesUpOnACursorThatNeverRests) {
  RingLayout<RestlessPlatform>::Word head, cursor;
  RingSlot<RestlessPlatform> slots[2];
  cursor.step_ = 3;
  for (auto& slot : slots) slot.entry.value_ = make_token(1 << 20, 0);
  QueueConsumer<RestlessPlatform> consumer({&head, slots, 2}, &cursor);
  QueuedMessage message{};
  EXPECT_EQ(consumer.peek(&message), QueueStatus::kContended);
  EXPECT_EQ(consumer.take(&message), QueueStatus::kContended);
}

TEST(HandleQueueUnderAttack, ProducerNeedsNoMoreStepsThanMessages) {
  using RestlessRing = RingLayout<RestlessPlatform>;
  RestlessRing::Word cursor;
  alignas(kCacheLineBytes) std::byte memory[RestlessRing::bytes(4)] = {};
  QueueProducer<RestlessPlatform> producer(RestlessRing::at(memory, 4), &cursor, 4);
  const auto none = [](std::uint64_t) { FAIL() << "nothing may be evicted by a lost CAS"; };
  for (std::uint64_t i = 1; i <= 4; ++i)
    EXPECT_EQ(producer.push(i, make_token(i - 1, 0), 0, i, none), QueueStatus::kOk);
  cursor.step_ = 1;
  EXPECT_EQ(producer.evict_all(none), QueueStatus::kOk);  // ends because the cursor reaches head
  EXPECT_EQ(producer.refresh(), QueueStatus::kCorrupted) << "it moved past the head";
}

TEST_F(HandleQueue, BehavesLikeADequeUnderRandomOperations) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::memset(memory_, 0, sizeof memory_);
    cursor_.store(0);
    pushed_ = 0;
    handles_.clear();
    evicted_.clear();
    const auto depth = static_cast<std::uint32_t>(1 + random() % 9);
    make(depth, ring_capacity(depth) << (random() % 2));
    std::deque<std::uint64_t> expected;
    std::uint64_t gone = 0;
    for (int step = 0; step < 2000; ++step) {
      switch (random() % 5) {
        case 0:
        case 1: {
          const std::uint64_t handle = random();
          if (expected.size() == depth) {
            expected.pop_front();
            ++gone;
          }
          expected.push_back(handle);
          ASSERT_EQ(push(handle), QueueStatus::kOk);
          break;
        }
        case 2:
          if (expected.empty()) {
            ASSERT_EQ(look(), QueueStatus::kEmpty);
          } else {
            ASSERT_EQ(take(), expected.front());
            expected.pop_front();
          }
          break;
        case 3: {
          const std::uint64_t handle = expected.empty() ? 1 : expected[random() % expected.size()];
          const bool oldest = !expected.empty() && expected.front() == handle;
          const QueueStatus status = evict_if_oldest(handle);
          ASSERT_EQ(status, oldest ? QueueStatus::kOk : QueueStatus::kEmpty);
          if (oldest) {
            expected.pop_front();
            ++gone;
          }
          break;
        }
        default:
          ASSERT_EQ(consumer_->size(), expected.size());
      }
      ASSERT_EQ(evicted_.size(), gone);
    }
  }
}

TEST(RingCapacity, IsTheNextPowerOfTwo) {
  EXPECT_EQ(ring_capacity(1), 1U);
  EXPECT_EQ(ring_capacity(2), 2U);
  EXPECT_EQ(ring_capacity(3), 4U);
  EXPECT_EQ(ring_capacity(1000), 1024U);
  EXPECT_EQ(Ring::bytes(4), 64U + 4U * 32U);
}

}  // namespace
}  // namespace baton::memory
