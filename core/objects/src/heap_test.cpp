// SPDX-License-Identifier: Apache-2.0
#include "baton/objects/heap.hpp"

#include <cstring>
#include <set>
#include <thread>

#include "baton/objects/mutex.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "heap_test_support.hpp"

namespace baton::objects {
namespace {

/// See std_semantics_test.cpp.
struct Redefined {
  int number = 0;
};

}  // namespace

NameAndId redefined_elsewhere() { return {detail::TypeOf<Redefined>::name(), detail::TypeOf<Redefined>::id()}; }

namespace {

TEST(Heap, GivesAlignedMemoryThatDoesNotOverlap) {
  Heap heap = new_heap();
  std::vector<std::pair<unsigned char*, std::size_t>> all;
  unsigned char mark = 0;
  for (const std::size_t bytes : {1UL, 64UL, 65UL, 500UL, 4096UL, 16256UL, 16257UL, 70000UL, 1000000UL}) {
    for (int i = 0; i < 5; ++i) {
      auto* const memory = static_cast<unsigned char*>(heap.allocate(bytes).or_throw());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
      std::memset(memory, ++mark, bytes);
      all.emplace_back(memory, bytes);
    }
  }
  mark = 0;
  for (const auto& [memory, bytes] : all) {
    ++mark;
    EXPECT_EQ(memory[0], mark);
    EXPECT_EQ(memory[bytes - 1], mark);
  }
  EXPECT_EQ(heap.stats().allocations, all.size());
  for (const auto& [memory, bytes] : all) heap.deallocate(memory);
  EXPECT_EQ(heap.stats().allocations, 0U);
  EXPECT_EQ(heap.stats().used_bytes, heap.stats().used_bytes / 65536 * 65536) << "spans of small sizes stay";
}

TEST(Heap, LargerAlignmentsAreKept) {
  Heap heap = new_heap();
  void* const memory = heap.allocate(100, 4096).or_throw();
  EXPECT_EQ((reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(heap.base())) % 4096, 0U);
}

TEST(Heap, WhenItIsFullItSaysSoAndFreedMemoryIsUsedAgain) {
  Heap heap = new_heap(std::size_t{2} << 20);
  for (const std::size_t bytes : {64UL, 3000UL, 100000UL}) {
    std::vector<void*> all;
    for (;;) {
      Result<void*> memory = heap.allocate(bytes);
      if (!memory) {
        EXPECT_EQ(memory.error().code, Errc::limit_reached);
        break;
      }
      all.push_back(*memory);
    }
    EXPECT_GT(all.size(), 0U) << bytes;
    const std::set<void*> before(all.begin(), all.end());
    if (all.empty()) break;
    for (void* memory : all) heap.deallocate(memory);
    std::set<void*> after;
    for (std::size_t i = 0; i < before.size(); ++i) after.insert(heap.allocate(bytes).or_throw());
    EXPECT_EQ(after.size(), before.size());
    for (void* memory : after) heap.deallocate(memory);
    if (bytes == 64) {
      heap = new_heap(std::size_t{2} << 20);  // small spans stay with their size
    }
    if (bytes == 3000) heap = new_heap(std::size_t{2} << 20);
  }
}

TEST(Heap, ManyThreadsAllocateAtOnce) {
  Heap heap = new_heap();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&heap, t] {
      std::vector<std::pair<int*, int>> mine;
      for (int i = 0; i < 2000; ++i) {
        const std::size_t bytes = i % 50 == 0 ? 70000 : 64 + static_cast<std::size_t>(i * 37 % 900);
        auto* const memory = static_cast<int*>(heap.allocate(bytes).or_throw());
        *memory = t * 100000 + i;
        mine.emplace_back(memory, *memory);
        if (mine.size() > 40) {
          EXPECT_EQ(*mine.front().first, mine.front().second);
          heap.deallocate(mine.front().first);
          mine.erase(mine.begin());
        }
      }
      for (const auto& [memory, value] : mine) {
        EXPECT_EQ(*memory, value);
        heap.deallocate(memory);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heap.stats().allocations, 0U);
}

TEST(Heap, ForgedDescriptorsAndWrongOptionsAreErrors) {
  EXPECT_FALSE(Heap::attach(os::UniqueFd(::open("/dev/null", O_RDWR))).ok());
  HeapOptions options;
  options.limit_bytes = 5;
  EXPECT_EQ(Heap::create(options).error().code, Errc::invalid_argument);
  options.name = "no/slash";
  EXPECT_EQ(Heap::open(options).error().code, Errc::invalid_argument);
}

TEST(Heap, ObjectsOutsideOfHeapsAreRefused) {
  try {
    mutex nowhere;
    FAIL() << "no exception";
  } catch (const Exception& e) {
    EXPECT_NE(std::string(e.what()).find("open shared heap"), std::string::npos);
  }
}

TEST(Heap, OneProcessMayHaveItOpenTwice) {
  Heap heap = new_heap();
  Heap again = Heap::attach(heap.descriptor()).or_throw();
  EXPECT_NE(heap.base(), again.base());
  EXPECT_EQ(heap.stats().processes, 2U);
  auto* const memory = static_cast<int*>(heap.allocate(4).or_throw());
  *memory = 7;
  EXPECT_EQ(*reinterpret_cast<int*>(again.base() + (reinterpret_cast<std::byte*>(memory) - heap.base())), 7);
}

TEST(Heap, AsManyProcessesAsItHasSlotsForCanOpenIt) {
  Heap heap = new_heap(std::size_t{1} << 20);
  std::vector<Heap> all;
  for (std::size_t i = 1; i < kMaxProcesses; ++i) all.push_back(Heap::attach(heap.descriptor()).or_throw());
  EXPECT_EQ(Heap::attach(heap.descriptor()).error().code, Errc::limit_reached);
  all.pop_back();
  EXPECT_TRUE(Heap::attach(heap.descriptor()).ok());
}

TEST(NamedHeap, IsFoundByItsNameAndLeavesNothing) {
  HeapDirectory directory;
  {
    Heap first = Heap::open(directory.options("a")).or_throw();
    auto* const memory = static_cast<int*>(first.allocate(4).or_throw());
    *memory = 42;
    const auto offset = reinterpret_cast<std::byte*>(memory) - first.base();
    Heap second = Heap::open(directory.options("a")).or_throw();
    EXPECT_EQ(*reinterpret_cast<int*>(second.base() + offset), 42);
    Heap other = Heap::open(directory.options("b")).or_throw();
    EXPECT_EQ(other.stats().allocations, 0U) << "another name is another heap";
    first = Heap::open(directory.options("c")).or_throw();  // the maker leaves
    Heap third = Heap::open(directory.options("a")).or_throw();
    EXPECT_EQ(*reinterpret_cast<int*>(third.base() + offset), 42);
  }
  EXPECT_TRUE(directory.names().empty());
  EXPECT_EQ(Heap::open(directory.options("a")).or_throw().stats().allocations, 0U) << "it is gone after the last";
}

TEST(NamedHeap, ManyProcessesThatOpenItAtOnceGetOneHeap) {
  HeapDirectory directory;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Heap>> heaps(8);
  for (auto& heap : heaps) {
    threads.emplace_back([&] { heap = std::make_unique<Heap>(Heap::open(directory.options("one")).or_throw()); });
  }
  for (std::thread& thread : threads) thread.join();
  (void)heaps[0]->allocate(4);
  for (auto& heap : heaps) EXPECT_EQ(heap->stats().allocations, 1U);
  EXPECT_EQ(heaps[0]->stats().processes, 8U);
}

TEST(Heap, MemoryOfOneSizeIsGivenBackForAnother) {
  Heap heap = new_heap(std::size_t{4} << 20);
  for (const std::size_t bytes : {64U, 4000U, 256U, 16000U, 64U}) {
    std::vector<void*> all;
    for (Result<void*> memory = heap.allocate(bytes); memory; memory = heap.allocate(bytes)) all.push_back(*memory);
    EXPECT_GT(all.size() * bytes, std::size_t{3} << 20) << bytes;
    for (void* memory : all) heap.deallocate(memory);
    void* const large = heap.allocate(std::size_t{3} << 20).or_throw();
    heap.deallocate(large);
  }
  EXPECT_EQ(heap.stats().used_bytes, 0U);
}

TEST(Heap, ReservedMemoryStaysReserved) {
  Heap heap = new_heap(std::size_t{4} << 20);
  heap.reserve(1000, 500).or_throw();
  std::vector<void*> all;
  for (Result<void*> memory = heap.allocate(100'000); memory; memory = heap.allocate(100'000)) all.push_back(*memory);
  const std::size_t before = all.size();
  for (int i = 0; i < 500; ++i) all.push_back(heap.allocate(1000).or_throw());
  EXPECT_EQ(all.size(), before + 500);
  for (void* memory : all) heap.deallocate(memory);
}

TEST(Heap, ThreadsThatFillItWithDifferentSizesTakeNothingFromEachOther) {
  Heap heap = new_heap(std::size_t{2} << 20);
  Heap second = Heap::attach(heap.descriptor()).or_throw();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
#ifdef __SANITIZE_THREAD__
      Heap& mine = heap;  // it cannot know that two addresses are one word
#else
      Heap& mine = t % 2 == 0 ? heap : second;
#endif
      std::vector<std::pair<unsigned char*, std::size_t>> all;
      for (int i = 0; i < 20000; ++i) {
        const std::size_t bytes = std::size_t{48} << ((i / 200 + t) % 9);
        Result<void*> memory = mine.allocate(bytes);
        if (memory) {
          auto* const at = static_cast<unsigned char*>(*memory);
          std::memset(at, t + 1, bytes);
          all.emplace_back(at, bytes);
        }
        if (!memory || all.size() > 300) {
          for (const auto& [at, size] : all) {
            for (std::size_t k = 0; k < size; k += 16) ASSERT_EQ(at[k], t + 1);
            mine.deallocate(at);
          }
          all.clear();
        }
      }
      for (const auto& [at, size] : all) mine.deallocate(at);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heap.stats().used_bytes, 0U);
}

}  // namespace
}  // namespace baton::objects
