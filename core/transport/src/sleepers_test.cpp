// SPDX-License-Identifier: Apache-2.0
// What holds for every way to sleep (sleepers.hpp).
#include "sleepers.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <type_traits>

#include "baton/memory/platform.hpp"

namespace baton::transport {
namespace {

using namespace std::chrono_literals;
constexpr std::int64_t kPatienceNs = std::chrono::nanoseconds(20s).count();  // of a test that fails

/// A way as a wait set with one publisher has it, whose `event` lies in memory that a forked process shares. `notify()` is what the publisher
/// does after it has announced its event.
struct Futex {
  FutexSleeper sleeper;
  void open(WakeWord& event) {
    sleeper.set_events(1, [&](std::size_t) { return &event; });
  }
  void begin_round() { sleeper.begin_round(); }
  void notify(WakeWord& event) { os::futex_wake(&event, INT_MAX); }
  static constexpr memory::Sleeping kHow = memory::Sleeping::kFutex;
};
struct Descriptor {
  DescriptorSleeper sleeper;
  WakePairs pairs;
  os::SharedFd socket;
  void open(WakeWord&) {
    sleeper.open().or_throw();
    socket = sleeper.descriptor()->socket_for({{}, 1}, 1, pairs).or_throw();
  }
  void begin_round() {
    sleeper.begin_round([](const Notifier&) { ADD_FAILURE() << "an honest publisher broke no rules"; });
  }
  void notify(WakeWord&) { os::notify(socket->get()); }
  static constexpr memory::Sleeping kHow = memory::Sleeping::kDescriptor;
};

template <class Way>
class Sleepers : public ::testing::Test {
 protected:
  Sleepers()
      : words_(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        event_(*new (words_) WakeWord{0}),
        sleeping_(*new (static_cast<char*>(words_) + 64) WakeWord{0}) {
    way_.open(event_);
  }
  ~Sleepers() override { ::munmap(words_, 4096); }
  void SetUp() override {
    if (!decltype(way_.sleeper)::serves(2))
      GTEST_SKIP() << "this kernel has no futex_waitv, and wait sets take another way";
  }

  /// The Sources of a round (memory/wake.hpp).
  struct Round {
    Sleepers& test;
    std::int64_t deadline_ns;
    bool woken = false;
    template <class F>
    void for_each_event(F&& f) {
      if constexpr (std::is_same_v<Way, Futex>) {
        f(test.way_.sleeper.own(), test.way_.sleeper.seen(0));
        f(test.event_, test.way_.sleeper.seen(1));
      }
    }
    template <class F>
    void for_each_sleeping(F&& f) {
      f(test.sleeping_, Way::kHow);
    }
    bool ready() { return false; }
    void sleep() {
      test.before_sleep_();
      woken = test.way_.sleeper.sleep(deadline_ns);
    }
  };
  /// True: it was woken. `before_sleep`: between the announcement and the sleep.
  bool round(
      std::int64_t for_ns, std::function<void()> before_sleep = [] {}) {
    before_sleep_ = std::move(before_sleep);
    way_.begin_round();
    Round round{*this, os::monotonic_ns() + for_ns};
    EXPECT_FALSE(memory::wait_round<Platform>(round));
    return round.woken;
  }
  /// What a publisher does after a push.
  void publish() {
    WakeWord* const flags[] = {&sleeping_};
    const bool wake = memory::signal<Platform>(
        event_, flags, [](WakeWord* flag) -> WakeWord& { return *flag; }, [this](WakeWord*) { way_.notify(event_); });
    if (wake) way_.notify(event_);
  }
  /// What another thread of this process does.
  void call() {
    if constexpr (std::is_same_v<Way, Futex>) memory::announce_event<Platform>(way_.sleeper.own());
    way_.sleeper.notify();
  }

  Way way_;
  void* const words_;
  WakeWord& event_;
  WakeWord& sleeping_;
  std::function<void()> before_sleep_;
};

using Ways = ::testing::Types<Futex, Descriptor>;
TYPED_TEST_SUITE(Sleepers, Ways);

TYPED_TEST(Sleepers, ANotificationBetweenTheAnnouncementAndTheSleepEndsTheSleep) {
  EXPECT_TRUE(this->round(kPatienceNs, [this] { this->publish(); }));
  EXPECT_TRUE(this->round(kPatienceNs, [this] { this->call(); }));
}

TYPED_TEST(Sleepers, ASleepWithoutANotificationEndsAtItsDeadline) {
  const std::int64_t begin = os::monotonic_ns();
  EXPECT_FALSE(this->round(20'000'000));
  EXPECT_GE(os::monotonic_ns() - begin, 20'000'000);
  EXPECT_FALSE(this->round(-1)) << "the deadline has passed";
}

TYPED_TEST(Sleepers, NotificationsOfARoundDoNotEndALaterOne) {
  for (int times = 0; times < 3; ++times) {
    EXPECT_TRUE(this->round(kPatienceNs, [this] {
      for (int i = 0; i < 3; ++i) this->publish(), this->call();
    }));
    EXPECT_FALSE(this->round(1'000'000));
  }
}

TYPED_TEST(Sleepers, NotificationsWhileNobodySleepsNeitherBlockNorCount) {
  for (int i = 0; i < 100'000; ++i) this->publish();
  EXPECT_FALSE(this->round(1'000'000));
  for (int i = 0; i < 100'000; ++i) this->way_.notify(this->event_);  // of a publisher that saw an older announcement
  this->round(1'000'000);
  EXPECT_FALSE(this->round(1'000'000)) << "at most one useless wake";
}

TYPED_TEST(Sleepers, AThreadIsWokenFromItsSleepByAnother) {
  std::thread other([this] {
    while (memory::who_sleeps<Platform>(this->sleeping_) == memory::Sleeping::kAwake) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);
    this->call();
  });
  EXPECT_TRUE(this->round(kPatienceNs));
  other.join();
}

TYPED_TEST(Sleepers, AThreadIsWokenFromItsSleepByAnotherProcess) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    while (memory::who_sleeps<Platform>(this->sleeping_) == memory::Sleeping::kAwake) ::usleep(100);
    ::usleep(5000);
    this->publish();
    ::_exit(0);
  }
  EXPECT_TRUE(this->round(kPatienceNs));
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TYPED_TEST(Sleepers, ServesAWaitSetWithoutPublishers) { EXPECT_TRUE(decltype(this->way_.sleeper)::serves(1)); }

}  // namespace
}  // namespace baton::transport
