// SPDX-License-Identifier: Apache-2.0
// Smart pointers in one process, in the order of the standard's clauses. Between processes, and with deaths: heap_process_test.cpp.
#include <poll.h>

#include <atomic>
#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <thread>

#include "baton/objects/allocator.hpp"
#include "baton/objects/condition_variable.hpp"
#include "baton/objects/guarded.hpp"
#include "baton/objects/pollable.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "heap_test_support.hpp"

namespace baton::objects {
namespace {

int g_alive = 0;
struct Counted {
  explicit Counted(int v = 0) : value(v) { ++g_alive; }
  ~Counted() { --g_alive; }
  Counted(const Counted&) = delete;
  int value;
  int second = 5;
};

struct Node {
  explicit Node(int v = 0) : value(v) {}
  int value;
  stored<shared_ptr<Node>> next;
  stored<weak_ptr<Node>> back;
  stored<unique_ptr<Node>> own;
};

}  // namespace
template <>
struct declared_shareable<Counted> : std::true_type {};
template <>
struct declared_shareable<Node> : recoverable {};
namespace {

class SharedPtr : public testing::Test {
 protected:
  void SetUp() override { g_alive = 0; }
  void expect_empty() { EXPECT_EQ(heap_.stats().allocations, 0U); }
  Heap heap_ = new_heap();
};

// [util.smartptr.shared]
TEST_F(SharedPtr, EndsItsObjectWithTheLastPointer) {
  shared_ptr<Counted> a = make_shared<Counted>(heap_, 7);
  EXPECT_EQ(a->value, 7);
  EXPECT_EQ((*a).value, 7);
  EXPECT_EQ(a.use_count(), 1);
  {
    shared_ptr<Counted> b = a;
    EXPECT_EQ(a.use_count(), 2);
    EXPECT_TRUE(a == b);
    shared_ptr<Counted> c = std::move(b);
    EXPECT_FALSE(b);  // NOLINT(bugprone-use-after-move)
    EXPECT_TRUE(b == nullptr);
    EXPECT_EQ(a.use_count(), 2);
  }
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(g_alive, 1);
  a = make_shared<Counted>(heap_, 8);
  EXPECT_EQ(g_alive, 1);
  shared_ptr<Counted> d;
  d.swap(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(d->value, 8);
  d = nullptr;
  EXPECT_EQ(g_alive, 0);
  expect_empty();
}

TEST_F(SharedPtr, AliasesAndConverts) {
  shared_ptr<Counted> a = make_shared<Counted>(heap_, 7);
  shared_ptr<int> part(a, &a->second);
  shared_ptr<const Counted> constant = a;
  a.reset();
  EXPECT_EQ(*part, 5);
  EXPECT_EQ(constant->value, 7);
  constant.reset();
  EXPECT_EQ(g_alive, 1);
  part.reset();
  EXPECT_EQ(g_alive, 0);
  expect_empty();
}

TEST_F(SharedPtr, AnExceptionOfTheConstructorLeavesNothing) {
  struct Throws {
    Throws() { throw 3; }
  };
  EXPECT_THROW(make_shared<Throws>(heap_), int);
  expect_empty();
}

TEST_F(SharedPtr, LiesInObjectsOfTheHeapToo) {
  shared_ptr<Node> first = make_shared<Node>(heap_, 1);
  first->next = make_shared<Node>(heap_, 2);
  first->next->next = make_shared<Node>(heap_, 3);
  EXPECT_EQ(first->next->next->value, 3);
  shared_ptr<Node> third = first->next->next;
  EXPECT_EQ(third.use_count(), 2);
  first->next = first->next->next;  // the second ends, and what it held was kept meanwhile
  EXPECT_EQ(heap_.stats().objects, 2U);
  EXPECT_EQ(first->next->value, 3);
  first->own = make_unique<Node>(heap_, 4);
  first->own->own = make_unique<Node>(heap_, 5);
  unique_ptr<Node> taken = std::move(first->own->own);
  EXPECT_FALSE(first->own->own);
  EXPECT_EQ(taken->value, 5);
  first->next->next = first;  // a ring
  first.reset();
  EXPECT_EQ(heap_.stats().objects, 4U);
  third->next.reset();
  EXPECT_EQ(heap_.stats().objects, 2U);
  third.reset();
  taken.reset();
  expect_empty();
}

TEST_F(SharedPtr, ThousandsOfThemEndInOneChainWithoutTrouble) {
  shared_ptr<Node> head;
  for (int i = 0; i < 2000; ++i) {
    shared_ptr<Node> node = make_shared<Node>(heap_, i);
    node->next = std::move(head);
    head = std::move(node);
  }
  EXPECT_EQ(heap_.stats().objects, 2000U);
  head.reset();
  expect_empty();
}

TEST_F(SharedPtr, IntoAnotherHeapIsRefused) {
  Heap other = new_heap();
  shared_ptr<Node> here = make_shared<Node>(heap_, 1), there = make_shared<Node>(other, 2);
  EXPECT_THROW(here->next = there, Exception);
  EXPECT_FALSE(here->next);
  EXPECT_EQ(there->value, 2);
}

TEST_F(SharedPtr, KeepsTheHeapOpen) {
  shared_ptr<Counted> a = make_shared<Counted>(heap_, 7);
  { const Heap gone = std::move(heap_); }
  EXPECT_EQ(a->value, 7);
  a.reset();
  EXPECT_EQ(g_alive, 0);
  heap_ = new_heap();
}

TEST_F(SharedPtr, ManyThreadsCopyAndEndPointersAndHolds) {
  shared_ptr<Node> root = make_shared<Node>(heap_, 0);
  root->next = make_shared<Node>(heap_, 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const shared_ptr<Node> from_heap = root->next;  // the first and last hold of the process, again and again
        const shared_ptr<Node> copy = from_heap;
        EXPECT_EQ(copy->value, 1);
        const weak_ptr<Node> weak = copy;
        const shared_ptr<Node> again = weak.lock();
        EXPECT_TRUE(again);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(root->next.use_count(), 1);
  root.reset();
  expect_empty();
}

// [util.smartptr.weak]
TEST_F(SharedPtr, WeakOnesSeeItsEnd) {
  shared_ptr<Node> a = make_shared<Node>(heap_, 1);
  weak_ptr<Node> weak = a, copy = weak;
  shared_ptr<Node> holder = make_shared<Node>(heap_, 2);
  holder->back = a;
  EXPECT_EQ(weak.lock()->value, 1);
  EXPECT_EQ(holder->back.lock(), a);
  a.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_FALSE(copy.lock());
  EXPECT_FALSE(holder->back.lock());
  EXPECT_EQ(heap_.stats().objects, 2U) << "its block stays for the weak ones";
  weak.reset();
  copy = weak;
  EXPECT_EQ(heap_.stats().objects, 2U);
  holder.reset();
  expect_empty();
}

TEST_F(SharedPtr, WeakOnesRaceWithItsEnd) {
  for (int i = 0; i < 300; ++i) {
    shared_ptr<Counted> strong = make_shared<Counted>(heap_, 9);
    weak_ptr<Counted> weak = strong;
    std::thread other([mine = weak] {
      const shared_ptr<Counted> got = mine.lock();
      if (got) {
        EXPECT_EQ(got->value, 9);
      }
    });
    strong.reset();
    other.join();
    EXPECT_FALSE(weak.lock());
  }
  EXPECT_EQ(g_alive, 0);
  expect_empty();
}

// [unique.ptr]
TEST_F(SharedPtr, UniqueOnesMoveOnly) {
  static_assert(!std::is_copy_constructible_v<unique_ptr<Counted>>);
  unique_ptr<Counted> a = make_unique<Counted>(heap_, 3);
  unique_ptr<Counted> b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(b->value, 3);
  b.swap(a);
  EXPECT_EQ(a->value, 3);
  shared_ptr<Counted> shared = std::move(a);
  EXPECT_EQ(shared.use_count(), 1);
  shared.reset();
  EXPECT_EQ(g_alive, 0);
  expect_empty();
}

TEST_F(SharedPtr, NamesFindObjects) {
  shared_ptr<Counted> a = find_or_make<Counted>(heap_, "thing", 4);
  EXPECT_EQ(find_or_make<Counted>(heap_, "thing", 9), a);
  EXPECT_EQ(find<Counted>(heap_, "thing")->value, 4);
  EXPECT_FALSE(find<Counted>(heap_, "other"));
  EXPECT_THROW(find<Node>(heap_, "thing"), Exception);
  a.reset();
  EXPECT_EQ(g_alive, 1);
  EXPECT_TRUE(forget(heap_, "thing"));
  EXPECT_FALSE(forget(heap_, "thing"));
  EXPECT_EQ(g_alive, 0);
  expect_empty();
}

TEST_F(SharedPtr, QueuesCarryThem) {
  using Queue = queue<shared_ptr<Node>, 3>;
  shared_ptr<Queue> q = make_shared<Queue>(heap_);
  for (int i = 0; i < 10; ++i) {
    shared_ptr<Node> node = make_shared<Node>(heap_, i);
    q->push(node);
    q->push(std::move(node));
    EXPECT_FALSE(node);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(heap_.stats().objects, 2U);
    EXPECT_EQ(q->pop()->value, i);
    shared_ptr<Node> again = q->pop();
    EXPECT_EQ(again->value, i);
    EXPECT_EQ(again.use_count(), 1);
  }
  using Uniques = queue<unique_ptr<Node>, 1>;
  shared_ptr<Uniques> uniques = make_shared<Uniques>(heap_);
  uniques->push(make_unique<Node>(heap_, 1));
  unique_ptr<Node> refused = make_unique<Node>(heap_, 2);
  EXPECT_FALSE(uniques->try_push(std::move(refused)));
  EXPECT_EQ(refused->value, 2) << "a refused element is as it was";  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(uniques->pop()->value, 1);
  uniques->push(std::move(refused));
  q->push(make_shared<Node>(heap_, 3));
  q.reset();
  uniques.reset();  // with what is in them
  expect_empty();
}

TEST_F(SharedPtr, QueuesCanBePolled) {
  using Queue = queue<shared_ptr<Node>, 3>;
  shared_ptr<Queue> q = make_shared<Queue>(heap_);
  {
    pollable<Queue> events(q);
    const auto readable = [&](int timeout_ms) {
      pollfd one{events.descriptor(), POLLIN, 0};
      return ::poll(&one, 1, timeout_ms) == 1;
    };
    EXPECT_FALSE(readable(10));
    for (int round = 0; round < 3; ++round) {
      std::thread other([&] { q->push(make_shared<Node>(heap_, round)); });
      EXPECT_TRUE(readable(20'000));
      EXPECT_TRUE(readable(0)) << "until it is rearmed";
      EXPECT_EQ(q->pop()->value, round);
      other.join();
      events.rearm();
      EXPECT_FALSE(readable(10));
    }
    q->push(make_shared<Node>(heap_, 1));
    EXPECT_TRUE(readable(20'000));
    events.rearm();
    EXPECT_TRUE(readable(20'000)) << "nobody popped it";
  }
  q.reset();
  expect_empty();
}

// Containers of Boost with the heap's allocator.
template <class T>
using Vector = boost::container::vector<T, allocator<T>>;
using String = boost::container::basic_string<char, std::char_traits<char>, allocator<char>>;
struct Table {
  explicit Table(const allocator<std::byte>& memory) : nodes(memory), names(memory), both{Vector<int>(memory), {}} {}
  Vector<stored<shared_ptr<Node>>> nodes;
  boost::container::map<int, String, std::less<int>, allocator<std::pair<const int, String>>> names;
  struct {
    Vector<int> numbers;
    stored<shared_ptr<Node>> node;
  } both;
};
struct Tables {
  guarded<Table> first, second;
};
}  // namespace
template <>
struct declared_shareable<Tables> : recoverable {};
namespace {

void fill(Heap& heap, const decltype(std::declval<guarded<Table>&>().lock())& table) {
  const String name("a name that is longer than what a string keeps in itself", table.get_allocator());
  for (int i = 0; i < 100; ++i) {
    table->nodes.push_back(make_shared<Node>(heap, i));
    table->names.emplace(i, name);
  }
  table->both.numbers.resize(100'000);  // of whole spans
  table->both.node = table->nodes[7];
}

TEST_F(SharedPtr, GuardedContainersLieInTheHeap) {
  shared_ptr<Tables> tables = make_shared<Tables>(heap_);
  fill(heap_, tables->first.lock());
  Heap again = Heap::attach(heap_.descriptor()).or_throw();
  EXPECT_NE(again.base(), heap_.base());
  auto* const there =
      reinterpret_cast<Tables*>(again.base() + (reinterpret_cast<std::byte*>(tables.get()) - heap_.base()));
  {
    const auto read = there->first.read();
    EXPECT_FALSE(read.started_over());
    EXPECT_EQ(read->nodes.size(), 100U);
    EXPECT_EQ(read->nodes[42]->value, 42);
    EXPECT_EQ(read->names.at(99).size(), 56U);
    EXPECT_EQ(read->both.node->value, 7);
  }
  {
    const auto locked = tables->first.lock();
    locked->nodes.erase(locked->nodes.begin() + 10, locked->nodes.begin() + 20);
    EXPECT_EQ(heap_.stats().objects, 91U);
    EXPECT_EQ(locked->nodes[10]->value, 20);
    locked->nodes.insert(locked->nodes.begin() + 3, make_shared<Node>(heap_, 1000));
    EXPECT_EQ(locked->nodes[3]->value, 1000);
    EXPECT_EQ(locked->nodes[4]->value, 3);
  }
  tables.reset();
  expect_empty();
}

TEST_F(SharedPtr, AGuardedContainerEndsWithoutItsDestructorToo) {
  shared_ptr<Tables> tables = make_shared<Tables>(heap_);
  const std::size_t empty = heap_.stats().used_bytes;
  const auto locked = tables->first.lock();
  for (int i = 0; i < 3; ++i) {
    fill(heap_, locked);
    EXPECT_GT(heap_.stats().used_bytes, empty + 400'000);
    locked.clear();
    EXPECT_EQ(heap_.stats().used_bytes, empty);
    EXPECT_EQ(heap_.stats().objects, 1U);
    EXPECT_TRUE(locked->nodes.empty());
  }
}

struct Roomy {
  explicit Roomy(const allocator<std::byte>& memory) : numbers(room, 7, memory), ready(1) {}
  boost::container::vector<int, allocator<int>> numbers;
  int ready;
  static inline std::size_t room = 4;
};

TEST_F(SharedPtr, AConditionWaitsWithAGuardedContainer) {
  auto& mailbox = heap_.construct<guarded<boost::container::vector<int, allocator<int>>>>();
  auto& changed = heap_.construct<condition_variable>();
  std::thread sender([&] {
    mailbox.lock()->push_back(5);
    changed.notify_all();
  });
  {
    auto letters = mailbox.lock();
    changed.wait(letters, [&] { return !letters->empty(); });
    EXPECT_EQ(letters->front(), 5);
    EXPECT_FALSE(letters.started_over());
  }
  sender.join();
  heap_.destroy(mailbox);
  heap_.destroy(changed);
  expect_empty();
}

TEST_F(SharedPtr, ARefusedAssignmentOrPushLeavesBothAsTheyWere) {
  Heap other = new_heap();
  shared_ptr<Node> foreign = make_shared<Node>(other, 9);
  const shared_ptr<Node> node = make_shared<Node>(heap_, 1);
  node->next = make_shared<Node>(heap_, 2);
  EXPECT_THROW(node->next = std::move(foreign), Exception);
  ASSERT_TRUE(foreign);
  EXPECT_EQ(node->next->value, 2);
  unique_ptr<Node> single = make_unique<Node>(other, 9);
  EXPECT_THROW(node->own = std::move(single), Exception);
  EXPECT_TRUE(single);
  const auto line = make_shared<queue<shared_ptr<Node>, 2>>(heap_);
  EXPECT_THROW(line->push(std::move(foreign)), Exception);
  ASSERT_TRUE(foreign);
  EXPECT_EQ(foreign->value, 9);
  EXPECT_TRUE(line->empty());
  const shared_ptr<Node> there = make_shared<Node>(other, 3);
  there->next = foreign;
  EXPECT_THROW(node->next = std::move(there->next), Exception);
  EXPECT_EQ(there->next, foreign);
  EXPECT_EQ(node->next->value, 2);
}

TEST_F(SharedPtr, ComparesAndConvertsAsItsNamesakes) {
  unique_ptr<Node> one = make_unique<Node>(heap_, 1);
  EXPECT_TRUE(one != nullptr && nullptr != one && !(one == nullptr) && !(nullptr == one));
  EXPECT_FALSE(one == unique_ptr<Node>());
  unique_ptr<const Node> fixed = std::move(one);
  EXPECT_TRUE(one == nullptr && fixed->value == 1);
  const shared_ptr<const Node> shared = std::move(fixed);
  EXPECT_TRUE(nullptr != shared && shared->value == 1);
  const shared_ptr<Node> node = make_shared<Node>(heap_, 2);
  const weak_ptr<const Node> weak = node;
  EXPECT_EQ(weak.use_count(), 1);
  EXPECT_EQ(weak.lock(), node);
  EXPECT_TRUE(node->next == nullptr && nullptr == node->back);
  node->next = make_shared<Node>(heap_, 3);
  EXPECT_TRUE(node->next != nullptr && nullptr != node->next);
  EXPECT_NE(node < shared, shared < node);
}

TEST_F(SharedPtr, AClearThatFailsLeavesNothingHalfMade) {
  const shared_ptr<guarded<Roomy>> guard = make_shared<guarded<Roomy>>(heap_);
  {
    const auto locked = guard->lock();
    Roomy::room = 100'000'000;
    EXPECT_THROW(locked.clear(), Exception);
    Roomy::room = 4;
  }
  const auto locked = guard->lock();
  EXPECT_TRUE(locked.started_over());
  EXPECT_EQ(locked->ready, 1);
  EXPECT_EQ(locked->numbers.size(), 4U);
}

TEST_F(SharedPtr, ContainersOfTwoGuardsExchangeElements) {
  shared_ptr<Tables> tables = make_shared<Tables>(heap_);
  fill(heap_, tables->first.lock());
  Vector<int> copy(heap_);
  String text(heap_);
  {
    const auto from = tables->first.lock();
    const auto to = tables->second.lock();
    to->nodes = std::move(from->nodes);
    to->names = from->names;
    copy = from->both.numbers;
    const Vector<int> another = from->both.numbers;
    EXPECT_EQ(another.size(), 100'000U);
    from.clear();
    EXPECT_EQ(to->nodes.at(99)->value, 99);
    EXPECT_EQ(to->names.at(99).size(), 56U);
    EXPECT_EQ(another.back(), 0);
    text = to->names.at(5);
    to.clear();
  }
  EXPECT_EQ(copy.size(), 100'000U);
  EXPECT_EQ(text.size(), 56U);
  copy = Vector<int>(heap_);
  text = String(heap_);
  tables.reset();
  expect_empty();
}

TEST_F(SharedPtr, RawMemoryIsTheProcessesUntilItIsKept) {
  void *kept = nullptr, *kept_large = nullptr;
  {
    Heap other = Heap::attach(heap_.descriptor()).or_throw();
    kept = heap_.base() + (static_cast<std::byte*>(other.allocate(100).or_throw()) - other.base());
    (void)other.allocate(100).or_throw();
    kept_large = heap_.base() + (static_cast<std::byte*>(other.allocate(100'000).or_throw()) - other.base());
    (void)other.allocate(200'000).or_throw();
    other.keep(other.base() + (static_cast<std::byte*>(kept) - heap_.base()));
    other.keep(other.base() + (static_cast<std::byte*>(kept_large) - heap_.base()));
    EXPECT_EQ(heap_.stats().allocations, 4U);
  }
  EXPECT_EQ(heap_.stats().allocations, 2U);
  heap_.deallocate(kept);
  heap_.deallocate(kept_large);
  expect_empty();
}

}  // namespace
}  // namespace baton::objects
