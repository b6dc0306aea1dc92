// SPDX-License-Identifier: Apache-2.0
// The objects of baton/shared between threads, in the order of the standard's clauses. Between processes:
// process_test.cpp, which also kills them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "baton/objects/condition_variable.hpp"
#include "baton/objects/latest.hpp"
#include "baton/objects/mutex.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/semaphore.hpp"
#include "baton/objects/shared_mutex.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "heap_test_support.hpp"

namespace baton::objects {
namespace {

using namespace std::chrono_literals;

// --- [thread.mutex.requirements] ---

template <class M>
void exclude_each_other(M& m) {
  int counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::lock_guard<M> lock(m);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 8000);
}

// What the compiler sees of plain structs (the refusals are static_asserts on these).
struct Fine {
  int number;
  double numbers[3];
  std::atomic<int> atomic;
  stored<shared_ptr<int>> pointer;
  char text[100];
};
struct WithPointer {
  int number;
  char text[100];
  const char* pointer;
};
struct WithPointers {
  double numbers[2][3];
  Fine fine;
  int* pointers[4];
};
struct WithFunction {
  std::atomic<int> atomic;
  void (*function)();
};
struct WithHeld {
  stored<shared_ptr<int>> fine;
  shared_ptr<int> pointer;
};
struct WithHeldInside {
  int numbers[5];
  struct {
    unique_ptr<int> pointer;
  } inside;
};
static_assert(!detail::has_member<Fine, detail::PointerProbe>() && !detail::has_member<Fine, detail::HeldProbe>());
static_assert(detail::has_member<WithPointer, detail::PointerProbe>());
static_assert(detail::has_member<WithPointers, detail::PointerProbe>());
static_assert(detail::has_member<WithFunction, detail::PointerProbe>());
static_assert(detail::has_member<WithHeld, detail::HeldProbe>() &&
              !detail::has_member<WithHeld, detail::PointerProbe>());
static_assert(detail::has_member<WithHeldInside, detail::HeldProbe>());

TEST(SharedMutexes, ExcludeEachOther) {
  InHeap<mutex> plain_;
  mutex& plain = *plain_;
  exclude_each_other(plain);
  InHeap<inheriting_mutex> inheriting_;
  inheriting_mutex& inheriting = *inheriting_;
  exclude_each_other(inheriting);
  InHeap<timed_mutex> timed_;
  timed_mutex& timed = *timed_;
  exclude_each_other(timed);
  InHeap<shared_mutex> shared_;
  shared_mutex& shared = *shared_;
  exclude_each_other(shared);
}

TEST(SharedMutexes, TryLockIsRefusedWhileOwned) {
  InHeap<mutex> m_;
  mutex& m = *m_;
  EXPECT_EQ(m.lock(), ownership::acquired);
  std::thread([&] { EXPECT_FALSE(m.try_lock()); }).join();
  m.unlock();
  std::thread([&] {
    EXPECT_TRUE(m.try_lock());
    EXPECT_FALSE(m.owner_died());
    m.unlock();
  }).join();
}

TEST(SharedMutexes, StdLockTakesSeveralWithoutDeadlock) {
  InHeap<mutex> a_;
  mutex& a = *a_;
  InHeap<mutex> b_;
  mutex& b = *b_;
  int both = 0;
  std::thread other([&] {
    for (int i = 0; i < 500; ++i) {
      const std::scoped_lock lock(a, b);
      ++both;
    }
  });
  for (int i = 0; i < 500; ++i) {
    const std::scoped_lock lock(b, a);
    ++both;
  }
  other.join();
  EXPECT_EQ(both, 1000);
}

// [thread.timedmutex.requirements]
TEST(SharedMutexes, TimedLockGivesUpAtItsTimeAndNotBefore) {
  const auto check = [](auto& m) {
    m.lock();
    std::thread([&] {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_FALSE(m.try_lock_for(30ms));
      EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
      EXPECT_FALSE(m.try_lock_until(std::chrono::system_clock::now() + 10ms));
      EXPECT_FALSE(m.try_lock_for(-1s)) << "a time that is over is a try";
    }).join();
    std::thread waiting([&] {
      EXPECT_TRUE(m.try_lock_for(20s));
      m.unlock();
    });
    std::this_thread::sleep_for(5ms);
    m.unlock();
    waiting.join();
    std::thread([&] {
      EXPECT_TRUE(m.try_lock_for(0s));
      m.unlock();
    }).join();
  };
  InHeap<timed_mutex> plain_;
  timed_mutex& plain = *plain_;
  check(plain);
  InHeap<inheriting_timed_mutex> inheriting_;
  inheriting_timed_mutex& inheriting = *inheriting_;
  check(inheriting);
}

// --- [thread.sharedmutex.requirements] ---

TEST(SharedMutexes, ReadersShareAndExcludeTheWriter) {
  InHeap<shared_mutex> m_;
  shared_mutex& m = *m_;
  const std::shared_lock<shared_mutex> mine(m);
  std::thread([&] {
    EXPECT_FALSE(m.try_lock());
    const std::shared_lock<shared_mutex> too(m, std::try_to_lock);
    EXPECT_TRUE(too.owns_lock());
    EXPECT_FALSE(m.owner_died());
  }).join();
}

TEST(SharedMutexes, TheWriterExcludesReaders) {
  InHeap<shared_mutex> m_;
  shared_mutex& m = *m_;
  int value = 0;
  std::atomic<bool> end{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      while (!end) {
        const std::shared_lock<shared_mutex> lock(m);
        EXPECT_EQ(value % 2, 0);
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    const std::unique_lock<shared_mutex> lock(m);
    ++value;
    ++value;
    EXPECT_FALSE(m.owner_died());
  }
  end = true;
  for (std::thread& reader : readers) reader.join();
}

TEST(SharedMutexes, MoreReadersThanSlotsWaitForOneAnother) {
  InHeap<basic_shared_mutex<2>> m_;
  basic_shared_mutex<2>& m = *m_;
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 6; ++r) {
    readers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const std::shared_lock<basic_shared_mutex<2>> lock(m);
        const int now = ++inside;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        --inside;
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_LE(most, 2);
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

// --- [thread.condition] ---

TEST(SharedMutexes, ADeadOwnerIsFoundByTheFirstLookAfterItsDeathWhicheverProcessOwnedItBefore) {
  // The owner changes without a wake-up, from one that lives to one that does not: the sleep at that time must be the last.
  detail::HeapPrivate& here = detail::private_of(test_heap().base());
  const detail::ProcessWord me = here.me.load();
  const detail::ProcessWord dead = detail::process_word(detail::kMaxProcesses - 1, 1);
  ASSERT_FALSE(detail::process_lives(test_heap().base(), dead));
  bool found = false;
  for (int round = 0; round < 20 && !found; ++round) {  // a thread of ours may be late
    detail::LockWord lock;
    ASSERT_EQ(lock.try_lock(test_heap().base(), me), detail::Locked::kYes);
    long sleeps = 0;
    std::thread waiter([&] {
      rusage before{}, after{};
      ::getrusage(RUSAGE_THREAD, &before);
      EXPECT_EQ(lock.lock_until(test_heap().base(), me, INT64_MAX), detail::Locked::kOwnerDied);
      ::getrusage(RUSAGE_THREAD, &after);
      sleeps = after.ru_nvcsw - before.ru_nvcsw;
    });
    while ((lock.word.load() & detail::kWaiters) == 0) std::this_thread::sleep_for(100us);
    std::this_thread::sleep_for(20ms);
    lock.word.store(dead | detail::kWaiters);
    waiter.join();
    found = sleeps == 1;
  }
  EXPECT_TRUE(found);
}

TEST(SharedMutexes, AReaderThatWaitedTakesWhicheverSlotIsFreed) {
  for (int who = 0; who < 4; ++who) {  // of the readers that fill it, the one that leaves
    InHeap<basic_shared_mutex<4>> lock;
    std::atomic<int> inside{0};
    std::atomic<int> leaves{-1};
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back([&, i] {
        (void)lock->lock_shared();
        ++inside;
        while (leaves != i && leaves != 4) std::this_thread::sleep_for(100us);
        lock->unlock_shared();
      });
    }
    while (inside < 4) std::this_thread::sleep_for(100us);
    EXPECT_FALSE(lock->try_lock_shared());
    std::atomic<int> in{0};
    readers.emplace_back([&] {
      (void)lock->lock_shared();
      ++in;
      lock->unlock_shared();
    });
    std::this_thread::sleep_for(5ms);
    leaves = who;
    while (in < 1) std::this_thread::sleep_for(100us);  // the other three stay until then
    leaves = 4;
    for (std::thread& reader : readers) reader.join();
  }
}

TEST(SharedMutexes, ReadersThatWaitedForAWriterReadTogether) {
  InHeap<shared_mutex> lock;
  std::atomic<int> inside{0};
  (void)lock->lock();
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      (void)lock->lock_shared();
      ++inside;
      while (inside < 2) std::this_thread::sleep_for(100us);
      lock->unlock_shared();
    });
    std::this_thread::sleep_for(5ms);
    // So that both prefer the same slot.
    for (int k = 0; k < 15; ++k) std::thread([&] { EXPECT_FALSE(lock->try_lock_shared()); }).join();
  }
  lock->unlock();
  for (std::thread& reader : readers) reader.join();
}

TEST(SharedConditionVariable, WaitsForItsPredicate) {
  InHeap<mutex> m_;
  mutex& m = *m_;
  InHeap<condition_variable> c_;
  condition_variable& c = *c_;
  int turn = 0;
  const auto play = [&](int me) {
    for (int i = 0; i < 300; ++i) {
      std::unique_lock<mutex> lock(m);
      c.wait(lock, [&] { return turn == me; });
      turn = 1 - me;
      c.notify_one();
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  EXPECT_EQ(turn, 0);
}

TEST(SharedConditionVariable, TimesOutWithTheLockOwned) {
  InHeap<mutex> m_;
  mutex& m = *m_;
  InHeap<condition_variable> c_;
  condition_variable& c = *c_;
  std::unique_lock<mutex> lock(m);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(c.wait_for(lock, 20ms, [] { return false; }));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  EXPECT_EQ(c.wait_until(lock, std::chrono::system_clock::now() - 1s), std::cv_status::timeout);
  EXPECT_EQ(c.wait_for(lock, 0s), std::cv_status::timeout);
  EXPECT_TRUE(c.wait_until(lock, std::chrono::steady_clock::now(), [] { return true; }));
  EXPECT_TRUE(lock.owns_lock());
  std::thread([&] { EXPECT_FALSE(m.try_lock()); }).join();
}

// --- [thread.sema] ---

TEST(SharedSemaphore, CountsAndWaits) {
  InHeap<counting_semaphore<>> s_(2);
  counting_semaphore<>& s = *s_;
  EXPECT_TRUE(s.try_acquire());
  s.acquire();
  EXPECT_FALSE(s.try_acquire());
  EXPECT_FALSE(s.try_acquire_for(10ms));
  EXPECT_FALSE(s.try_acquire_until(std::chrono::system_clock::now() + 5ms));
  std::atomic<int> acquired{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) s.acquire();
      acquired += 500;
    });
  }
  for (int i = 0; i < 500; ++i) s.release(3);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(acquired, 1500);
  EXPECT_FALSE(s.try_acquire());
}

TEST(SharedSemaphore, ReleaseSynchronisesWithAcquire) {
  InHeap<binary_semaphore> there_(0);
  binary_semaphore& there = *there_;
  InHeap<binary_semaphore> back_(0);
  binary_semaphore& back = *back_;
  int value = 0;
  std::thread other([&] {
    for (int i = 0; i < 300; ++i) {
      there.acquire();
      ++value;
      back.release();
    }
  });
  for (int i = 0; i < 300; ++i) {
    ++value;
    there.release();
    back.acquire();
  }
  other.join();
  EXPECT_EQ(value, 600);
}

// --- queue (as the standard's proposals for concurrent queues have it) ---

struct Element {
  std::uint32_t producer;
  std::uint32_t number;
  std::uint64_t check[3];
};

TEST(SharedQueue, IsBoundedAndFirstInFirstOut) {
  InHeap<queue<int, 3>> q_;
  queue<int, 3>& q = *q_;
  EXPECT_TRUE(q.empty());
  EXPECT_FALSE(q.try_pop());
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(q.try_push(i));
    EXPECT_TRUE(q.full());
    EXPECT_FALSE(q.try_push(3));
    EXPECT_FALSE(q.push_for(3, 5ms));
    EXPECT_EQ(q.size(), 3U);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(q.pop(), i);
  }
  EXPECT_EQ(q.pop_for(5ms), std::nullopt);
  EXPECT_EQ(q.pop_until(std::chrono::system_clock::now() + 5ms), std::nullopt);
  EXPECT_FALSE(q.wait_not_empty_for(5ms));
  q.push(7);
  EXPECT_TRUE(q.wait_not_empty_for(0s));
}

TEST(SharedQueue, LosesAndDoublesNothingBetweenManyThreads) {
  constexpr std::uint32_t kProducers = 3, kConsumers = 3, kEach = 1500;
  const InHeap<queue<Element, 4>> q;
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> sum{0};
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      for (std::uint32_t i = 1; i <= kEach; ++i) q->push({p, i, {i, i, i}});
    });
  }
  for (std::uint32_t c = 0; c < kConsumers; ++c) {
    threads.emplace_back([&] {
      std::uint32_t last[kProducers] = {};
      for (std::uint32_t i = 0; i < kProducers * kEach / kConsumers; ++i) {
        const Element e = q->pop();
        EXPECT_GT(e.number, last[e.producer]) << "of one producer in order";
        last[e.producer] = e.number;
        for (std::uint64_t check : e.check) EXPECT_EQ(check, e.number);
        sum += e.number;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, std::uint64_t{kProducers} * kEach * (kEach + 1) / 2);
  EXPECT_TRUE(q->empty());
}

// --- Latest ---

TEST(SharedLatest, GivesTheNewestValue) {
  InHeap<Latest<Element>> latest_;
  Latest<Element>& latest = *latest_;
  Element e{};
  EXPECT_EQ(latest.read(&e), 0U);
  EXPECT_FALSE(latest.read());
  EXPECT_EQ(latest.write({1, 2, {3, 4, 5}}), 1U);
  for (std::uint32_t i = 2; i < 20; ++i) {
    EXPECT_EQ(latest.write({i, i, {}}), i);
    EXPECT_EQ(latest.read(&e), i);
    EXPECT_EQ(e.number, i);
  }
  EXPECT_EQ(latest.read_newer_for(19, &e, 5ms), 0U);
  EXPECT_EQ(latest.read_newer_for(18, &e, 5ms), 19U);
}

TEST(SharedLatest, IsNeverTornAndNeverGoesBack) {
  const InHeap<Latest<Element>> latest;
  std::vector<std::thread> threads;
  std::atomic<int> writers{2};
  for (int w = 0; w < 2; ++w) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 1; i <= 4000; ++i) latest->write({i, i, {i, i, i}});
      --writers;
    });
  }
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&] {
      std::uint64_t last = 0;
      while (writers > 0) {
        Element e{};
        const std::uint64_t version = latest->read_newer_for(last, &e, 10ms);
        if (version == 0) continue;
        EXPECT_GT(version, last);
        last = version;
        EXPECT_EQ(e.producer, e.number);
        for (std::uint64_t check : e.check) EXPECT_EQ(check, e.number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(latest->version(), 8000U);
}

struct PingPong {
  queue<int, 1> there, back;
};

}  // namespace
template <>
struct declared_shareable<PingPong> : recoverable {};
namespace {

TEST(SharedWaiters, ThreadsSleepAndWakeWhileOthersComeAndGo) {
  const HeapDirectory directory;
  Heap heap = Heap::open(directory.options("h")).or_throw();
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int pair = 0; pair < 2; ++pair) {
    threads.emplace_back([&] {
      while (!end) {  // new event counts every time, in the memory of the former ones
        const shared_ptr<PingPong> game = make_shared<PingPong>(heap);
        std::thread other([&game] {
          for (int i = 0; i < 20; ++i) game->back.push(game->there.pop());
        });
        for (int i = 0; i < 20; ++i) {
          game->there.push(i);
          EXPECT_EQ(game->back.pop(), i);
        }
        other.join();
      }
    });
  }
  for (int i = 0; i < 40; ++i) (void)Heap::open(directory.options("h")).or_throw();  // a hang-up each
  end = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace baton::objects
