// SPDX-License-Identifier: Apache-2.0
// A subscription behind a pollable descriptor, as an event loop uses it: the announcement of sleep (wake.hpp) stays up from one
// take() that found nothing to the next that finds something. The steps are those of the transport's Reader::take and
// pollable_fd; queue and wake protocol are the shipped headers.
#include <gtest/gtest.h>

#include "connection.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

using memory::Sleeping;
using WakeWord = memory::WakeWord<ModelPlatform>;

struct Loop {
  int messages = 3;
  bool one_take_per_poll = false;  // else: take until empty
  // Mutants.
  bool drain_last = false;         // the descriptor is drained after the last look
  bool no_ring_at_disarm = false;  // the loop does not learn that there may be more messages
};

class Polled : public Scenario {
 public:
  explicit Polled(Loop loop) : loop_(loop) {}

  void setup(World& world) override {
    connection_ = std::make_unique<Connection>(static_cast<std::uint32_t>(loop_.messages), 1);
    chunks_ = std::make_unique<Chunks>(loop_.messages);
    event_ = std::make_unique<WakeWord>("event");
    descriptor_ = world.add_descriptor();
    world.spawn(kPublisher, "publisher", [this] { publish(); });
    const int reader = world.spawn(kReader, "event loop", [this] { run(); });
    world.make_private(connection_->cursor().id(), reader);  // the queue never fills, so the publisher does not look
  }

  void publish() {
    World& world = World::current();
    for (int i = 1; i <= loop_.messages; ++i) {
      const std::size_t chunk = static_cast<std::size_t>(i - 1);
      chunks_->payload[chunk].write(static_cast<std::uint64_t>(i));
      chunks_->references[chunk] = 1;
      connection_->writer->push(chunk, i, static_cast<std::uint64_t>(i), [](std::uint64_t) {});
      const int one[] = {0};
      const bool wake = memory::signal<ModelPlatform>(
          *event_, one, [this](int) -> WakeWord& { return connection_->sleeping(); },
          [&](int) { world.descriptor_write(descriptor_); });
      world.require(!wake, "a polled reader asks for no futex wake");
      world.checkpoint(1, static_cast<std::uint64_t>(i));
    }
  }

  bool rearm() {
    World& world = World::current();
    if (!loop_.drain_last) world.descriptor_drain(descriptor_);
    if (!armed_) {
      memory::announce_sleep<ModelPlatform>(connection_->sleeping(), Sleeping::kDescriptor);
      armed_ = true;
    }
    memory::announced_sleep<ModelPlatform>();
    const bool ready = connection_->reader->queue().ready();
    if (loop_.drain_last && !ready) world.descriptor_drain(descriptor_);
    return ready;
  }

  bool take() {
    World& world = World::current();
    for (;;) {
      QueuedMessage message{};
      if (connection_->take(*chunks_, &message)) {
        if (armed_) {
          memory::announce_awake<ModelPlatform>(connection_->sleeping());
          armed_ = false;
          if (!loop_.no_ring_at_disarm) world.descriptor_write(descriptor_);
        }
        world.require(message.sequence == static_cast<std::uint64_t>(++received_), "out of order");
        connection_->release(message);
        return true;
      }
      if (!rearm()) return false;
    }
  }

  void run() {
    World& world = World::current();
    if (rearm()) world.descriptor_write(descriptor_);  // pollable_fd()
    while (received_ < loop_.messages) {
      world.checkpoint(1, static_cast<std::uint64_t>(received_) * 2 + armed_);
      world.descriptor_wait(descriptor_);
      if (loop_.one_take_per_poll) {
        take();
      } else {
        while (received_ < loop_.messages && take()) {
        }
      }
    }
  }

 private:
  Loop loop_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Chunks> chunks_;
  std::unique_ptr<WakeWord> event_;
  int descriptor_ = -1;
  bool armed_ = false;
  int received_ = 0;
};

Options write_once() {
  Options options;
  options.write_once_slots = true;
  return options;
}

TEST(PollModel, AnEventLoopIsNeverLeftAsleepOverAMessage) {
  Loop loop;
  loop.messages = full_run() ? 4 : 3;
  expect_correct("event loop, takes all", scenario<Polled>(loop), write_once());
  loop.one_take_per_poll = true;
  expect_correct("event loop, takes one", scenario<Polled>(loop), write_once());
}
TEST(PollModel, WrongEventLoopsAreFound) {
  Loop loop;
  loop.drain_last = true;
  expect_violation("mutant: drained last", scenario<Polled>(loop), write_once());
  loop = Loop();
  loop.one_take_per_poll = true;
  loop.no_ring_at_disarm = true;
  expect_violation("mutant: not told of more", scenario<Polled>(loop), write_once());
}

}  // namespace
}  // namespace baton::model
