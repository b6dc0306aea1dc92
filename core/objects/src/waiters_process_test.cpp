// SPDX-License-Identifier: Apache-2.0
// Sleepers in a heap with a name have no time limit while deaths are watched, and have one otherwise.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "baton/objects/condition_variable.hpp"
#include "baton/objects/mutex.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/semaphore.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "heap_test_support.hpp"

namespace baton::objects::waiters_test {

/// What the processes of a test share. The words are set without a notification, as by a process that dies before its notification.
struct Meeting {
  EventCount event_count;
  std::atomic<std::uint32_t> value{0}, here{0}, go{0};
  mutex lock;
  condition_variable changed;
  bool condition = false;  // under lock
  counting_semaphore<> semaphore{0};
  queue<std::uint32_t, 4> numbers;

  void wait() {
    event_count.wait([this] { return value.load() != 0; }, INT64_MAX);
  }
  /// True if the address is ours, as a thread's system call names it.
  bool contains(std::uintptr_t address) const {
    return address - reinterpret_cast<std::uintptr_t>(this) < sizeof *this;
  }
};

}  // namespace baton::objects::waiters_test
namespace baton::objects {
template <>
struct declared_shareable<waiters_test::Meeting> : recoverable {};
}  // namespace baton::objects

namespace baton::objects::waiters_test {

enum class Sleep { kNone, kTimed, kUntimed, kUnknown };
/// How a thread of this process sleeps on a word of `meeting`; kUnknown where the system does not say.
Sleep sleep_of(const Meeting& meeting, long thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string word;
  if (!(file >> word)) return Sleep::kUnknown;
  if (word != std::to_string(SYS_futex)) return Sleep::kNone;
  std::uintptr_t arguments[4] = {};
  for (std::uintptr_t& argument : arguments) {
    if (!(file >> word)) return Sleep::kNone;
    argument = std::stoull(word, nullptr, 16);
  }
  if (!meeting.contains(arguments[0])) return Sleep::kNone;
  return arguments[3] == 0 ? Sleep::kUntimed : Sleep::kTimed;
}

/// A thread that waits.
class Waiter {
 public:
  template <class Body>
  Waiter(const Meeting& meeting, Body&& body) : meeting_(meeting) {
    thread_ = std::thread([this, body] {
      id_ = ::syscall(SYS_gettid);
      body();
    });
  }
  ~Waiter() {
    if (thread_.joinable()) thread_.join();
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  /// Once it sleeps.
  Sleep asleep() const {
    Sleep sleep = Sleep::kNone;
    wait_until([&] {
      sleep = id_ == 0 ? Sleep::kNone : sleep_of(meeting_, id_);
      return sleep != Sleep::kNone;
    });
    return sleep;
  }
  void join() { thread_.join(); }

 private:
  const Meeting& meeting_;
  std::atomic<long> id_{0};
  std::thread thread_;
};

shared_ptr<Meeting> meeting_in(Heap& heap) { return find_or_make<Meeting>(heap, "meeting"); }

/// A child that is a member, reports its arrival, and waits for `go`; then body(meeting).
template <class Body>
pid_t member(const HeapDirectory& directory, Body&& body) {
  return forked([&] {
    Heap heap = Heap::open(directory.options("h")).or_throw();
    const shared_ptr<Meeting> meeting = meeting_in(heap);
    ++meeting->here;
    wait_until([&] { return meeting->go != 0; });
    body(*meeting);
  });
}
void set_and_die(Meeting& meeting) {
  meeting.value = 1;
  die();
}

TEST(SharedWaiters, ASleeperHasNoTimeLimitWhereDeathsAreWatched) {
  const HeapDirectory directory;
  Heap named = Heap::open(directory.options("h")).or_throw();
  Heap nameless = new_heap();
  const auto sleep_in = [](Heap& heap) {
    const shared_ptr<Meeting> meeting = make_shared<Meeting>(heap);
    Waiter waiter(*meeting, [&] { meeting->wait(); });
    const Sleep sleep = waiter.asleep();
    meeting->value = 1;
    meeting->event_count.notify(1);
    waiter.join();
    return sleep;
  };
  // The background thread may not watch yet.
  const auto becomes = [&](Sleep expected) {
    wait_until([&] {
      const Sleep sleep = sleep_in(named);
      return sleep == expected || sleep == Sleep::kUnknown;
    });
  };
  becomes(Sleep::kUntimed);
  if (sleep_in(nameless) == Sleep::kUnknown) GTEST_SKIP() << "this system does not show what threads wait for";
  EXPECT_EQ(sleep_in(nameless), Sleep::kTimed);
  (void)named.descriptor();  // for a process whose death nobody would notice
  becomes(Sleep::kTimed);
}

TEST(SharedWaiters, ManySleepersAreWokenForAProcessThatDiedBeforeItsNotification) {
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  const pid_t child = member(directory, set_and_die);
  wait_until([&] { return meeting->here == 1; });
  const pid_t elsewhere = member(directory, [](Meeting& m) { m.wait(); });
  wait_until([&] { return meeting->here == 2; });
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (int i = 0; i < 300; ++i)  // more than there are places
    waiters.push_back(std::make_unique<Waiter>(*meeting, [&] { meeting->wait(); }));
  for (const auto& waiter : waiters) waiter->asleep();
  meeting->go = 1;
  status_of(child);
  for (const auto& waiter : waiters) waiter->join();
  EXPECT_EQ(status_of(elsewhere), 0);
}

TEST(SharedWaiters, AConditionThatADeadProcessMadeTrueIsSeen) {
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  const pid_t child = member(directory, [](Meeting& m) {
    (void)m.lock.lock();
    m.condition = true;
    m.lock.unlock();
    die();
  });
  Waiter waiter(*meeting, [&] {
    std::unique_lock<mutex> lock(meeting->lock);
    meeting->changed.wait(lock, [&] { return meeting->condition; });
  });
  waiter.asleep();
  meeting->go = 1;
  status_of(child);
  waiter.join();
}

TEST(SharedWaiters, TheDeathOfAnAttachedProcessIsMadeGoodInEveryProcess) {
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  const pid_t elsewhere = member(directory, [](Meeting& m) { m.wait(); });
  Waiter waiter(*meeting, [&] { meeting->wait(); });
  waiter.asleep();  // before anybody knows of the other
  meeting->go = 1;
  wait_until([&] { return meeting->here == 1; });
  status_of(in_child(heap, [offset = reinterpret_cast<std::byte*>(meeting.get()) - heap.base()](Heap& mine) {
    set_and_die(*reinterpret_cast<Meeting*>(mine.base() + offset));
  }));
  waiter.join();
  EXPECT_EQ(status_of(elsewhere), 0);
}

TEST(SharedWaiters, ADeathWhileTheBackgroundThreadIsBusyIsMadeGood) {
  const HeapDirectory directory;
  std::atomic<bool> busy{false}, end{false};
  HeapOptions options = directory.options("h");
  options.on_event = [&](const HeapEvent& event) {
    if (event.kind != HeapEvent::Kind::kProcessDied || end) return;
    busy = true;
    wait_until([&] { return end.load(); });
  };
  Heap heap = Heap::open(options).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  const pid_t child = member(directory, set_and_die);
  wait_until([&] { return meeting->here == 1; });
  ::kill(child, SIGSTOP);  // or the child recovers the other and notifies its own threads
  ::waitpid(child, nullptr, WUNTRACED);
  const pid_t first = forked([&] {
    Heap mine = Heap::open(directory.options("h")).or_throw();
    die();
  });
  Waiter before(*meeting, [&] { meeting->wait(); });
  status_of(first);
  wait_until([&] { return busy.load(); });
  Waiter after(*meeting, [&] { meeting->wait(); });
  after.asleep();
  meeting->go = 1;
  ::kill(child, SIGCONT);
  status_of(child);
  before.join();
  after.join();
  EXPECT_FALSE(end);
  end = true;
}

TEST(SharedWaiters, TheDeathOfAProcessThatWasNotAcceptedForWantOfDescriptorsIsMadeGood) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer of undefined behaviour makes a pipe to look at an object whose type it has not seen";
#endif
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();  // gives newcomers the descriptor
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  const pid_t short_of = forked([&] {
    Heap mine = Heap::open(directory.options("h")).or_throw();
    const shared_ptr<Meeting> here = meeting_in(mine);
    Waiter waiter(*here, [&] { here->wait(); });
    waiter.asleep();
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 3;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ++here->here;
    waiter.join();
  });
  wait_until([&] { return meeting->here == 1; });
  meeting->go = 1;
  status_of(member(directory, set_and_die));
  EXPECT_EQ(status_of(short_of), 0);
}

TEST(SharedWaiters, AWakeUpThatMeetsAnExceptionGoesToTheNext) {
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  std::atomic<bool> taken{false};
  Waiter throws(*meeting, [&] {
    try {
      meeting->event_count.wait(
          [&] {
            if (taken) return true;
            if (meeting->value != 0) throw std::runtime_error("cannot take it");
            return false;
          },
          INT64_MAX);
    } catch (const std::runtime_error&) {
    }
  });
  throws.asleep();  // first, so that the kernel wakes it first
  Waiter takes(*meeting, [&] {
    meeting->wait();
    taken = true;
  });
  takes.asleep();
  meeting->value = 1;
  meeting->event_count.notify(1);
  takes.join();
  meeting->event_count.notify(INT_MAX);
}

TEST(SharedWaiters, AChildForkedBesideSleepersWatchesForItself) {
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  Waiter waiter(*meeting, [&] { meeting->wait(); });
  waiter.asleep();
  const pid_t child = forked([&] {
    Heap mine = Heap::open(directory.options("h")).or_throw();
    const shared_ptr<Meeting> here = meeting_in(mine);
    Waiter inner(*here, [&] { here->wait(); });
    inner.asleep();
    here->go = 1;
    inner.join();
  });
  const pid_t dies = member(directory, set_and_die);
  status_of(dies);
  EXPECT_EQ(status_of(child), 0);
  waiter.join();
}

#ifdef BATON_CRASH_POINTS

/// The victim, in a program started anew (crash points read the environment once).
TEST(SharedWaitersVictim, DISABLED_NotifiesUntilItIsKilled) {
  const char* const path = std::getenv("BATON_SHARED_DIRECTORY");
  if (path == nullptr) GTEST_SKIP();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(50);
  HeapOptions options;
  options.name = "h";
  options.domain = 0;
  options.runtime_directory = path;
  options.timeout = std::chrono::seconds(40);  // within the alarm
  Heap heap = Heap::open(options).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  if (std::getenv("BATON_SHARED_SLEEPS") != nullptr) {
    ++meeting->here;
    meeting->semaphore.acquire();
    ::_exit(0);
  }
  meeting->numbers.push(1);
  meeting->semaphore.release();
}

pid_t start_victim(const HeapDirectory& directory, const std::string& point, bool sleeps) {
  const std::string at = "BATON_CRASH_AT=" + point, where = "BATON_SHARED_DIRECTORY=" + directory.path();
  const pid_t victim = ::fork();
  if (victim == 0) {
    const char* const arguments[] = {"victim", "--gtest_also_run_disabled_tests",
                                     "--gtest_filter=SharedWaitersVictim.*", nullptr};
    const char* const environment[] = {at.c_str(), where.c_str(), sleeps ? "BATON_SHARED_SLEEPS=1" : nullptr, nullptr};
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execve("/proc/self/exe", const_cast<char**>(arguments), const_cast<char**>(environment));
    ::_exit(99);
  }
  return victim;
}

class SharedWaitersCrash : public testing::TestWithParam<const char*> {};

TEST_P(SharedWaitersCrash, LeavesNobodyAsleep) {
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  Waiter pops(*meeting, [&] { EXPECT_EQ(meeting->numbers.pop(), 1U); });
  Waiter acquires(*meeting, [&] { meeting->semaphore.acquire(); });
  const bool known = pops.asleep() != Sleep::kUnknown && acquires.asleep() != Sleep::kUnknown;
  const int status = status_of(start_victim(directory, GetParam(), false));
  if (known) {
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the point was not reached";
  }
  pops.join();
  if (std::string(GetParam()) != "shared.semaphore.released") meeting->semaphore.release();
  acquires.join();
}
INSTANTIATE_TEST_SUITE_P(AtEveryPoint, SharedWaitersCrash,
                         testing::Values("shared.queue.push.done", "shared.queue.push.unlocked",
                                         "shared.event_count.sleepers_seen", "shared.event_count.event_counted",
                                         "shared.semaphore.released"),
                         [](const auto& point) {
                           std::string name = point.param;
                           for (char& c : name) {
                             if (c == '.') c = '_';
                           }
                           return name;
                         });

TEST(SharedWaiters, ASleeperThatDiesWhenItIsWokenLeavesTheWakeUpToTheNext) {
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();
  const shared_ptr<Meeting> meeting = meeting_in(heap);
  const pid_t victim = start_victim(directory, "shared.event_count.woken", true);
  wait_until([&] { return meeting->here == 1; });
  Waiter acquires(*meeting, [&] { meeting->semaphore.acquire(); });
  acquires.asleep();
  meeting->semaphore.release();  // wakes one of the two
  acquires.join();
  ::kill(victim, SIGKILL);
  status_of(victim);
}

#endif

}  // namespace baton::objects::waiters_test
