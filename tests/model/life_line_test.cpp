// SPDX-License-Identifier: Apache-2.0
// A disconnected process may live: a connection ends at any moment for any reason, and the subscriber's samples stay its own until
// the end of file on the socket (core/transport/src/life_line.hpp). The end of file is one word here: the kernel sets it when the
// subscriber drops its last claim, or dies.
#include <gtest/gtest.h>

#include "connection.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

struct LifeLinePlan {
  int pushes = 3;
  int reuses = 3;                      // chunks that the publisher fills after the disconnection
  int attempts = 3;                    // takes that the reader tries
  bool disconnected_is_dead = false;   // a mutant: the publisher releases all when the connection ends
  bool death_is_missed = false;        // a mutant: the end of file of a disconnected process is not looked for
  bool claim_ends_early = false;       // a mutant: the subscriber drops its claim while it still reads
  bool unread_stays_in_queue = false;  // a mutant: the unread are released without moving the cursor
};

class LifeLineModel : public Scenario {
 public:
  explicit LifeLineModel(LifeLinePlan plan) : plan_(plan) {}

  void setup(World& world) override {
    connection_ = std::make_unique<Connection>(2, 2);
    chunks_ = std::make_unique<Chunks>(5);
    end_of_file_ = std::make_unique<Atomic<std::uint32_t>>("end of file");
    world.spawn(kPublisher, "publisher", [this] { publish(); });
    world.spawn(kReader, "reader", [this] { read(); });
  }

  void publish() {
    World& world = World::current();
    const auto released = [this](std::uint64_t handle) { chunks_->release(handle); };
    for (int i = 1; i <= plan_.pushes; ++i) {
      world.require(connection_->publish(*chunks_, static_cast<std::uint64_t>(i)) == memory::PushStatus::kPushed,
                    "refused");
    }
    // The connection ends: BYE, a stall, no descriptors. The publisher does not know whether the subscriber lives.
    if (plan_.unread_stays_in_queue) {
      connection_->writer->end(released);
      ended_ = true;
    } else {
      world.require(connection_->writer->end_unread(released), "corrupted");
      world.require(connection_->writer->collect(released), "corrupted");
      if (plan_.disconnected_is_dead) end();
    }
    for (int i = 0; i < plan_.reuses; ++i) {
      look();
      const int chunk = chunks_->find_free();
      if (chunk >= 0) chunks_->payload[static_cast<std::size_t>(chunk)].write(static_cast<std::uint64_t>(100 + i));
    }
  }

  void look() {
    if (ended_) return;
    const auto released = [this](std::uint64_t handle) { chunks_->release(handle); };
    // acquire: the kernel orders a process's writes before its last close(2) before the other end's read of the end of file.
    if (end_of_file_->load(std::memory_order_acquire) != 0) {
      end();
    } else {
      World::current().require(connection_->writer->collect(released), "corrupted");
    }
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    connection_->writer->end([this](std::uint64_t handle) { chunks_->release(handle); });
  }

  void read() {
    World& world = World::current();
    bool holding = false;
    QueuedMessage held{};
    std::uint64_t digest = 1;
    for (int i = 0; i < plan_.attempts; ++i) {
      QueuedMessage message{};
      if (connection_->take(*chunks_, &message)) {
        digest = (digest * 31 + message.position + 1) * 31 + message.handle;
        if (!holding) {
          holding = true;
          held = message;
        } else {
          Connection::check_content(*chunks_, message);
          connection_->release(message);
        }
      }
      world.checkpoint(1, digest * 31 + static_cast<std::uint64_t>(i));
    }
    if (plan_.claim_ends_early) end_of_file_->store(1, std::memory_order_release);
    if (holding) {
      Connection::check_content(*chunks_, held);
      connection_->release(held);
    }
    end_of_file_->store(1, std::memory_order_release);  // pairs with the acquire in look()
  }

  void finish(World& world) override {
    if (world.dead(kPublisher)) return;
    // By now the kernel has told of a death, too.
    if (!plan_.death_is_missed || !world.dead(kReader)) end();
    for (int references : chunks_->references) world.require(references == 0, "a chunk leaked");
  }

 private:
  LifeLinePlan plan_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Chunks> chunks_;
  std::unique_ptr<Atomic<std::uint32_t>> end_of_file_;
  bool ended_ = false;
};

Options killing_the_reader() {
  Options options;
  options.kills = 1;
  options.killable = 1U << kReader;
  return options;
}

TEST(LifeLineModel, SamplesOfADisconnectedSubscriberAreNeverReused) {
  LifeLinePlan p;
  p.attempts = full_run() ? 4 : 3;
  expect_correct("disconnected at any moment", scenario<LifeLineModel>(p));
}
TEST(LifeLineModel, SamplesOfADisconnectedSubscriberComeBackWhenItIsKilledAnywhere) {
  expect_correct("disconnected, and killed at any step", scenario<LifeLineModel>(LifeLinePlan()), killing_the_reader());
}
TEST(LifeLineModel, TakingADisconnectedSubscriberForADeadOneIsFound) {
  LifeLinePlan p;
  p.disconnected_is_dead = true;
  expect_violation("mutant: disconnected is dead", scenario<LifeLineModel>(p));
}
TEST(LifeLineModel, MissingTheDeathOfADisconnectedSubscriberIsFound) {
  LifeLinePlan p;
  p.death_is_missed = true;
  expect_violation("mutant: the death is missed", scenario<LifeLineModel>(p), killing_the_reader());
}
TEST(LifeLineModel, ReleasingTheUnreadWithoutMovingTheCursorIsFound) {
  LifeLinePlan p;
  p.unread_stays_in_queue = true;
  expect_violation("mutant: the unread stay in the queue", scenario<LifeLineModel>(p));
}
TEST(LifeLineModel, AClaimThatEndsBeforeTheLastReadIsFound) {
  LifeLinePlan p;
  p.claim_ends_early = true;
  expect_violation("mutant: claim, then read", scenario<LifeLineModel>(p));
}

}  // namespace
}  // namespace baton::model
