// SPDX-License-Identifier: Apache-2.0
// What processes leave to each other by living on, ending and forking: chains of objects, names, memory. Killed at crash points:
// heap_process_test.cpp.
#include <atomic>
#include <boost/container/vector.hpp>
#include <chrono>
#include <mutex>
#include <thread>

#include "baton/objects/guarded.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/shared_mutex.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "baton/os/process.hpp"
#include "heap_test_support.hpp"

namespace baton::objects {
namespace lives_test {

using namespace std::chrono_literals;

struct Link {
  stored<shared_ptr<Link>> next;
};

/// What Heap::construct() makes has no destructor run when its process ends.
struct Table {
  guarded<boost::container::vector<int, allocator<int>>> numbers;
  stored<shared_ptr<Link>> link;
  char large[80'000] = {};
  guarded<boost::container::vector<stored<shared_ptr<Link>>, allocator<stored<shared_ptr<Link>>>>> links;
};

/// Looks for others by their names in its constructor.
struct Service {
  explicit Service(Heap& heap) : link(find_or_make<Link>(heap, "link")) {}
  stored<shared_ptr<Link>> link;
};

}  // namespace lives_test

template <>
struct declared_shareable<lives_test::Service> : recoverable {};
template <>
struct declared_shareable<lives_test::Table> : recoverable {};
template <>
struct declared_shareable<lives_test::Link> : recoverable {};

namespace lives_test {

TEST(SharedLives, AChainOfAnyLengthEndsOnASmallStack) {
  Heap heap = new_heap();
  const pid_t child = in_child(heap, [](Heap& mine) {
    static shared_ptr<Link> head;
    for (int i = 0; i < 20'000; ++i) {
      shared_ptr<Link> link = make_shared<Link>(mine);
      link->next = std::move(head);
      head = std::move(link);
    }
    const pthread_t thread = os::start_thread("small", std::size_t{256} * 1024, [] { head.reset(); }).or_throw();
    ::pthread_join(thread, nullptr);
    EXPECT_EQ(mine.stats().objects, 0U);
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST(SharedLives, AForkWhileThreadsEndObjectsLeavesAChildThatCanUseAHeap) {
  Heap heap = new_heap();
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!end) make_shared<Link>(heap)->next = make_shared<Link>(heap);
    });
  }
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const pid_t child = forked([] {
      ::alarm(250);
      Heap mine = new_heap(1 << 20);
      for (int k = 0; k < 20; ++k) make_shared<Link>(mine)->next = make_shared<Link>(mine);
    });
    EXPECT_EQ(status_of(child), 0) << "child " << i;
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(SharedLives, OnEventMayForkAndCollect) {
  HeapDirectory directory;
  const pid_t child = forked([&] {  // so that a hang is seen as an alarm
    ::alarm(250);
    std::atomic<int> reported{0};
    HeapOptions options = directory.options("h");
    Heap* known = nullptr;
    options.on_event = [&](const HeapEvent&) {
      EXPECT_EQ(status_of(forked([] {})), 0);
      known->collect();
      ++reported;
    };
    Heap heap = Heap::open(options).or_throw();
    known = &heap;
    const shared_ptr<std::atomic<bool>> ready = find_or_make<std::atomic<bool>>(heap, "ready");
    const pid_t other = forked([&] {
      Heap mine = Heap::open(directory.options("h")).or_throw();
      *find_or_make<std::atomic<bool>>(mine, "ready") = true;
      for (;;) ::pause();
    });
    wait_until([&] { return ready->load(); });
    ::kill(other, SIGKILL);
    status_of(other);
    wait_until([&] { return reported.load() == 1; });
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST(SharedLives, AConstructorMayLookForOtherNames) {
  const pid_t child = forked([] {
    ::alarm(250);
    Heap heap = new_heap();
    const shared_ptr<Service> service = find_or_make<Service>(heap, "service", heap);
    EXPECT_EQ(service->link.get(), find<Link>(heap, "link").get());
    EXPECT_EQ(find<Service>(heap, "service"), service);
  });
  EXPECT_EQ(status_of(child), 0);
}

using Numbers = queue<int, 8>;

TEST(SharedLives, AProcessThatHasOnlyPointersHandsTheHeapOver) {
  HeapDirectory directory;
  const auto connect = [&] {
    Heap heap = Heap::open(directory.options("h")).or_throw();
    return find_or_make<Numbers>(heap, "n");
  };
  int started[2];
  ASSERT_EQ(::pipe(started), 0);
  const pid_t other = forked([&] {
    const shared_ptr<Numbers> numbers = connect();
    (void)!::write(started[1], "x", 1);
    while (numbers->pop() != 9) {
    }
  });
  char c = 0;
  ASSERT_EQ(::read(started[0], &c, 1), 1);
  {
    shared_ptr<Numbers> numbers = connect();
    EXPECT_EQ(numbers.use_count(), 3) << "the name, this process, the other one";
    numbers->push(9);
    EXPECT_EQ(status_of(other), 0);
    wait_until([&] { return numbers.use_count() == 2; });  // by the background thread
    numbers.reset();
  }
  EXPECT_TRUE(directory.names().empty());
  ::close(started[0]);
  ::close(started[1]);
}

TEST(SharedLives, MembersOfConstructedObjectsAreFreedWithThem) {
  for (const bool killed : {false, true}) {
    Heap heap = new_heap();
    status_of(in_child(heap, [&](Heap& mine) {
      for (int i = 0; i < 5; ++i) {
        Table& table = mine.construct<Table>();
        table.numbers.lock()->resize(1000);
        table.link = make_shared<Link>(mine);
        table.links.lock()->push_back(make_shared<Link>(mine));
        mine.construct<Link>().next = make_shared<Link>(mine);
      }
      if (killed) die();
    }));
    EXPECT_EQ(heap.collect(), killed ? 1U : 0U);
    EXPECT_EQ(heap.stats().objects, 0U);
    EXPECT_EQ(heap.stats().allocations, 0U);
  }
}

TEST(SharedLives, OneMemberThatAnswersIsEnough) {
  HeapDirectory directory;
  std::vector<pid_t> members;
  int started[2];
  ASSERT_EQ(::pipe(started), 0);
  for (int i = 0; i < 8; ++i) {
    members.push_back(forked([&] {
      Heap heap = Heap::open(directory.options("h")).or_throw();
      (void)!::write(started[1], "x", 1);
      for (;;) ::pause();
    }));
    char c = 0;
    ASSERT_EQ(::read(started[0], &c, 1), 1);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t k = 0; k < members.size(); ++k) ::kill(members[k], k == i ? SIGCONT : SIGSTOP);
    // A second per member that is stopped is more than there is.
    EXPECT_TRUE(Heap::open(directory.options("h"))) << "only member " << i << " runs";
    i += 6;  // the first, the last
  }
  for (const pid_t member : members) {
    ::kill(member, SIGKILL);
    status_of(member);
  }
  ::close(started[0]);
  ::close(started[1]);
}

}  // namespace lives_test
}  // namespace baton::objects
