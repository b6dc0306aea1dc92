// SPDX-License-Identifier: Apache-2.0
// A heap ends while its threads end objects; a recovery runs while other threads want the locks and memory of the dead process.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/container/list.hpp>
#include <boost/container/vector.hpp>
#include <chrono>
#include <ctime>
#include <functional>
#include <optional>
#include <thread>

#include "baton/objects/guarded.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/shared_mutex.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "heap_test_support.hpp"
#include "names.hpp"

namespace baton::objects {
namespace ends_test {

using namespace std::chrono_literals;

/// What its destructor does, in the process that runs it.
std::function<void()> g_at_end;  // NOLINT
struct Slow {
  int number = 1;
  ~Slow() {
    if (number == 1 && g_at_end) g_at_end();
    number = 2;
  }
};
struct Inner {
  guarded<boost::container::vector<int, allocator<int>>> numbers;
};
struct Outer {
  guarded<boost::container::list<Inner, allocator<Inner>>> inners;
};
struct Desk {
  mutex lock;
  std::atomic<bool> owned{false}, ends{false}, taken{false};
  queue<shared_ptr<Slow>, 4> slow;
};

struct Part;
/// Its destructor cannot run again.
struct Whole {
  stored<shared_ptr<Part>> part;
  ~Whole() {
    if (g_at_end) g_at_end();
  }
};
/// Looks for the object that it is a part of when it ends.
int g_parts_ended = 0;  // NOLINT
struct Part {
  stored<weak_ptr<Whole>> whole;
  ~Part();
};

}  // namespace ends_test

template <>
struct declared_shareable<ends_test::Whole> : std::true_type {};
template <>
struct declared_shareable<ends_test::Part> : recoverable {};
template <>
struct declared_shareable<ends_test::Slow> : recoverable {};
template <>
struct declared_shareable<ends_test::Inner> : recoverable {};
template <>
struct declared_shareable<ends_test::Outer> : recoverable {};
template <>
struct declared_shareable<ends_test::Desk> : recoverable {};

namespace ends_test {

Part::~Part() {
  EXPECT_FALSE(whole.lock());
  ++g_parts_ended;
}

TEST(SharedEnds, ADestructorMayLookForTheObjectWhoseDestructorAProcessDiedIn) {
  Heap heap = new_heap();
  status_of(in_child(heap, [](Heap& mine) {
    shared_ptr<Whole> whole = make_shared<Whole>(mine);
    whole->part = make_shared<Part>(mine);
    whole->part->whole = weak_ptr<Whole>(whole);
    g_at_end = [] { die(); };
    whole.reset();
  }));
  const pid_t recoverer = in_child(heap, [](Heap& mine) {
    mine.collect();
    EXPECT_EQ(g_parts_ended, 1);
  });
  EXPECT_EQ(status_of(recoverer), 0);
  EXPECT_EQ(heap.stats().objects, 0U);
}

TEST(SharedEnds, AHeapIsThereUntilItsThreadsHaveEndedTheirObjects) {
  const pid_t child = forked([] {
    std::atomic<bool> ends{false}, closed{false};
    std::optional<Heap> heap(new_heap());
    g_at_end = [&] {
      ends = true;
      wait_until([&] { return closed.load(); });
    };
    std::thread thread([object = make_shared<Slow>(*heap)]() mutable { object.reset(); });
    wait_until([&] { return ends.load(); });
    heap.reset();
    closed = true;
    thread.join();
    g_at_end = nullptr;
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST(SharedEnds, APointerOfAThreadThatEndsMayBeTheLastOfItsHeap) {
  const pid_t child = forked([] {
    HeapDirectory directory;
    for (int i = 0; i < 20; ++i) {
      std::thread([&] {
        thread_local shared_ptr<Slow> of_thread;  // ends after anything that the library has in the thread
        Heap heap = Heap::open(directory.options("h")).or_throw();
        of_thread = make_shared<Slow>(heap);
      }).join();
      EXPECT_TRUE(directory.names().empty());
    }
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST(SharedEnds, TheHeapIsLeftAtOnceAlsoWhileItsBackgroundThreadRecovers) {
  HeapDirectory directory;
  const pid_t child = forked([&] {
    std::atomic<bool> ends{false};
    const pid_t other = forked([&] {
      Heap mine = Heap::open(directory.options("h")).or_throw();
      static shared_ptr<Slow> object = make_shared<Slow>(mine);
      find_or_make<Desk>(mine, "desk")->owned = true;
      for (;;) ::pause();
    });
    g_at_end = [&] {  // in the background thread
      ends = true;
      std::this_thread::sleep_for(30ms);
    };
    shared_ptr<Desk> desk;
    {
      Heap heap = Heap::open(directory.options("h")).or_throw();
      desk = find_or_make<Desk>(heap, "desk");
    }
    wait_until([&] { return desk->owned.load(); });
    ::kill(other, SIGKILL);
    status_of(other);
    wait_until([&] { return ends.load(); });
    desk.reset();
    EXPECT_TRUE(directory.names().empty());
    g_at_end = nullptr;
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST(SharedEnds, ThreadsThatDropTheirPointersAndTheEndOfTheHeapMayCoincide) {
  const pid_t child = forked([] {
    for (int i = 0; i < 300; ++i) {
      std::optional<Heap> heap(new_heap(1 << 20));
      std::atomic<int> ready{0};
      std::vector<std::thread> threads;
      for (int k = 0; k < 3; ++k) {
        threads.emplace_back([&ready, object = make_shared<Slow>(*heap), k]() mutable {
          ++ready;
          while (ready != 4) {
          }
          for (int spin = 0; spin < k * 50; ++spin) detail::pause();
          object.reset();
        });
      }
      wait_until([&] { return ready == 3; });
      ++ready;
      heap.reset();
      for (std::thread& thread : threads) thread.join();
    }
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST(SharedEnds, BuffersOfANestedGuardAreFreedWithTheGuardAroundIt) {
  for (const bool killed : {false, true}) {
    Heap heap = new_heap();
    const shared_ptr<Outer> outer = find_or_make<Outer>(heap, "outer");
    const std::size_t before = heap.stats().used_bytes;
    status_of(in_child(heap, [&](Heap& mine) {
      const auto locked = find<Outer>(mine, "outer")->inners.lock();
      for (int i = 0; i < 3; ++i) {
        locked->emplace_back();
        locked->back().numbers.lock()->resize(1000);
      }
      if (killed) die();
    }));
    heap.collect();
    if (!killed) outer->inners.lock().clear();
    EXPECT_EQ(outer->inners.lock().started_over(), killed);
    EXPECT_EQ(heap.stats().used_bytes, before) << (killed ? "killed" : "cleared");
  }
}

TEST(SharedEnds, TheLockOfADeadProcessIsTakenOverWhileAnotherProcessEndsItsObjects) {
  Heap heap = new_heap();
  const shared_ptr<Desk> desk = find_or_make<Desk>(heap, "desk");
  const pid_t owner = in_child(heap, [](Heap& mine) {
    const shared_ptr<Desk> there = find<Desk>(mine, "desk");
    static shared_ptr<Slow> object = make_shared<Slow>(mine);
    (void)there->lock.lock();
    there->owned = true;
    for (;;) ::pause();
  });
  wait_until([&] { return desk->owned.load(); });
  ::kill(owner, SIGKILL);
  status_of(owner);
  const pid_t recoverer = in_child(heap, [](Heap& mine) {
    const shared_ptr<Desk> there = find<Desk>(mine, "desk");
    g_at_end = [&] {
      there->ends = true;
      wait_until([&] { return there->taken.load(); });
    };
    mine.collect();
    EXPECT_TRUE(there->ends);
    g_at_end = nullptr;
  });
  wait_until([&] { return desk->ends.load(); });
  const pid_t next = in_child(heap, [](Heap& mine) {
    ::alarm(250);
    const shared_ptr<Desk> there = find<Desk>(mine, "desk");
    EXPECT_EQ(there->lock.lock(), ownership::previous_owner_died);
    there->lock.unlock();
  });
  EXPECT_EQ(status_of(next), 0);
  desk->taken = true;
  EXPECT_EQ(status_of(recoverer), 0);
}

TEST(SharedEnds, AnAllocationThatIsShortOfMemoryWaitsForTheRecoveryByAnotherProcess) {
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
    Heap heap = new_heap(std::size_t{4} << 20);
    const shared_ptr<Desk> desk = find_or_make<Desk>(heap, "desk");
    const pid_t owner = in_child(heap, [&](Heap& mine) {
      const shared_ptr<Desk> there = find<Desk>(mine, "desk");
      static shared_ptr<Slow> object = make_shared<Slow>(mine);
      while (mine.allocate(bytes)) {
      }
      there->owned = true;
      for (;;) ::pause();
    });
    wait_until([&] { return desk->owned.load(); });
    EXPECT_FALSE(heap.allocate(bytes));
    ::kill(owner, SIGKILL);
    status_of(owner);
    const pid_t recoverer = in_child(heap, [](Heap& mine) {
      const shared_ptr<Desk> there = find<Desk>(mine, "desk");
      g_at_end = [&] {
        there->ends = true;
        wait_until([&] { return there->taken.load(); });
        std::this_thread::sleep_for(50ms);  // so that the allocation below finds the recovery at work
      };
      mine.collect();
      EXPECT_TRUE(there->ends);
      g_at_end = nullptr;
    });
    wait_until([&] { return desk->ends.load(); });
    desk->taken = true;
    EXPECT_TRUE(heap.allocate(bytes));
    EXPECT_EQ(status_of(recoverer), 0);
  }
}

TEST(SharedEnds, ADestructorMayLookForNamesWhoseTableADeadProcessHadLocked) {
  Heap heap = new_heap();
  find_or_make<Slow>(heap, "slow");
  status_of(in_child(heap, [](Heap& mine) {  // as if it died in forget(), where the name is gone and the object is not
    detail::Names names(mine);
    detail::StoredWords* const object = names.find("slow", 0);
    reinterpret_cast<detail::NamedObject*>(reinterpret_cast<char*>(object) - offsetof(detail::NamedObject, object))
        ->name[0] = 0;
    die();
  }));
  const pid_t child = in_child(heap, [](Heap& mine) {
    ::alarm(250);
    bool asked = false;
    g_at_end = [&] { asked = !find<Slow>(mine, "other"); };
    EXPECT_FALSE(find<Slow>(mine, "slow"));
    EXPECT_TRUE(asked);
    g_at_end = nullptr;
  });
  EXPECT_EQ(status_of(child), 0);
  heap.collect();
  EXPECT_EQ(heap.stats().objects, 0U);
}

TEST(SharedEnds, OnEventMayEndTheHeapObjectThatCollects) {
  const pid_t child = forked([] {
    std::optional<Heap> heap;
    HeapOptions options;
    options.on_event = [&](const HeapEvent&) { heap.reset(); };
    heap = Heap::create(options).or_throw();
    for (int i = 0; i < 2; ++i) {
      status_of(in_child(*heap, [](Heap& mine) {
        static shared_ptr<Slow> object = make_shared<Slow>(mine);
        die();
      }));
    }
    EXPECT_EQ(heap->collect(), 2U);
    EXPECT_FALSE(heap);
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST(SharedEnds, AnyTimeoutMayBeGivenToOpen) {
  HeapDirectory directory;
  HeapOptions options = directory.options("h");
  const Heap first = Heap::open(options).or_throw();
  options.timeout = std::chrono::milliseconds::max();
  EXPECT_TRUE(Heap::open(options));
}

TEST(SharedEnds, AMemberWithoutDescriptorsLetsNewcomersInWhenItHasSome) {
  HeapDirectory directory;
  int go[2], done[2];
  ASSERT_EQ(::pipe(go) | ::pipe(done), 0);
  const pid_t member = forked([&] {
    const Heap heap = Heap::open(directory.options("h")).or_throw();
    rlimit all{};
    ::getrlimit(RLIMIT_NOFILE, &all);
    rlimit none = all;
    none.rlim_cur = 3;
    ::setrlimit(RLIMIT_NOFILE, &none);
    char c = 'x';
    const std::clock_t before = std::clock();
    (void)!::write(done[1], &c, 1);
    (void)!::read(go[0], &c, 1);
    EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 10) << "CPU time: it does not try all the time";
    ::setrlimit(RLIMIT_NOFILE, &all);
    (void)!::read(go[0], &c, 1);
  });
  char c = 0;
  ASSERT_EQ(::read(done[0], &c, 1), 1);
  HeapOptions options = directory.options("h");
  options.timeout = 500ms;
  EXPECT_EQ(Heap::open(options).error().code, Errc::timed_out);
  (void)!::write(go[1], &c, 1);
  options.timeout = 60s;
  EXPECT_TRUE(Heap::open(options));
  (void)!::write(go[1], &c, 1);
  EXPECT_EQ(status_of(member), 0);
  for (const int fd : {go[0], go[1], done[0], done[1]}) ::close(fd);
}

TEST(SharedEnds, AWriterIsNotStarvedByReadersThatComeAndGo) {
  Heap heap = new_heap();
  const shared_ptr<basic_shared_mutex<4>> lock = find_or_make<basic_shared_mutex<4>>(heap, "lock");
  std::atomic<bool> end{false};
  std::atomic<std::uint64_t> reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([&] {
      while (!end) {
        lock->lock_shared();
        for (int k = 0; k < 500; ++k) detail::pause();
        ++reads;
        lock->unlock_shared();
      }
    });
  }
  std::vector<std::uint64_t> meanwhile;
  wait_until([&] { return reads.load() > 100; });
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t before = reads;
    lock->lock();
    meanwhile.push_back(reads - before);
    lock->unlock();
    std::this_thread::sleep_for(1ms);
  }
  end = true;
  for (std::thread& reader : readers) reader.join();
  // Each reader goes before the writer once, or after 100 ms. A few times the machine may have left this thread aside for so long.
  std::sort(meanwhile.begin(), meanwhile.end());
  EXPECT_LT(meanwhile[meanwhile.size() / 2], 1000U) << "reads while the writer waited, of " << reads;
}

}  // namespace ends_test
}  // namespace baton::objects
