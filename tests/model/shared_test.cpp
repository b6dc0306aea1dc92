// SPDX-License-Identifier: Apache-2.0
// The lock-free parts of baton/shared: BellWords (who wakes whom), HearingWords (who wakes for the dead), LatestCell (newest value), the
// pointers' redo record, the counts of a process's pointers and the giving back of spans, explored exhaustively.
#include <gtest/gtest.h>

#include <memory>

#include "baton/shared/bell.hpp"
#include "baton/shared/hearing.hpp"
#include "baton/shared/latest.hpp"
#include "baton/shared/local_count.hpp"
#include "baton/shared/span_claim.hpp"
#include "baton/shared/transfer.hpp"
#include "model_platform.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

using Bell = shared::BellWords<ModelPlatform>;
using Op = Mutation::Op;

/// One of a semaphore's count, if one is left.
bool try_take(Atomic<std::uint32_t>& left) {
  std::uint32_t count = left.load(std::memory_order_relaxed);
  while (count > 0) {
    if (left.compare_exchange_strong(count, count - 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
  }
  return false;
}

/// A counting semaphore on the bell: releasers add one each, takers take one each. Nobody may sleep while a count is left.
class Ringing : public Scenario {
 public:
  Ringing(int ringers, int sleepers, int each, bool no_look = false)
      : ringers_(ringers), sleepers_(sleepers), each_(each), no_look_(no_look) {}

  static constexpr int kFirstSleeper = 4;

  void setup(World& world) override {
    bell_ = std::make_unique<Bell>(Bell{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    for (int r = 0; r < ringers_; ++r) {
      world.spawn(r, r == 0 ? "ringer" : "ringer2", [this] {
        for (int i = 0; i < each_; ++i) {
          count_->fetch_add(1, std::memory_order_release);
          // The simulated kernel wakes all sleepers, where release() would wake one.
          if (bell_->must_wake()) bell_->woke(World::current().futex_wake_counted(bell_->event.id()));
        }
      });
    }
    const int takes = ringers_ * each_ / sleepers_;
    for (int s = 0; s < sleepers_; ++s) {
      world.spawn(kFirstSleeper + s, s == 0 ? "sleeper" : "sleeper2", [this, takes] {
        for (int i = 0; i < takes; ++i) take();
      });
    }
  }
  void take() {
    while (!try_take(*count_)) {
      const std::uint32_t seen = bell_->announce();
      const bool taken = !no_look_ && try_take(*count_);
      const World::Word word{bell_->event.id(), seen};
      if (taken || !World::current().futex_wait(&word, 1)) bell_->awake();
      if (taken) return;
    }
  }
  void finish(World& world) override {
    world.require(world.latest(count_->id()) == 0, "a count was left");
    world.require(world.latest(bell_->sleepers.id()) == 0, "a sleeper is counted who is awake");
  }

 private:
  int ringers_, sleepers_, each_;
  bool no_look_;
  std::unique_ptr<Bell> bell_;
  std::unique_ptr<Atomic<std::uint32_t>> count_;
};

TEST(BellModel, NobodySleepsWhileThereIsSomethingToTake) {
  expect_correct("bell: 1 ringer, 1 sleeper, 3 rings", scenario<Ringing>(1, 1, 3));
  expect_correct("bell: 2 ringers, 1 sleeper", scenario<Ringing>(2, 1, 1));
  Options bounded;
  bounded.preemptions = 3;
  expect_correct("bell: 1 ringer, 2 sleepers, 2 rings", scenario<Ringing>(1, 2, 2), full_run() ? Options{} : bounded);
}
TEST(BellModel, AMissingLookIsFound) {
  expect_violation("bell: no look after announcing", scenario<Ringing>(1, 1, 1, true));
}
/// Two who wait for an element, which a ring of one sleeper announces: one takes it, the other looks only, and rings in his turn.
class Watched : public Scenario {
 public:
  explicit Watched(bool passes_on) : passes_on_(passes_on) {}
  void setup(World& world) override {
    bell_ = std::make_unique<Bell>(Bell{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    count_ = std::make_unique<Atomic<std::uint32_t>>("count");
    world.spawn(0, "pusher", [this] {
      count_->store(1, std::memory_order_release);
      ring_one();
    });
    world.spawn(1, "popper", [this] {
      wait();
      ring_one();  // for the next element, so that the watcher comes to an end
    });
    world.spawn(2, "watcher", [this] {
      wait();
      if (passes_on_) ring_one();
    });
  }
  void finish(World& world) override {
    world.require(world.latest(bell_->sleepers.id()) == 0, "a sleeper is counted who is awake");
  }

 private:
  bool some() { return count_->load(std::memory_order_relaxed) != 0; }
  void ring_one() {
    if (bell_->must_wake()) bell_->woke(World::current().futex_wake_one(bell_->event.id()));
  }
  void wait() {
    while (!some()) {
      const std::uint32_t seen = bell_->announce();
      const bool there = some();
      const World::Word word{bell_->event.id(), seen};
      if (there || !World::current().futex_wait(&word, 1)) bell_->awake();
    }
  }
  bool passes_on_;
  std::unique_ptr<Bell> bell_;
  std::unique_ptr<Atomic<std::uint32_t>> count_;
};
TEST(BellModel, WhoOnlyLooksTakesNobodysWakeUp) {
  expect_correct("bell: a watcher that passes the wake-up on", scenario<Watched>(true));
  expect_violation("bell: a watcher that keeps the wake-up", scenario<Watched>(false));
}
struct WeakBell {
  const char* name;
  Mutation mutation;
};
class WeakenedBell : public testing::TestWithParam<WeakBell> {};
TEST_P(WeakenedBell, IsFound) {
  Options options;
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<Ringing>(1, 1, 2), options);
}
INSTANTIATE_TEST_SUITE_P(BellModel, WeakenedBell,
                         testing::Values(WeakBell{"ringer's fence missing", {"fence", Op::kFence, 0}}));

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
class WeakenedHearing : public testing::TestWithParam<WeakBell> {};
TEST_P(WeakenedHearing, IsFound) {
  Options options = ringers_die(3);
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<Heard>(WrongHearing::kNothing), options);
}
INSTANTIATE_TEST_SUITE_P(HearingModel, WeakenedHearing,
                         testing::Values(WeakBell{"hearer's fences missing", {"fence", Op::kFence, Heard::kHearer}},
                                         WeakBell{"sleeper's fence missing", {"fence", Op::kFence, Heard::kSleeper}},
                                         WeakBell{"sleeper's changes of the place relaxed",
                                                  {"place", Op::kRmw, Heard::kSleeper}},
                                         WeakBell{"hearer's marks relaxed", {"place", Op::kRmw, Heard::kHearer}}));

/// The condition variable: the state lies under a lock, and the waiter does not look between announcing and sleeping.
class Waiting : public Scenario {
 public:
  explicit Waiting(int waiters, bool announce_late = false) : waiters_(waiters), announce_late_(announce_late) {}
  void setup(World& world) override {
    bell_ = std::make_unique<Bell>(Bell{Atomic<std::uint32_t>("event"), Atomic<std::uint32_t>("sleepers")});
    mutex_ = world.add_mutex();
    state_ = std::make_unique<Data<int>>("state");
    world.spawn(0, "notifier", [this] {
      for (int i = 1; i <= 2; ++i) {
        World::current().lock(mutex_);
        state_->write(i);
        World::current().unlock(mutex_);
        if (bell_->must_wake()) bell_->woke(World::current().futex_wake_counted(bell_->event.id()));
      }
    });
    for (int w = 0; w < waiters_; ++w) {
      world.spawn(1 + w, w == 0 ? "waiter" : "waiter2", [this] {
        World& now = World::current();
        now.lock(mutex_);
        while (state_->read() != 2) {
          std::uint32_t seen = 0;
          if (!announce_late_) seen = bell_->announce();
          now.unlock(mutex_);
          if (announce_late_) seen = bell_->announce();
          const World::Word word{bell_->event.id(), seen};
          if (!now.futex_wait(&word, 1)) bell_->awake();
          now.lock(mutex_);
        }
        now.unlock(mutex_);
      });
    }
  }

 private:
  int waiters_;
  bool announce_late_;
  std::unique_ptr<Bell> bell_;
  int mutex_ = 0;
  std::unique_ptr<Data<int>> state_;
};

TEST(BellModel, AConditionIsNeverMissed) {
  expect_correct("condition: 1 waiter", scenario<Waiting>(1));
  Options bounded;
  bounded.preemptions = 3;
  expect_correct("condition: 2 waiters", scenario<Waiting>(2), full_run() ? Options{} : bounded);
}
TEST(BellModel, AWaiterKilledAnywhereOutsideTheLockTakesNoWakeUp) {
  // The lock of this model is not robust, so the one that dies is a taker of the semaphore.
  Options options;
  options.kills = 1;
  options.killable = 1U << (Ringing::kFirstSleeper + 1);
  options.preemptions = full_run() ? -1 : 2;
  class OneDies : public Ringing {
   public:
    OneDies() : Ringing(1, 2, 2) {}
    void finish(World&) override {}  // the dead one may have taken or not
  };
  expect_correct(
      "bell: 1 of 2 sleepers killed", [] { return std::make_unique<OneDies>(); }, options);
}
TEST(BellModel, AnnouncingAfterTheUnlockIsFound) {
  expect_violation("condition: announced after the unlock", scenario<Waiting>(1, true));
}

/// Writers (one after another, by a lock) and readers of a value of two words.
class Newest : public Scenario {
 public:
  explicit Newest(int writes) : writes_(writes) {}
  using Cell = shared::LatestCell<ModelPlatform, 2, 2>;
  void setup(World& world) override {
    cell_ = std::make_unique<Cell>(
        Cell{Atomic<std::uint64_t>("version"), {{A("word"), A("word")}, {A("word"), A("word")}}});
    world.spawn(0, "writer", [this] {
      for (int i = 1; i <= writes_; ++i) {
        const std::uint64_t value[2] = {static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(i) + 100};
        World::current().require(cell_->write(value) == static_cast<std::uint64_t>(i), "a version is missing");
      }
    });
    world.spawn(1, "reader", [this] {
      std::uint64_t last = 0;
      for (int i = 0; i < 2; ++i) {
        std::uint64_t value[2] = {};
        const std::uint64_t version = cell_->read(value);
        World::current().require(version >= last, "went back");
        if (version != 0) World::current().require(value[0] == version && value[1] == version + 100, "torn");
        last = version;
      }
    });
  }

 private:
  using A = Atomic<std::uint64_t>;
  int writes_;
  std::unique_ptr<Cell> cell_;
};

TEST(LatestModel, AValueIsNeverTornAndNeverOlderThanTheLast) {
  expect_correct("latest: 4 writes, 2 reads, 2 slots", scenario<Newest>(4));
  Options options;
  options.kills = 1;
  options.killable = 1U << 0;
  expect_correct("latest: the writer is killed", scenario<Newest>(3), options);
}
struct WeakLatest {
  const char* name;
  Mutation mutation;
};
class WeakenedLatest : public testing::TestWithParam<WeakLatest> {};
TEST_P(WeakenedLatest, IsFound) {
  Options options;
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<Newest>(4), options);
}
INSTANTIATE_TEST_SUITE_P(LatestModel, WeakenedLatest,
                         testing::Values(WeakLatest{"version store relaxed", {"version", Op::kStore, 0}},
                                         WeakLatest{"version load relaxed", {"version", Op::kLoad, 1}},
                                         WeakLatest{"word store relaxed", {"word", Op::kStore, 0}},
                                         WeakLatest{"word load relaxed", {"word", Op::kLoad, 1}}));

/// A stored pointer is set and cleared under a block's lock by a process that may be killed at any step; who takes the lock over, and may
/// be killed, too, must leave the count equal to the pointers.
enum class Wrong { kNothing, kCountBeforeRecord, kPointerBeforeCount, kRecordEndsBeforePointer, kNoRedo };

template <class Count, class Change>
void wrong_transfer(Wrong wrong, Count& count, Count& before, Atomic<std::uint64_t>& record, std::uint64_t what,
                    Change&& change) {
  const std::uint32_t now = count.load(std::memory_order_relaxed);
  const std::uint32_t next = (what & shared::detail::kToNull) != 0 ? now - 1 : now + 1;
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
      for (const std::uint64_t what : {8ULL, 8ULL | shared::detail::kToNull, 8ULL}) {
        const auto change = [&] {
          pointer_->store((what & shared::detail::kToNull) != 0 ? 0 : 1, std::memory_order_release);
        };
        if (wrong_ == Wrong::kNothing || wrong_ == Wrong::kNoRedo) {
          shared::detail::transfer(*count_, *before_, *record_, what, change);
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
    shared::detail::redo([this](std::uint64_t) -> Atomic<std::uint32_t>& { return *count_; }, *before_, *record_,
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
TEST(TransferModel, CountAndPointersAgreeWhateverDiesWhenever) {
  expect_correct("transfer: owner and heir killed anywhere", scenario<Transfer>(), two_deaths());
}
class WrongTransfer : public testing::TestWithParam<Wrong> {};
TEST_P(WrongTransfer, IsFound) { expect_violation("transfer: wrong", scenario<Transfer>(GetParam()), two_deaths()); }
INSTANTIATE_TEST_SUITE_P(TransferModel, WrongTransfer,
                         testing::Values(Wrong::kCountBeforeRecord, Wrong::kPointerBeforeCount,
                                         Wrong::kRecordEndsBeforePointer, Wrong::kNoRedo));

/// A process makes and frees an object in span 1, goes on to 2 and 3, and comes back; another gives span 1 back and uses its memory.
class GivingBack : public Scenario {
 public:
  static constexpr std::uint32_t kSmall = 1, kClosing = 2, kOther = 4;
  explicit GivingBack(bool frees, bool look_at_objects = true) : frees_(frees), look_at_objects_(look_at_objects) {}

  void setup(World& world) override {
    published_ = std::make_unique<Pair>();
    word_ = std::make_unique<Atomic<std::uint32_t>>("span", kSmall);
    object_ = std::make_unique<Atomic<std::uint32_t>>("object");
    memory_ = std::make_unique<Data<int>>("memory");
    world.spawn(0, "claimer", [this] {
      std::uint32_t now = 0;
      for (const std::uint32_t span : {1U, 2U, 3U, 1U}) {
        shared::detail::publish_span<ModelPlatform>(published_->spans, now, span);
        now = span;
        if (span != 1) continue;
        if (word_->load(std::memory_order_acquire) != kSmall) {
          published_->spans[0].store(0, std::memory_order_relaxed);
          now = 0;
          continue;
        }
        if (object_->load(std::memory_order_relaxed) != 0) continue;
        object_->store(1, std::memory_order_relaxed);  // an exchange in the heap, where others claim, too
        memory_->write(7);
        if (frees_) object_->store(0, std::memory_order_release);
      }
    });
    world.spawn(1, "giver", [this] {
      if (object_->load(std::memory_order_acquire) != 0) return;
      shared::detail::close_span<ModelPlatform>(*word_, kClosing);
      if (shared::detail::claims_in(published_->spans, 1) ||
          (look_at_objects_ && object_->load(std::memory_order_acquire) != 0)) {
        word_->fetch_add(~kClosing + 1, std::memory_order_relaxed);
        return;
      }
      word_->fetch_add(kOther - kClosing - kSmall, std::memory_order_release);  // nobody else writes it now
      memory_->write(8);                                                        // another's now
      given_ = true;
    });
  }
  void finish(World& world) override {
    world.require(!given_ || world.latest(object_->id()) == 0, "an object lives in a span that was given back");
  }

 private:
  struct Pair {
    Atomic<std::uint32_t> spans[2] = {Atomic<std::uint32_t>("published"), Atomic<std::uint32_t>("published before")};
  };
  bool frees_, look_at_objects_, given_ = false;
  std::unique_ptr<Pair> published_;
  std::unique_ptr<Atomic<std::uint32_t>> word_, object_;
  std::unique_ptr<Data<int>> memory_;
};

TEST(SpanModel, NobodyClaimsInASpanThatWasGivenBack) {
  expect_correct("span: given back while claimed in", scenario<GivingBack>(true));
  expect_correct("span: not given back with an object in it", scenario<GivingBack>(false));
}
TEST(SpanModel, NotLookingAtTheObjectsIsFound) {
  expect_violation("span: objects not looked at", scenario<GivingBack>(false, false));
}
class WeakenedSpan : public testing::TestWithParam<WeakBell> {};
TEST_P(WeakenedSpan, IsFound) {
  Options options;
  options.mutation = &GetParam().mutation;
  expect_violation(GetParam().name, scenario<GivingBack>(true), options);
}
INSTANTIATE_TEST_SUITE_P(SpanModel, WeakenedSpan,
                         testing::Values(WeakBell{"claimer's fence missing", {"fence", Op::kFence, 0}},
                                         WeakBell{"giver's fence missing", {"fence", Op::kFence, 1}},
                                         WeakBell{"publication relaxed", {"published", Op::kStore, 0}},
                                         WeakBell{"look at the publication relaxed", {"published", Op::kLoad, 1}}));

/// Two threads of a process get a pointer each, from a stored one, as long as the object lives; another process clears the stored one. Who
/// finds that nothing refers to the object ends it.
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
            shared::detail::count_up(*count_);
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
      return shared::detail::lock_unless_held(
          *count_, [this] { lock(); }, [this] { unlock(); }, [this] { count_->wait_for_drop(); });
    }
    for (;;) {
      std::uint32_t seen = count_->load(std::memory_order_relaxed);
      if (seen == 0 || (seen == 1 && wrong_ == WrongHold::kNotWaiting)) {
        lock();
        if (wrong_ == WrongHold::kNoSecondLook || count_->load(std::memory_order_relaxed) == 0) return true;
        if (wrong_ == WrongHold::kNotWaiting && count_->load(std::memory_order_relaxed) == 1) {
          hold_->write(0);  // drops it for the other one
          shared::detail::end_holding(*count_);
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
      shared::detail::begin_holding(*count_);
    }
    unlock();
    return lives;
  }
  void drop() {
    if (!shared::detail::count_down(*count_)) return;
    if (wrong_ == WrongHold::kCountBeforeLock) shared::detail::end_holding(*count_);
    lock();
    World::current().require(hold_->read() == 1, "the hold was gone");
    hold_->write(0);
    if (wrong_ != WrongHold::kCountBeforeLock) shared::detail::end_holding(*count_);
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
