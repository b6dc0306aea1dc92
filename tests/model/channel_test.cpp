// SPDX-License-Identifier: Apache-2.0
// Queue and release table together: overflow against concurrent takes, several reader threads, releases from other threads,
// reuse of chunks, eviction by memory policy, orderly end.
#include <gtest/gtest.h>

#include "connection.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

struct Shape {
  std::uint32_t depth, capacity, held;
  int pushes;
  int readers;   // threads of the one subscription
  int attempts;  // takes that each of them tries
  int chunks() const { return static_cast<int>(depth + held) + 1; }
};

/// The publisher pushes more than fits; readers take, look, and give back at once or hold one sample for a while.
class Overflow : public Scenario {
 public:
  explicit Overflow(Shape shape) : shape_(shape) {}

  void setup(World& world) override {
    connection_ = std::make_unique<Connection>(shape_.depth, shape_.held, shape_.capacity);
    chunks_ = std::make_unique<Chunks>(shape_.chunks());
    taken_.resize(static_cast<std::size_t>(shape_.readers));
    world.spawn(0, "publisher", [this] {
      for (int i = 1; i <= shape_.pushes; ++i) {
        World::current().require(
            connection_->publish(*chunks_, static_cast<std::uint64_t>(i)) == memory::PushStatus::kPushed,
            "refused although the readers hold no more than they may");
      }
    });
    for (int r = 0; r < shape_.readers; ++r) {
      world.spawn(1, r == 0 ? "reader" : "reader2", [this, r] { read(r); });
    }
  }

  void read(int r) {
    std::vector<std::uint64_t>& mine = taken_[static_cast<std::size_t>(r)];
    std::uint64_t digest = 1;
    for (int i = 0; i < shape_.attempts; ++i) {
      QueuedMessage message;
      if (connection_->take(*chunks_, &message)) {
        World::current().require(message.sequence == message.position + 1, "not the message of this position");
        World::current().require(mine.empty() || mine.back() < message.position, "out of order");
        mine.push_back(message.position);
        digest = digest * 31 + message.position + 1;
        Connection::check_content(*chunks_, message);
        connection_->release(message);
      }
      World::current().checkpoint(1, digest * 64 + static_cast<std::uint64_t>(i));
    }
  }

  void finish(World& world) override {
    std::vector<int> times(static_cast<std::size_t>(shape_.pushes), 0);
    for (const auto& positions : taken_) {
      for (std::uint64_t position : positions) {
        world.require(position < times.size() && ++times[position] == 1, "a message was taken twice");
      }
    }
    const auto released = [this](std::uint64_t handle) { chunks_->release(handle); };
    world.require(connection_->writer->collect(released), "corrupted");
    world.require(connection_->writer->end_unread(released), "corrupted");
    world.require(connection_->writer->outstanding() == 0, "released samples did not come back");
    for (int references : chunks_->references) world.require(references == 0, "a chunk leaked");
  }

 protected:
  Shape shape_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Chunks> chunks_;
  std::vector<std::vector<std::uint64_t>> taken_;
};

TEST(ChannelModel, OverflowAgainstOneReaderLosesNothingTwice) {
  //                                                depth, capacity, held, pushes, readers, attempts
  expect_correct("overflow depth 1", scenario<Overflow>(Shape{1, 1, 1, 4, 1, 4}));
  expect_correct("overflow depth 1 of 2", scenario<Overflow>(Shape{1, 2, 1, 4, 1, 4}));
  expect_correct("overflow depth 2", scenario<Overflow>(Shape{2, 2, 1, 4, 1, 4}));
  if (full_run()) {
    expect_correct("overflow depth 1, 5 pushes", scenario<Overflow>(Shape{1, 1, 1, 5, 1, 5}));
    expect_correct("overflow depth 2, 6 pushes", scenario<Overflow>(Shape{2, 2, 1, 6, 1, 5}));
    expect_correct("overflow depth 2 of 4, 5 pushes", scenario<Overflow>(Shape{2, 4, 1, 5, 1, 5}));
    expect_correct("overflow depth 3 of 4, 6 pushes", scenario<Overflow>(Shape{3, 4, 1, 6, 1, 5}));
  }
}

TEST(ChannelModel, TwoReaderThreadsNeverTakeTheSameMessage) {
  expect_correct("two readers depth 1", scenario<Overflow>(Shape{1, 1, 2, 2, 2, 2}));
  expect_correct("two readers depth 2", scenario<Overflow>(Shape{2, 2, 2, 3, 2, 2}));
  if (full_run()) {
    expect_correct("two readers depth 1, 3 pushes", scenario<Overflow>(Shape{1, 1, 2, 3, 2, 2}));
    Options bounded;
    bounded.preemptions = 3;
    expect_correct("two readers depth 2, 4 pushes", scenario<Overflow>(Shape{2, 2, 2, 4, 2, 2}), bounded);
    bounded.preemptions = 2;
    expect_correct("two readers depth 1, 4 pushes", scenario<Overflow>(Shape{1, 1, 2, 4, 2, 2}), bounded);
    expect_correct("three readers depth 2", scenario<Overflow>(Shape{2, 2, 3, 3, 3, 1}), bounded);
  }
}

/// The reader counts, while the publisher overflows a queue that is never empty once it was full.
class Counting : public Scenario {
 public:
  explicit Counting(int pushes) : pushes_(pushes) {}
  void setup(World& world) override {
    connection_ = std::make_unique<Connection>(2, 1);
    chunks_ = std::make_unique<Chunks>(4);
    world.spawn(0, "publisher", [this] {
      for (int i = 1; i <= pushes_; ++i) connection_->publish(*chunks_, static_cast<std::uint64_t>(i));
    });
    world.spawn(1, "reader", [this] {
      QueuedMessage message{};
      const bool found = connection_->reader->queue().peek(&message) == QueueStatus::kOk;
      World::current().discard_reads();
      if (!found || message.position < 2) return;  // it was never full, as far as this thread knows
      const std::uint64_t count = connection_->reader->queue().size();
      World::current().require(count >= 1, "a queue with messages counts as empty");
      World::current().require(count <= 2, "more messages than the depth");
    });
  }

 private:
  int pushes_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Chunks> chunks_;
};

TEST(ChannelModel, AQueueWithMessagesNeverCountsAsEmpty) {
  expect_correct("count against overflow", scenario<Counting>(full_run() ? 6 : 5));
}

// --- the checker finds every weakened ordering: so each ordering in the headers is necessary ---

struct Weakened {
  const char* name;
  Mutation mutation;
  Shape shape;
};
using Op = Mutation::Op;
const Weakened kWeakened[] = {
    {"slot store relaxed", {"slot.entry", Op::kStore, kPublisher}, {2, 2, 1, 2, 1, 2}},
    {"slot load relaxed", {"slot.entry", Op::kLoad, kReader}, {2, 2, 1, 2, 1, 2}},
    {"take CAS relaxed", {"cursor", Op::kRmw, kReader}, {1, 1, 1, 3, 1, 3}},
    {"take CAS relaxed, two readers", {"cursor", Op::kRmw, kReader}, {2, 2, 2, 3, 2, 2}},
    {"evict CAS relaxed", {"cursor", Op::kRmw, kPublisher}, {1, 1, 1, 3, 1, 3}},
    {"failed evict CAS relaxed", {"cursor", Op::kFailedRmw, kPublisher}, {1, 1, 1, 3, 1, 3}},
    {"publisher's cursor load relaxed", {"cursor", Op::kLoad, kPublisher}, {1, 1, 1, 3, 1, 3}},
    {"reader's cursor load relaxed", {"cursor", Op::kLoad, kReader}, {2, 2, 2, 3, 2, 2}},
    {"release store relaxed", {"word", Op::kStore, kReader}, {1, 1, 1, 3, 1, 3}},
    {"release load relaxed", {"word", Op::kLoad, kPublisher}, {1, 1, 1, 3, 1, 3}},
};

class WeakenedChannel : public testing::TestWithParam<Weakened> {};

TEST_P(WeakenedChannel, IsFound) {
  const Weakened& weakened = GetParam();
  Options options;
  options.mutation = &weakened.mutation;
  expect_violation(weakened.name, scenario<Overflow>(weakened.shape), options);
}
INSTANTIATE_TEST_SUITE_P(ChannelModel, WeakenedChannel, testing::ValuesIn(kWeakened));

}  // namespace
}  // namespace baton::model
