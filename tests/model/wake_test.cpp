// SPDX-License-Identifier: Apache-2.0
// No lost wake-up: publishers signal, waiters sleep, processes are killed at any step. Every living waiter must get every message
// that was published, and no waiter may sleep for ever.
#include <gtest/gtest.h>

#include "connection.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

using memory::Sleeping;
using WakeWord = memory::WakeWord<ModelPlatform>;

/// The faults of the mutants; everything else is the shipped code.
enum class WrongWake { kNothing, kNoLastLook, kCaptureLast, kFlagLast, kEventLast, kWakeBeforePush, kNoHangUp };

struct Plan {
  int publishers = 1;
  int waiters = 1;
  int messages = 2;         // per publisher
  bool descriptor = false;  // the last waiter sleeps in poll()
  bool guard = false;       // a thread of the first waiter's process triggers a guard condition
  bool hang_up = false;     // publisher 0 may be killed: every waiter's process watches its socket
  WrongWake wrong = WrongWake::kNothing;
};

class Waking : public Scenario {
 public:
  explicit Waking(Plan plan) : plan_(plan) {}

  // Processes: publishers 0 and 1, waiters from 3 on.
  static constexpr int kFirstWaiter = 3;

  struct Publisher {
    std::unique_ptr<WakeWord> event;
    std::unique_ptr<Chunks> chunks;
    std::vector<std::unique_ptr<Connection>> connections;  // one per waiter
  };
  struct Waiter {
    WakeWord local{"local"}, local_sleeping{"local sleeping"};
    Atomic<std::uint32_t> gone{"gone"}, guard{"guard"};
    int descriptor = -1;
    bool gone_seen = false, guard_seen = false;
    std::vector<int> received;  // per publisher
    std::uint64_t digest() const {
      std::uint64_t all = gone_seen * 2U + guard_seen;
      for (int count : received) all = all * 16 + static_cast<std::uint64_t>(count);
      return all + 1;
    }
  };

  void setup(World& world) override {
    const std::uint32_t depth = static_cast<std::uint32_t>(plan_.messages);
    for (int p = 0; p < plan_.publishers; ++p) {
      publishers_.push_back({});
      Publisher& publisher = publishers_.back();
      publisher.event = std::make_unique<WakeWord>("event");
      publisher.chunks = std::make_unique<Chunks>(plan_.messages);
      for (int w = 0; w < plan_.waiters; ++w) publisher.connections.push_back(std::make_unique<Connection>(depth, 1));
    }
    for (int w = 0; w < plan_.waiters; ++w) {
      waiters_.push_back(std::make_unique<Waiter>());
      waiters_.back()->received.resize(static_cast<std::size_t>(plan_.publishers));
      if (plan_.descriptor && w == plan_.waiters - 1) waiters_.back()->descriptor = world.add_descriptor();
    }
    for (int p = 0; p < plan_.publishers; ++p) {
      world.spawn(p, p == 0 ? "publisher" : "publisher2", [this, p] { publish(p); });
    }
    for (int w = 0; w < plan_.waiters; ++w) {
      const int waiter = world.spawn(kFirstWaiter + w, w == 0 ? "waiter" : "waiter2", [this, w] { wait(w); });
      // The queues never fill, so the publishers do not look at the cursors.
      for (auto& publisher : publishers_) {
        world.make_private(publisher.connections[static_cast<std::size_t>(w)]->cursor().id(), waiter);
      }
      if (plan_.hang_up)
        world.spawn(
            kFirstWaiter + w, "background", [this, w] { hang_up(w); }, true);
    }
    if (plan_.guard) world.spawn(kFirstWaiter, "trigger", [this] { trigger(); });
  }

  void publish(int p) {
    World& world = World::current();
    Publisher& publisher = publishers_[static_cast<std::size_t>(p)];
    for (int i = 1; i <= plan_.messages; ++i) {
      if (plan_.wrong == WrongWake::kWakeBeforePush) signal(publisher);
      // One chunk, one reference per connection, as Writer::publish does it. Nothing is reused here (channel_test does
      // that), so nothing is collected.
      Chunks& chunks = *publisher.chunks;
      const auto released = [&](std::uint64_t handle) { chunks.release(handle); };
      const std::size_t chunk = static_cast<std::size_t>(i - 1);
      chunks.payload[chunk].write(static_cast<std::uint64_t>(i));
      for (auto& c : publisher.connections) {
        ++chunks.references[chunk];
        world.require(c->writer->push(chunk, i, static_cast<std::uint64_t>(i), released) == memory::PushStatus::kPushed,
                      "refused");
      }
      // What the writer knows of the cursor decides nothing while the queue never fills.
      world.checkpoint(1, static_cast<std::uint64_t>(i));
      if (plan_.wrong != WrongWake::kWakeBeforePush) signal(publisher);
    }
  }

  void signal(Publisher& publisher) {
    World& world = World::current();
    const auto sleeping_of = [](const std::unique_ptr<Connection>& c) -> WakeWord& { return c->sleeping(); };
    const auto notify = [&](const std::unique_ptr<Connection>& c) {
      for (std::size_t w = 0; w < publisher.connections.size(); ++w) {
        if (publisher.connections[w] == c) world.descriptor_write(waiters_[w]->descriptor);
      }
    };
    bool wake = false;
    if (plan_.wrong == WrongWake::kEventLast) {
      ModelPlatform::fence_seq_cst();
      for (auto& c : publisher.connections)
        wake |= memory::who_sleeps<ModelPlatform>(c->sleeping()) == Sleeping::kFutex;
      if (wake) world.futex_wake_all(publisher.event->id());
      publisher.event->fetch_add(1, std::memory_order_release);
      return;
    } else {
      wake = memory::signal<ModelPlatform>(*publisher.event, publisher.connections, sleeping_of, notify);
    }
    if (wake) world.futex_wake_all(publisher.event->id());
  }

  void wait(int w) {
    World& world = World::current();
    Waiter& waiter = *waiters_[static_cast<std::size_t>(w)];
    for (;;) {
      // Messages that were pushed before a hang-up are visible once the hang-up is seen: look at the flag first, then drain.
      const bool gone = plan_.hang_up && waiter.gone.load(std::memory_order_acquire) != 0;
      const bool guard = plan_.guard && w == 0 && waiter.guard.load(std::memory_order_acquire) != 0;
      if (waiter.descriptor >= 0) world.descriptor_drain(waiter.descriptor);
      bool complete = true;
      for (std::size_t p = 0; p < publishers_.size(); ++p) {
        Connection& connection = *publishers_[p].connections[static_cast<std::size_t>(w)];
        QueuedMessage message;
        while (connection.take(*publishers_[p].chunks, &message)) {
          world.require(message.sequence == static_cast<std::uint64_t>(++waiter.received[p]), "out of order");
          connection.release(message);
        }
        // Only publisher 0 is ever killed.
        if (waiter.received[p] < plan_.messages && !(gone && p == 0)) complete = false;
      }
      if (plan_.guard && w == 0 && !guard) complete = false;
      world.checkpoint(1, waiter.digest() * 4 + gone * 2U + guard);
      if (complete) return;
      round(w);
      world.checkpoint(2, waiter.digest());
    }
  }

  /// Sources of wait_round.
  struct Sources {
    Waking& scenario;
    int w;
    std::array<std::uint32_t, 4> seen{};
    Waiter& waiter() { return *scenario.waiters_[static_cast<std::size_t>(w)]; }
    template <class F>
    void for_each_event(F&& f) {
      std::size_t i = 0;
      for (auto& publisher : scenario.publishers_) f(*publisher.event, seen[i++]);
      f(waiter().local, seen[i]);
    }
    template <class F>
    void for_each_sleeping(F&& f) {
      const Sleeping how = waiter().descriptor >= 0 ? Sleeping::kDescriptor : Sleeping::kFutex;
      for (auto& publisher : scenario.publishers_)
        f(publisher.connections[static_cast<std::size_t>(w)]->sleeping(), how);
      f(waiter().local_sleeping, how);
    }
    bool ready() {
      if (scenario.plan_.hang_up && !waiter().gone_seen && waiter().gone.load(std::memory_order_acquire) != 0) {
        waiter().gone_seen = true;
        return true;
      }
      if (scenario.plan_.guard && w == 0 && !waiter().guard_seen &&
          waiter().guard.load(std::memory_order_acquire) != 0) {
        waiter().guard_seen = true;
        return true;
      }
      for (auto& publisher : scenario.publishers_) {
        if (publisher.connections[static_cast<std::size_t>(w)]->reader->queue().ready()) return true;
      }
      return false;
    }
    void sleep() {
      if (waiter().descriptor >= 0) {
        World::current().descriptor_wait(waiter().descriptor);
        return;
      }
      World::Word words[4];
      int count = 0;
      for (auto& publisher : scenario.publishers_) {
        words[count] = {publisher.event->id(), seen[static_cast<std::size_t>(count)]};
        ++count;
      }
      words[count] = {waiter().local.id(), seen[static_cast<std::size_t>(count)]};
      World::current().futex_wait(words, count + 1);
    }
  };

  void round(int w) {
    Sources sources{*this, w};
    const auto capture = [](const WakeWord& event, std::uint32_t& seen) {
      seen = memory::capture_event<ModelPlatform>(event);
    };
    const auto announce = [](WakeWord& sleeping, Sleeping how) {
      memory::announce_sleep<ModelPlatform>(sleeping, how);
    };
    const auto awake = [](WakeWord& sleeping, Sleeping) { memory::announce_awake<ModelPlatform>(sleeping); };
    switch (plan_.wrong) {
      case WrongWake::kNoLastLook:
        sources.for_each_event(capture);
        sources.for_each_sleeping(announce);
        memory::announced_sleep<ModelPlatform>();
        sources.sleep();
        sources.for_each_sleeping(awake);
        break;
      case WrongWake::kCaptureLast: {
        sources.for_each_sleeping(announce);
        memory::announced_sleep<ModelPlatform>();
        const bool ready = sources.ready();
        sources.for_each_event(capture);
        if (!ready) sources.sleep();
        sources.for_each_sleeping(awake);
        break;
      }
      case WrongWake::kFlagLast: {
        sources.for_each_event(capture);
        const bool ready = sources.ready();
        sources.for_each_sleeping(announce);
        memory::announced_sleep<ModelPlatform>();
        if (!ready) sources.sleep();
        sources.for_each_sleeping(awake);
        break;
      }
      default:
        memory::wait_round<ModelPlatform>(sources);
    }
  }

  /// The background thread of a waiter's process: the socket to publisher 0 hangs up.
  void hang_up(int w) {
    World::current().await_death(0);
    if (plan_.wrong == WrongWake::kNoHangUp) return;
    Waiter& waiter = *waiters_[static_cast<std::size_t>(w)];
    waiter.gone.store(1, std::memory_order_release);
    ring_local(waiter);
  }

  void trigger() {
    Waiter& waiter = *waiters_[0];
    waiter.guard.store(1, std::memory_order_release);
    ring_local(waiter);
  }

  void finish(World& world) override {
    for (std::size_t p = 0; p < publishers_.size(); ++p) {
      Publisher& publisher = publishers_[p];
      for (std::size_t w = 0; w < waiters_.size(); ++w) {
        Connection& connection = *publisher.connections[w];
        if (!world.dead(kFirstWaiter + static_cast<int>(w))) {
          world.require(static_cast<std::uint64_t>(waiters_[w]->received[p]) == connection.published(world),
                        "a published message was missed");
        }
      }
      if (world.dead(static_cast<int>(p)))
        continue;  // its bookkeeping died with it, and its memory is unmapped by the kernel
      for (auto& connection : publisher.connections) {
        connection->writer->end([&](std::uint64_t handle) { publisher.chunks->release(handle); });
      }
      for (int references : publisher.chunks->references) world.require(references == 0, "a chunk leaked");
    }
  }

 private:
  void ring_local(Waiter& waiter) {
    WakeWord* const only[] = {&waiter.local_sleeping};
    const bool wake = memory::signal<ModelPlatform>(
        waiter.local, only, [](WakeWord* word) -> WakeWord& { return *word; },
        [&](WakeWord*) { World::current().descriptor_write(waiter.descriptor); });
    if (wake) World::current().futex_wake_all(waiter.local.id());
  }

  Plan plan_;
  std::vector<Publisher> publishers_;
  std::vector<std::unique_ptr<Waiter>> waiters_;
};

constexpr unsigned kFirstPublisherDies = 1U << 0;
constexpr unsigned kFirstWaiterDies = 1U << Waking::kFirstWaiter;

Options no_kill() {
  Options options;
  options.write_once_slots = true;  // a queue as deep as there are messages
  return options;
}
Options with_kill(unsigned processes) {
  Options options = no_kill();
  options.kills = 1;
  options.killable = processes;
  return options;
}

Plan plan(int publishers, int waiters, int messages) {
  Plan p;
  p.publishers = publishers;
  p.waiters = waiters;
  p.messages = messages;
  return p;
}

TEST(WakeModel, OnePublisherNeverLeavesOneWaiterAsleep) {
  expect_correct("1 publisher, 1 waiter", scenario<Waking>(plan(1, 1, 2)), no_kill());
  if (full_run()) expect_correct("1 publisher, 1 waiter, 3 messages", scenario<Waking>(plan(1, 1, 3)), no_kill());
}
TEST(WakeModel, OnePublisherNeverLeavesTwoWaitersAsleep) {
  expect_correct("1 publisher, 2 waiters", scenario<Waking>(plan(1, 2, 1)), no_kill());
  Options bounded = no_kill();
  bounded.preemptions = 2;
  if (full_run()) expect_correct("1 publisher, 2 waiters, 2 messages", scenario<Waking>(plan(1, 2, 2)), bounded);
}
TEST(WakeModel, TwoPublishersNeverLeaveOneWaiterAsleep) {
  expect_correct("2 publishers, 1 waiter", scenario<Waking>(plan(2, 1, 1)), no_kill());
  Options bounded = no_kill();
  bounded.preemptions = 2;
  if (full_run()) expect_correct("2 publishers, 1 waiter, 2 messages", scenario<Waking>(plan(2, 1, 2)), bounded);
}
TEST(WakeModel, APublisherKilledAnywhereLeavesNobodyAsleep) {
  Plan p = plan(1, 1, 2);
  p.hang_up = true;
  expect_correct("1 publisher killed, 1 waiter", scenario<Waking>(p), with_kill(kFirstPublisherDies));
  p = plan(2, 1, 1);
  p.hang_up = true;
  Options options = with_kill(kFirstPublisherDies);
  if (!full_run()) options.preemptions = 2;
  expect_correct("1 of 2 publishers killed, 1 waiter", scenario<Waking>(p), options);
}
TEST(WakeModel, AWaiterKilledAnywhereDisturbsNobody) {
  expect_correct("waiter killed", scenario<Waking>(plan(1, 1, 2)), with_kill(kFirstWaiterDies));
  expect_correct("1 of 2 waiters killed", scenario<Waking>(plan(1, 2, 1)), with_kill(kFirstWaiterDies));
}
TEST(WakeModel, AReaderInPollIsRungThroughItsDescriptor) {
  Plan p = plan(1, 1, 2);
  p.descriptor = true;
  expect_correct("descriptor", scenario<Waking>(p), no_kill());
  p.hang_up = true;
  expect_correct("descriptor, publisher killed", scenario<Waking>(p), with_kill(kFirstPublisherDies));
}
TEST(WakeModel, AGuardConditionWakesItsWaitSet) {
  Plan p = plan(1, 1, 1);
  p.guard = true;
  expect_correct("guard condition", scenario<Waking>(p), no_kill());
}

// --- mutants ---

struct WrongStep {
  const char* name;
  WrongWake wrong;
  bool descriptor = false;
};
class WrongWaking : public testing::TestWithParam<WrongStep> {};
TEST_P(WrongWaking, IsFound) {
  Plan p = plan(1, 1, 1);
  p.wrong = GetParam().wrong;
  p.hang_up = p.wrong == WrongWake::kNoHangUp;
  p.descriptor = GetParam().descriptor;
  expect_violation(GetParam().name, scenario<Waking>(p), p.hang_up ? with_kill(kFirstPublisherDies) : no_kill());
}
INSTANTIATE_TEST_SUITE_P(WakeModel, WrongWaking,
                         testing::Values(WrongStep{"no last look", WrongWake::kNoLastLook},
                                         WrongStep{"event captured after the last look", WrongWake::kCaptureLast},
                                         WrongStep{"flag set after the last look", WrongWake::kFlagLast, true},
                                         WrongStep{"event after the wake", WrongWake::kEventLast},
                                         WrongStep{"signal before push", WrongWake::kWakeBeforePush},
                                         WrongStep{"nobody notifies at hang-up", WrongWake::kNoHangUp}));

struct WeakenedWake {
  const char* name;
  Mutation mutation;
  bool descriptor = false;
};
using Op = Mutation::Op;
class WeakenedWaking : public testing::TestWithParam<WeakenedWake> {};
TEST_P(WeakenedWaking, IsFound) {
  Options options = no_kill();
  options.mutation = &GetParam().mutation;
  Plan p = plan(1, 1, 2);
  p.descriptor = GetParam().descriptor;
  expect_violation(GetParam().name, scenario<Waking>(p), options);
}
INSTANTIATE_TEST_SUITE_P(
    WakeModel, WeakenedWaking,
    testing::Values(WeakenedWake{"publisher's fence missing", {"fence", Op::kFence, 0}},
                    WeakenedWake{"publisher's fence missing, descriptor", {"fence", Op::kFence, 0}, true},
                    WeakenedWake{
                        "waiter's fence missing, descriptor", {"fence", Op::kFence, Waking::kFirstWaiter}, true},
                    WeakenedWake{"event add relaxed", {"event", Op::kRmw, 0}}));

}  // namespace
}  // namespace baton::model
