// SPDX-License-Identifier: Apache-2.0
// The life of messages that are held, released by other threads or evicted by a memory policy: also when a subscription ends,
// when either process is killed at any step, and when the subscriber writes garbage.
#include <gtest/gtest.h>

#include "connection.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

struct Plan {
  std::uint32_t depth = 2, held = 2;
  int pushes = 3;
  int attempts = 2;            // takes that the reader tries
  bool releaser = false;       // another thread of the reader's process gives samples back
  bool keep = false;           // the reader holds its first sample to the end, then gives it back
  bool policy = false;         // the publisher's pool reclaims its oldest message after every push
  bool end = false;            // the publisher ends the connection in an orderly way, then collects
  bool release_early = false;  // a mutant: the reader gives back before it has read
  bool reuse_taken = false;    // a mutant: the publisher takes a taken message for an evicted one
};

class Life : public Scenario {
 public:
  explicit Life(Plan plan) : plan_(plan) {}

  void setup(World& world) override {
    connection_ = std::make_unique<Connection>(plan_.depth, plan_.held);
    chunks_ = std::make_unique<Chunks>(static_cast<int>(plan_.depth + plan_.held) + 1);
    mailbox_ = std::make_unique<Mailbox>();
    world.spawn(kPublisher, "publisher", [this] { publish(); });
    world.spawn(kReader, "reader", [this] { read(); });
    if (plan_.releaser)
      world.spawn(
          kReader, "releaser", [this] { release(); }, true);
  }

  void publish() {
    World& world = World::current();
    const auto released = [this](std::uint64_t handle) { chunks_->release(handle); };
    for (int i = 1; i <= plan_.pushes; ++i) {
      world.require(connection_->publish(*chunks_, static_cast<std::uint64_t>(i)) == memory::PushStatus::kPushed,
                    "refused");
      if (plan_.policy && i > 1) {
        // The pool names its oldest published chunk; it may be unread, being read, or gone.
        const std::uint64_t oldest = oldest_chunk();
        const int before = chunks_->references[oldest];
        const bool evicted = connection_->writer->evict_oldest_if(oldest, released);
        world.require(!evicted || (before == 1 && chunks_->references[oldest] == 0), "evicted but not released");
      }
      if (plan_.reuse_taken && i > 1) chunks_->payload[oldest_chunk()].write(0);
    }
    if (plan_.end) world.require(connection_->writer->end_unread(released), "corrupted");
  }

  std::uint64_t oldest_chunk() const {  // the publisher's own knowledge: payload is plain memory of its process
    std::size_t oldest = 0;
    std::uint64_t sequence = ~std::uint64_t{0};
    for (std::size_t i = 0; i < chunks_->references.size(); ++i) {
      if (chunks_->references[i] > 0 && chunks_->payload[i].read() < sequence) {
        sequence = chunks_->payload[i].read();
        oldest = i;
      }
    }
    return oldest;
  }

  void read() {
    World& world = World::current();
    bool keeping = false;
    QueuedMessage kept{};
    std::uint64_t digest = 1;
    for (int i = 0; i < plan_.attempts; ++i) {
      QueuedMessage message{};
      if (connection_->take(*chunks_, &message)) {
        taken_.push_back(message.position);
        // What a kept or mailed sample is follows from these; the digest must say it (see World::checkpoint).
        digest = ((digest * 31 + message.position + 1) * 31 + message.handle) * 0x9E3779B97F4A7C15U + message.entry;
        if (plan_.keep && !keeping) {
          keeping = true;
          kept = message;
        } else if (plan_.release_early) {
          connection_->release(message);
          Connection::check_content(*chunks_, message);
        } else if (plan_.releaser && mailbox_->full.load(std::memory_order_acquire) == 0) {
          mailbox_->message = message;
          mailbox_->full.store(1, std::memory_order_release);
          mailed_ = true;
        } else {
          Connection::check_content(*chunks_, message);
          connection_->release(message);
        }
      }
      world.checkpoint(1, (digest * 31 + static_cast<std::uint64_t>(i)) * 2 + mailed_);
    }
    if (keeping) {
      Connection::check_content(*chunks_, kept);
      connection_->release(kept);
    }
  }

  void release() {  // one sample; it may arrive after everybody else has finished
    for (int look = 0; look < 2; ++look) {
      if (mailbox_->full.load(std::memory_order_acquire) == 0) continue;
      Connection::check_content(*chunks_, mailbox_->message);
      connection_->release(mailbox_->message);
      released_elsewhere_ = true;
      return;
    }
  }

  void finish(World& world) override {
    const auto released = [this](std::uint64_t handle) { chunks_->release(handle); };
    for (std::size_t i = 1; i < taken_.size(); ++i) world.require(taken_[i - 1] < taken_[i], "out of order");
    if (world.dead(kPublisher)) {
      // Its bookkeeping died with it. What it published stays readable, in order, untorn; position p holds message p + 1.
      std::uint64_t cursor = world.latest(connection_->cursor().id());
      const std::uint64_t published = connection_->published(world);
      world.require(cursor <= published, "a message was taken that was never there");
      for (; cursor < published; ++cursor) {
        QueuedMessage message{};
        world.require(connection_->reader->queue().take(&message) == QueueStatus::kOk,
                      "an unread message is unreadable");
        world.require(message.position == cursor && message.sequence == cursor + 1, "torn or lost");
      }
      return;
    }
    const bool reader_dead = world.dead(kReader);
    if (!reader_dead && !(mailed_ && !released_elsewhere_)) {
      world.require(connection_->writer->collect(released), "corrupted");
      world.require(connection_->writer->end_unread(released), "corrupted");
      world.require(connection_->writer->outstanding() == 0, "released samples did not come back");
    } else {
      connection_->writer->end(released);
    }
    for (int references : chunks_->references) world.require(references == 0, "a chunk leaked");
  }

 private:
  struct Mailbox {
    Atomic<std::uint32_t> full{"mailbox"};
    QueuedMessage message{};
  };
  Plan plan_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Chunks> chunks_;
  std::unique_ptr<Mailbox> mailbox_;
  std::vector<std::uint64_t> taken_;
  bool mailed_ = false, released_elsewhere_ = false;
};

Options killing(int process) {
  Options options;
  options.kills = 1;
  options.killable = 1U << process;
  return options;
}

int more(int in_full_run, int otherwise) { return full_run() ? in_full_run : otherwise; }

TEST(LifeModel, AHeldSampleIsNeverReusedAlthoughMoreIsPublished) {
  Plan p;
  p.keep = true;
  p.depth = 1;
  p.pushes = more(5, 4);
  p.attempts = more(4, 3);
  expect_correct("hold one sample, overflow", scenario<Life>(p));
}
TEST(LifeModel, AnotherThreadMayGiveASampleBack) {
  Plan p;
  p.releaser = true;
  p.depth = 1;
  p.pushes = more(4, 3);
  p.attempts = more(3, 2);
  expect_correct("released by another thread", scenario<Life>(p));
}
TEST(LifeModel, AMemoryPolicyEvictsOnlyUnreadMessages) {
  Plan p;
  p.policy = true;
  p.pushes = more(4, 3);
  p.attempts = more(4, 3);
  expect_correct("eviction by memory policy", scenario<Life>(p));
}
TEST(LifeModel, AnOrderlyEndReleasesTheUnreadAndWaitsForTheHeld) {
  Plan p;
  p.end = true;
  p.keep = true;
  p.pushes = 3;
  p.attempts = more(4, 3);
  expect_correct("orderly end against takes", scenario<Life>(p));
}
TEST(LifeModel, AReaderKilledAnywhereLeaksNothing) {
  Plan p;
  p.depth = 1;
  p.keep = true;
  p.pushes = more(4, 3);
  p.attempts = 3;
  expect_correct("reader killed", scenario<Life>(p), killing(kReader));
  p.depth = 2;
  p.policy = true;
  expect_correct("reader killed, memory policy", scenario<Life>(p), killing(kReader));
}
TEST(LifeModel, MessagesOfAPublisherKilledAnywhereStayReadable) {
  Plan p;
  p.depth = 1;
  p.pushes = 3;
  p.attempts = 3;
  expect_correct("publisher killed", scenario<Life>(p), killing(kPublisher));
  p.depth = 2;
  p.pushes = 3;
  p.policy = true;
  expect_correct("publisher killed, memory policy", scenario<Life>(p), killing(kPublisher));
}

TEST(LifeModel, GivingBackBeforeReadingIsFound) {
  Plan p;
  p.depth = 1;
  p.release_early = true;
  expect_violation("mutant: give back, then read", scenario<Life>(p));
}
TEST(LifeModel, ReusingATakenMessageIsFound) {
  Plan p;
  p.reuse_taken = true;
  expect_violation("mutant: reuse what is held", scenario<Life>(p));
}

/// The reader takes only while it holds less than its limit; another thread gives back and counts down. Then depth + held
/// release entries suffice, no message may be refused, and the publisher never sees more held than the limit, for which it would expel
/// the reader - if the count is decremented with release and read with acquire. `one_more`: the reader takes a message beyond its
/// limit and gives it back at once.
class HeldLimit : public Scenario {
 public:
  HeldLimit(int pushes, int attempts, bool one_more = false)
      : pushes_(pushes), attempts_(attempts), one_more_(one_more) {}
  void setup(World& world) override {
    connection_ = std::make_unique<Connection>(1, 1);
    chunks_ = std::make_unique<Chunks>(3);
    outstanding_ = std::make_unique<Atomic<std::uint32_t>>("outstanding");
    mailbox_ = std::make_unique<Atomic<std::uint64_t>>("mailbox");
    world.spawn(kPublisher, "publisher", [this] {
      const auto released = [this](std::uint64_t handle) { chunks_->release(handle); };
      for (int i = 1; i <= pushes_; ++i) {
        World::current().require(
            connection_->publish(*chunks_, static_cast<std::uint64_t>(i)) == memory::PushStatus::kPushed,
            "refused although the reader never held more than it may");
        World::current().require(connection_->writer->collect(released), "an honest reader was called corrupted");
        World::current().require(connection_->writer->held() <= 1, "an honest reader seems to hold more than it may");
      }
    });
    world.spawn(kReader, "reader", [this] {
      for (int i = 0; i < attempts_; ++i) {
        const bool full = outstanding_->load(std::memory_order_acquire) >= 1;  // pairs with the release below
        if (full && !one_more_) continue;
        QueuedMessage message{};
        if (!connection_->take(*chunks_, &message)) continue;
        if (full) {
          connection_->release(message);
          continue;
        }
        outstanding_->fetch_add(1, std::memory_order_relaxed);
        mailbox_->store(message.entry, std::memory_order_release);
      }
    });
    world.spawn(kReader, "releaser", [this] {
      std::uint64_t done = 0;
      for (int i = 0; i < attempts_; ++i) {
        const std::uint64_t token = mailbox_->load(std::memory_order_acquire);
        if (token == done) continue;
        connection_->reader->releases().release(token);
        outstanding_->fetch_add(~std::uint32_t{0}, std::memory_order_release);  // pairs with the acquire above
        done = token;
      }
    });
  }

 private:
  int pushes_, attempts_;
  bool one_more_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Chunks> chunks_;
  std::unique_ptr<Atomic<std::uint32_t>> outstanding_;
  std::unique_ptr<Atomic<std::uint64_t>> mailbox_;
};

TEST(LifeModel, DepthPlusHeldEntriesSufficeWhenTheHeldCountIsReleased) {
  expect_correct("held limit", scenario<HeldLimit>(3, 2));
  static const Mutation relaxed{"outstanding", Mutation::Op::kRmw, kReader};
  Options options;
  options.mutation = &relaxed;
  expect_violation("mutant: held count relaxed", scenario<HeldLimit>(3, 2), options);
  static const Mutation cursor{"cursor", Mutation::Op::kLoad, kPublisher};
  options.mutation = &cursor;
  expect_violation("mutant: publisher's cursor load relaxed, held count", scenario<HeldLimit>(3, 2), options);
  expect_violation("mutant: takes one more to give it up", scenario<HeldLimit>(3, 2, true));
}

/// A subscriber that writes arbitrary values into everything it may write, at any moment.
class Hostile : public Scenario {
 public:
  Hostile(int pushes, int writes) : pushes_(pushes), writes_(writes) {}
  void setup(World& world) override {
    connection_ = std::make_unique<Connection>(2, 1);
    world.spawn(kPublisher, "publisher", [this] {
      World& w = World::current();
      const auto released = [this](std::uint64_t handle) { release(handle); };
      for (int i = 1; i <= pushes_; ++i) {
        references_.push_back(1);
        const auto status =
            connection_->writer->push(references_.size() - 1, 0, static_cast<std::uint64_t>(i), released);
        if (status != memory::PushStatus::kPushed) references_.back() = 0;
        if (connection_->writer->corrupted()) break;
        connection_->writer->collect(released);
      }
      connection_->writer->end(released);
      for (int references : references_)
        w.require(references == 0, "a handle was not released when the connection ended");
    });
    world.spawn(kReader, "attacker", [this] {
      World& w = World::current();
      for (int i = 0; i < writes_; ++i) {
        const int what = w.arbitrary(8);
        if (what < 5) {
          static constexpr std::uint64_t kSteps[] = {1, 2, ~std::uint64_t{0}, std::uint64_t{0} - 2,
                                                     std::uint64_t{1} << 40};
          connection_->cursor().fetch_add(kSteps[what], std::memory_order_relaxed);
        } else if (what == 5) {
          connection_->words()[0].fetch_add(1, std::memory_order_relaxed);
        } else {
          // The token that word 0 or 1 was lent with first or second: a release that may be early, late or double.
          const std::uint64_t token = (static_cast<std::uint64_t>(what - 5) << memory::kEntryBits) | 0;
          connection_->words()[0].fetch_add(token, std::memory_order_relaxed);
        }
        w.checkpoint(1, static_cast<std::uint64_t>(i));
      }
    });
  }
  void release(std::uint64_t handle) {
    World& w = World::current();
    w.require(handle < references_.size() && references_[handle] == 1, "a handle was released twice or never existed");
    references_[handle] = 0;
  }

 private:
  int pushes_, writes_;
  std::unique_ptr<Connection> connection_;
  std::vector<int> references_;
};

TEST(LifeModel, AHostileSubscriberCannotMakeAHandleComeBackTwiceOrNever) {
  expect_correct("hostile subscriber", scenario<Hostile>(more(4, 3), more(4, 2)));
}

}  // namespace
}  // namespace baton::model
