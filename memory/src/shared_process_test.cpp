// SPDX-License-Identifier: Apache-2.0
// The objects of baton/shared between processes: used by several, and killed at every crash point named shared.*.
#include <gtest/gtest.h>

#include <fcntl.h>
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

#include "baton/shared/condition_variable.hpp"
#include "baton/shared/latest.hpp"
#include "baton/shared/mutex.hpp"
#include "baton/shared/queue.hpp"
#include "baton/shared/semaphore.hpp"
#include "baton/shared/shared_mutex.hpp"

namespace baton::shared {
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
  timed_mutex inheriting{priority_inheritance};
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
  SharedMemory() : fd_(static_cast<int>(::syscall(SYS_memfd_create, "baton-test", 0U))) {  // inherited by exec
    EXPECT_EQ(::ftruncate(fd_, sizeof(Objects)), 0);
    objects_ = new (map(fd_)) Objects;
  }
  ~SharedMemory() {
    ::munmap(static_cast<void*>(objects_), sizeof(Objects));
    ::close(fd_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  static void* map(int fd) {
    void* const memory = ::mmap(nullptr, sizeof(Objects), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) std::abort();
    return memory;
  }
  Objects* operator->() const { return objects_; }
  Objects& operator*() const { return *objects_; }
  int fd() const { return fd_; }

 private:
  int fd_;
  Objects* objects_;
};

template <class Body>
pid_t in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(50);
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return child;
}
int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

TEST(SharedBetweenProcesses, ADeadOwnerIsToldToTheNext) {
  SharedMemory s;
  for (timed_mutex* m : {&s->lock, &s->inheriting}) {
    status_of(in_child([&] {
      m->lock();
      die();
    }));
    EXPECT_EQ(m->lock(), ownership::previous_owner_died);
    m->consistent();
    m->unlock();
  }
}

TEST(SharedBetweenProcesses, AWaiterGetsTheLockOfAnOwnerThatIsKilled) {
  SharedMemory s;
  for (timed_mutex* m : {&s->lock, &s->inheriting}) {
    const pid_t owner = in_child([&] {
      m->lock();
      s->semaphore.release();
      for (;;) ::pause();
    });
    s->semaphore.acquire();
    std::thread waiting([&] {
      EXPECT_EQ(m->lock(), ownership::previous_owner_died);
      m->unlock();
    });
    std::this_thread::sleep_for(5ms);
    ::kill(owner, SIGKILL);
    status_of(owner);
    waiting.join();
  }
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
  EXPECT_EQ(s->readers_writer.lock_shared(), ownership::previous_owner_died);
  s->readers_writer.unlock_shared();
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
    ASSERT_TRUE(s->to_us.push_for(element(1), 5s)) << "the lock is free";
    ASSERT_TRUE(s->to_us.pop_for(5s));
  }
  EXPECT_GT(taken, 0U);
}

#ifdef BATON_CRASH_POINTS

constexpr const char* kPoints[] = {
    "shared.mutex.unlock",         "shared.mutex.marked",     "shared.mutex.taken_over",
    "shared.bell.announced",       "shared.bell.woken",       "shared.bell.sleepers_seen",
    "shared.bell.event_counted",   "shared.semaphore.released", "shared.queue.locked",
    "shared.queue.push.written",   "shared.queue.push.done",  "shared.queue.push.unlocked",
    "shared.queue.pop.copied",     "shared.queue.pop.done",   "shared.queue.pop.unlocked",
    "shared.latest.written",       "shared.latest.done",      "shared.shared_mutex.slot_taken",
    "shared.shared_mutex.reading", "shared.shared_mutex.writing", "shared.shared_mutex.unlocking",
};

/// The victim, in a program started anew (crash points read the environment once): does everything until it dies.
TEST(SharedVictim, DISABLED_DoesEverythingUntilItIsKilled) {
  const char* const fd = std::getenv("BATON_SHARED_FD");
  if (fd == nullptr) GTEST_SKIP();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(30);
  Objects& s = *static_cast<Objects*>(SharedMemory::map(std::atoi(fd)));
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; std::chrono::steady_clock::now() - start < 300ms; ++i) {
    {
      const std::lock_guard<timed_mutex> lock(s.inheriting);
    }
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
    {
      const std::shared_lock<shared_mutex> lock(s.readers_writer);
    }
    s.push_begun = i;
    if (!s.to_us.push_for(element(i), 5s)) ::_exit(2);
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
      s->inheriting.lock();
      die();
    }));
    const std::string at = "BATON_CRASH_AT=" + std::string(GetParam()) + ":" + std::to_string(pass);
    const std::string fd = "BATON_SHARED_FD=" + std::to_string(s.fd());
    const pid_t victim = ::fork();
    if (victim == 0) {
      const char* const arguments[] = {"victim", "--gtest_also_run_disabled_tests", "--gtest_filter=SharedVictim.*", nullptr};
      const char* const environment[] = {at.c_str(), fd.c_str(), nullptr};
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
    ASSERT_TRUE(s->lock.try_lock_for(5s));
    s->lock.unlock();
    EXPECT_EQ(s->inheriting.lock(), ownership::previous_owner_died) << "nobody called consistent()";
    s->inheriting.unlock();
    const ownership writer = s->readers_writer.lock();
    if (s->low != s->high) {
      EXPECT_EQ(writer, ownership::previous_owner_died);
    }
    s->readers_writer.unlock();
    ASSERT_TRUE(s->to_us.push_for(element(1), 5s));
    ASSERT_TRUE(s->to_us.pop_for(5s));
    const std::uint64_t version = s->latest.write(element(77));
    Element e{};
    EXPECT_EQ(s->latest.read(&e), version);
    EXPECT_EQ(e.number, 77U);
    s->semaphore.release();
    EXPECT_TRUE(s->semaphore.try_acquire_for(5s));
  }
}
INSTANTIATE_TEST_SUITE_P(AtEveryPoint, SharedCrash, testing::ValuesIn(kPoints), [](const auto& point) {
  std::string name = point.param;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

#endif

}  // namespace
}  // namespace baton::shared
