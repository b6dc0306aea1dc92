// SPDX-License-Identifier: Apache-2.0
// The objects of baton/shared between processes: used by several, and killed at every crash point named shared.*.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "baton/objects/condition_variable.hpp"
#include "baton/objects/latest.hpp"
#include "baton/objects/mutex.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/semaphore.hpp"
#include "baton/objects/shared_mutex.hpp"
#include "crash_points.hpp"
#include "heap_test_support.hpp"

namespace baton::objects {
namespace {

using namespace std::chrono_literals;

struct Element {
  std::uint64_t number;
  std::uint64_t copies[4];
  bool whole() const {
    for (std::uint64_t copy : copies) {
      if (copy != number) return false;
    }
    return true;
  }
};
Element element(std::uint64_t n) { return {n, {n, n, n, n}}; }

/// Everything that the processes of one test share.
struct Objects {
  timed_mutex lock;
  timed_mutex left, held;  // by a dead process; by us while the victim lives
  explicit Objects(bool confined) {
    if (confined) new (&inheriting_memory) inheriting_timed_mutex;
  }
  inheriting_timed_mutex& inheriting() { return *reinterpret_cast<inheriting_timed_mutex*>(&inheriting_memory); }
  alignas(
      inheriting_timed_mutex) unsigned char inheriting_memory[sizeof(inheriting_timed_mutex)];  // none if not confined
  condition_variable changed;
  std::uint64_t value = 0;  // under lock
  counting_semaphore<> semaphore{0};
  shared_mutex readers_writer;
  std::uint64_t low = 0, high = 0;  // under readers_writer, equal when whole
  queue<Element, 4> to_us, to_them;
  Latest<Element> latest;
  // Told by the victim: before and after its push, after its pop, after its release.
  std::atomic<std::uint64_t> push_begun{0}, push_done{0}, pop_begun{0}, popped{0}, release_begun{0}, release_done{0};
  std::atomic<std::uint64_t> notified{0};
  std::atomic<bool> end{false};
};

class SharedMemory {
 public:
  /// `confined`: with an inheriting lock, and so for one PID namespace.
  explicit SharedMemory(bool confined = true) : heap_(new_heap()), objects_(&heap_.construct<Objects>(confined)) {
    fd_ = os::UniqueFd(::dup(heap_.descriptor().get()));  // inherited by fork and exec
    offset_ = reinterpret_cast<std::byte*>(objects_) - heap_.base();
    current = this;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  /// In a forked child: opens the heap anew.
  void reopen() {
    heap_ = Heap::attach(fd_).or_throw();
    objects_ = reinterpret_cast<Objects*>(heap_.base() + offset_);
  }
  Objects* operator->() const { return objects_; }
  Objects& operator*() const { return *objects_; }
  int fd() const { return fd_.get(); }
  std::ptrdiff_t offset() const { return offset_; }

  static inline SharedMemory* current = nullptr;

 private:
  Heap heap_;
  Objects* objects_;
  os::UniqueFd fd_;
  std::ptrdiff_t offset_ = 0;
};

template <class Body>
pid_t in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(250);
    SharedMemory::current->reopen();
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return child;
}

constexpr int kNotPermitted = 77;
/// Runs body() in a child that is process 1 of a new PID namespace.
template <class Body>
pid_t in_namespace(Body&& body) {
  return in_child([&] {
    if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) ::_exit(kNotPermitted);
    const pid_t first = ::fork();
    if (first == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getpid() != 1) ::_exit(78);
      SharedMemory::current->reopen();
      body();
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    const int status = status_of(first);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  });
}

template <class Mutex, class Get>
void expect_a_dead_owner_is_reported(Get&& m) {
  status_of(in_child([&] {
    m().lock();
    die();
  }));
  EXPECT_EQ(m().lock(), ownership::previous_owner_died);
  EXPECT_TRUE(m().owner_died());
  m().unlock();  // not repaired: it goes on to the next
  EXPECT_TRUE(m().try_lock());
  EXPECT_TRUE(m().owner_died());
  m().consistent();
  m().unlock();
  EXPECT_EQ(m().lock(), ownership::acquired);
  m().unlock();
}
TEST(SharedBetweenProcesses, TheDeathOfAnOwnerIsReportedToTheNext) {
  SharedMemory s;
  expect_a_dead_owner_is_reported<timed_mutex>([&]() -> timed_mutex& { return s->lock; });
  expect_a_dead_owner_is_reported<inheriting_timed_mutex>([&]() -> inheriting_timed_mutex& { return s->inheriting(); });
}

template <class Get>
void expect_a_waiter_gets_the_lock(SharedMemory& s, Get&& m) {
  const pid_t owner = in_child([&] {
    m().lock();
    s->semaphore.release();
    for (;;) ::pause();
  });
  s->semaphore.acquire();
  std::thread waiting([&] {
    EXPECT_EQ(m().lock(), ownership::previous_owner_died);
    m().unlock();
  });
  std::this_thread::sleep_for(5ms);
  ::kill(owner, SIGKILL);
  status_of(owner);
  waiting.join();
}
TEST(SharedBetweenProcesses, AWaiterGetsTheLockOfAnOwnerThatIsKilled) {
  SharedMemory s;
  expect_a_waiter_gets_the_lock(s, [&]() -> timed_mutex& { return s->lock; });
  expect_a_waiter_gets_the_lock(s, [&]() -> inheriting_timed_mutex& { return s->inheriting(); });
}

TEST(SharedBetweenProcesses, DeadReadersAndWritersBlockNobody) {
  SharedMemory s;
  for (int i = 0; i < 20; ++i) {
    status_of(in_child([&] {
      s->readers_writer.lock_shared();
      die();
    }));
  }
  EXPECT_EQ(s->readers_writer.lock(), ownership::acquired);
  s->readers_writer.unlock();
  status_of(in_child([&] {
    s->readers_writer.lock();
    die();
  }));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(s->readers_writer.lock_shared(), ownership::previous_owner_died);
    s->readers_writer.unlock_shared();
    EXPECT_EQ(s->readers_writer.lock(), ownership::previous_owner_died);
    if (i == 1) s->readers_writer.consistent();
    s->readers_writer.unlock();
  }
  EXPECT_EQ(s->readers_writer.lock_shared(), ownership::acquired);
  s->readers_writer.unlock_shared();
}

TEST(SharedBetweenProcesses, AHeapWithAnInheritingLockIsForOnePidNamespace) {
  const Heap heap = new_heap();
  const Heap open = new_heap();
  const os::UniqueFd first(::dup(heap.descriptor().get())), second(::dup(open.descriptor().get()));
  Heap& mutable_heap = const_cast<Heap&>(heap);
  mutable_heap.construct<inheriting_mutex>();
  SharedMemory s(false);
  const pid_t child = in_namespace([&] {
    const Result<Heap> opened = Heap::attach(first);
    if (opened.ok() || opened.error().code != Errc::unsupported) ::_exit(1);
    Heap other = Heap::attach(second).or_throw();
    s->semaphore.release();
    while (!s->end) std::this_thread::sleep_for(1ms);
  });
  if (!s->semaphore.try_acquire_for(30s)) {
    if (WEXITSTATUS(status_of(child)) == kNotPermitted)
      GTEST_SKIP() << "this machine permits no new PID namespace (unshare)";
    FAIL() << "the child did not come";
  }
  try {
    const_cast<Heap&>(open).construct<inheriting_mutex>();
    ADD_FAILURE() << "constructed although another PID namespace uses the heap";
  } catch (const Exception& e) {
    EXPECT_EQ(e.code(), Errc::unsupported);
  }
  s->end = true;
  EXPECT_EQ(status_of(child), 0);
  const_cast<Heap&>(open).construct<inheriting_mutex>();  // they are gone
}

// In two containers both may be process 1, so nothing in the words may come from a PID namespace.
TEST(SharedBetweenProcesses, AKilledWaiterOfAnotherPidNamespaceFreesNobodysLock) {
  SharedMemory s(false);
  const pid_t owner = in_namespace([&] {
    s->lock.lock();
    s->semaphore.release();
    while (!s->end) std::this_thread::sleep_for(1ms);
    s->value = 1;
    if (s->lock.owner_died()) ::_exit(3);
    s->lock.unlock();
  });
  if (!s->semaphore.try_acquire_for(30s)) {
    if (WEXITSTATUS(status_of(owner)) == kNotPermitted)
      GTEST_SKIP() << "this machine permits no new PID namespace (unshare)";
    FAIL() << "the owner did not come";
  }
  const pid_t waiter = in_namespace([&] {
    std::thread([] {
      std::this_thread::sleep_for(50ms);
      ::_exit(9);
    }).detach();
    s->lock.lock();
    ::_exit(4);
  });
  EXPECT_EQ(WEXITSTATUS(status_of(waiter)), 9);
  EXPECT_FALSE(s->lock.try_lock_for(150ms)) << "the owner lives";
  s->end = true;
  EXPECT_EQ(s->lock.lock(), ownership::acquired);
  EXPECT_EQ(s->value, 1U);
  s->lock.unlock();
  EXPECT_EQ(status_of(owner), 0);
  // And one that is dead is found from here.
  EXPECT_EQ(status_of(in_namespace([&] {
              s->lock.lock();
              ::_exit(0);
            })),
            0);
  EXPECT_EQ(s->lock.lock(), ownership::previous_owner_died);
  s->lock.consistent();
  s->lock.unlock();
}

TEST(SharedBetweenProcesses, AKilledWaiterTakesNobodysNotificationWithIt) {
  SharedMemory s;
  const auto wait = [&] {
    std::unique_lock<timed_mutex> lock(s->lock);
    s->semaphore.release();
    s->changed.wait(lock, [&] { return s->value != 0; });
  };
  for (int i = 0; i < 10; ++i) {
    s->value = 0;
    const pid_t killed = in_child(wait), living = in_child(wait);
    s->semaphore.acquire();
    s->semaphore.acquire();
    {
      const std::lock_guard<timed_mutex> lock(s->lock);
      s->value = 1;
      ::kill(killed, SIGSTOP);
      s->changed.notify_one();  // may choose the one that is killed now
      ::kill(killed, SIGKILL);
    }
    EXPECT_EQ(status_of(living), 0);
    status_of(killed);
    s->lock.lock();
    s->lock.consistent();  // the killed one may have owned it
    s->lock.unlock();
  }
}

TEST(SharedBetweenProcesses, ANotifierThatDiesAfterItsChangeLeavesNobodyAsleep) {
  SharedMemory s;
  const pid_t waiting = in_child([&] {
    std::unique_lock<timed_mutex> lock(s->lock);
    s->semaphore.release();
    s->changed.wait(lock, [&] { return s->value != 0; });
  });
  s->semaphore.acquire();
  status_of(in_child([&] {
    s->lock.lock();
    s->value = 1;
    die();
  }));
  EXPECT_EQ(status_of(waiting), 0);
}

TEST(SharedBetweenProcesses, TheQueueCarriesEverythingOnceFromFiveToOneAndFromOneToFive) {
  for (const int producers : {5, 1}) {
    SharedMemory s;
    const int consumers = 6 - producers;
    constexpr std::uint64_t kAll = 5000;
    std::vector<pid_t> children;
    for (int p = 0; p < producers; ++p) {
      children.push_back(in_child([&] {
        for (std::uint64_t i = 1; i <= kAll / producers; ++i) s->to_us.push(element(i));
      }));
    }
    for (int c = 0; c < consumers; ++c) {
      children.push_back(in_child([&] {
        for (std::uint64_t i = 0; i < kAll / consumers; ++i) {
          const Element e = s->to_us.pop();
          if (!e.whole()) ::_exit(2);
          s->popped += e.number;
        }
      }));
    }
    for (pid_t child : children) EXPECT_EQ(status_of(child), 0);
    const std::uint64_t each = kAll / producers;
    EXPECT_EQ(s->popped, producers * each * (each + 1) / 2);
    EXPECT_TRUE(s->to_us.empty());
  }
}

TEST(SharedBetweenProcesses, RandomKillsLoseAndDoubleNothing) {
  SharedMemory s;
  std::uint64_t taken = 0, next = 0;
  for (int i = 0; i < 60; ++i) {
    // The victim pushes base + 1, base + 2, ...; what arrives must be that, to the last completed push or the one begun.
    s->push_begun = s->push_done = 0;
    const pid_t victim = in_child([&] {
      for (std::uint64_t n = 1;; ++n) {
        s->push_begun.store(n);
        s->to_us.push(element(n));
        s->push_done.store(n);
      }
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(300 + 137 * (i % 17));
    next = 0;
    while (std::chrono::steady_clock::now() < end) {
      if (const auto e = s->to_us.pop_for(1ms)) {
        ASSERT_TRUE(e->whole());
        ASSERT_EQ(e->number, ++next);
      }
    }
    ::kill(victim, SIGKILL);
    status_of(victim);
    while (const auto e = s->to_us.try_pop()) ASSERT_EQ(e->number, ++next);
    EXPECT_GE(next, s->push_done.load());
    EXPECT_LE(next, s->push_begun.load());
    taken += next;
    ASSERT_TRUE(s->to_us.push_for(element(1), 60s)) << "the lock is free";
    ASSERT_TRUE(s->to_us.pop_for(60s));
  }
  EXPECT_GT(taken, 0U);
}

#ifdef BATON_CRASH_POINTS

/// The victim, in a program started anew (crash points read the environment once): does everything until it dies.
TEST(SharedVictim, DISABLED_DoesEverythingUntilItIsKilled) {
  const char* const fd = std::getenv("BATON_SHARED_FD");
  const char* const offset = std::getenv("BATON_SHARED_OFFSET");
  if (fd == nullptr || offset == nullptr) GTEST_SKIP();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(250);
  Heap heap = Heap::attach(os::UniqueFd(std::atoi(fd))).or_throw();
  Objects& s = *reinterpret_cast<Objects*>(heap.base() + std::atoll(offset));
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; std::chrono::steady_clock::now() - start < 300ms; ++i) {
    {
      const std::lock_guard<inheriting_timed_mutex> lock(s.inheriting());
      const std::lock_guard<timed_mutex> left(s.left);
    }
    if (s.held.try_lock_for(1ms)) ::_exit(3);
    {
      std::unique_lock<timed_mutex> lock(s.lock);
      s.value = i;
      s.changed.notify_one();
      s.changed.wait_for(lock, 1ms);
    }
    {
      const std::unique_lock<shared_mutex> lock(s.readers_writer);
      s.low = i;
      s.high = i;
    }
    { const std::shared_lock<shared_mutex> lock(s.readers_writer); }
    s.push_begun = i;
    if (!s.to_us.push_for(element(i), 60s)) ::_exit(2);
    s.push_done = i;
    s.pop_begun = s.popped + 1;
    if (s.to_them.pop_for(1ms)) ++s.popped;
    s.release_begun = i;
    s.semaphore.release();
    s.release_done = i;
    s.latest.write(element(i));
    std::this_thread::sleep_for(1ms);
  }
}

class SharedCrash : public testing::TestWithParam<const char*> {};

TEST_P(SharedCrash, LeavesEverythingUsableAndWhole) {
  for (const int pass : {1, 2, 5}) {
    SharedMemory s;
    status_of(in_child([&] {  // so that the victim meets a dead owner
      s->inheriting().lock();
      s->left.lock();
      die();
    }));
    const std::string at = "BATON_CRASH_AT=" + std::string(GetParam()) + ":" + std::to_string(pass);
    const std::string fd = "BATON_SHARED_FD=" + std::to_string(s.fd());
    const std::string offset = "BATON_SHARED_OFFSET=" + std::to_string(s.offset());
    s->held.lock();
    const pid_t victim = ::fork();
    if (victim == 0) {
      const char* const arguments[] = {"victim", "--gtest_also_run_disabled_tests", "--gtest_filter=SharedVictim.*",
                                       nullptr};
      const char* const environment[] = {at.c_str(), fd.c_str(), offset.c_str(), nullptr};
      ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
      ::execve("/proc/self/exe", const_cast<char**>(arguments), const_cast<char**>(environment));
      ::_exit(99);
    }
    // The survivor: a consumer that sleeps, a producer, a waiter on the condition, a reader.
    std::uint64_t received = 0, sent = 0;
    std::atomic<bool> ended{false};
    std::thread consumer([&] {
      for (;;) {
        const bool last = ended;
        const auto e = s->to_us.pop_for(20ms);
        if (e) {
          ASSERT_TRUE(e->whole());
          ASSERT_EQ(e->number, ++received);
        } else if (last) {
          return;
        }
      }
    });
    std::thread producer([&] {
      while (!ended) sent += s->to_them.push_for(element(sent + 1), 3ms) ? 1 : 0;
    });
    std::thread waiter([&] {
      while (!ended) {
        std::unique_lock<timed_mutex> lock(s->lock);
        s->changed.wait_for(lock, 3ms);
      }
    });
    std::thread reader([&] {
      while (!ended) {
        {
          const std::shared_lock<shared_mutex> lock(s->readers_writer);
          if (s->low != s->high) {
            EXPECT_TRUE(s->readers_writer.owner_died());
          }
        }
        Element e{};
        if (s->latest.read(&e) != 0) {
          EXPECT_TRUE(e.whole());
        }
        s->semaphore.try_acquire_for(1ms);
      }
    });
    const int status = status_of(victim);
    ended = true;
    for (std::thread* thread : {&consumer, &producer, &waiter, &reader}) thread->join();
    if (pass == 1) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the point was not reached";
    }
    if (!WIFSIGNALED(status)) {
      EXPECT_EQ(status, 0);
    }
    EXPECT_GE(received, s->push_done.load());
    EXPECT_LE(received, s->push_begun.load());
    std::uint64_t rest = 0, first = 0;
    while (const auto e = s->to_them.try_pop()) {
      if (rest++ == 0) first = e->number;
      ASSERT_EQ(e->number, first + rest - 1);
    }
    if (rest > 0) {
      EXPECT_GT(first, s->popped.load());
      EXPECT_LE(first, s->popped.load() + 2);
      EXPECT_EQ(first + rest - 1, sent);
    }
    ASSERT_TRUE(s->lock.try_lock_for(60s));
    s->lock.unlock();
    EXPECT_EQ(s->inheriting().lock(), ownership::previous_owner_died) << "nobody called consistent()";
    s->inheriting().unlock();
    const ownership writer = s->readers_writer.lock();
    if (s->low != s->high) {
      EXPECT_EQ(writer, ownership::previous_owner_died);
    }
    s->readers_writer.unlock();
    ASSERT_TRUE(s->to_us.push_for(element(1), 60s));
    ASSERT_TRUE(s->to_us.pop_for(60s));
    const std::uint64_t version = s->latest.write(element(77));
    Element e{};
    EXPECT_EQ(s->latest.read(&e), version);
    EXPECT_EQ(e.number, 77U);
    s->semaphore.release();
    EXPECT_TRUE(s->semaphore.try_acquire_for(60s));
  }
}
INSTANTIATE_TEST_SUITE_P(AtEveryPoint, SharedCrash, testing::ValuesIn(kObjectCrashPoints), [](const auto& point) {
  std::string name = point.param;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

#endif

}  // namespace
}  // namespace baton::objects
