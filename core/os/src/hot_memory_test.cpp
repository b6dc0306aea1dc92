// SPDX-License-Identifier: Apache-2.0
#include "baton/os/hot_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace {

using baton::os::hot_allocate;
using baton::os::hot_free;
using baton::os::HotRoom;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPlain = true;  // blocks come from operator new
#else
constexpr bool kPlain = false;
#endif

std::uintptr_t page_of(const void* block) { return reinterpret_cast<std::uintptr_t>(block) / 4096; }

TEST(HotMemory, BlocksThatAreMadeTogetherLieOnFewPages) {
  if (kPlain) GTEST_SKIP() << "with AddressSanitizer every block comes from operator new";
  std::set<std::uintptr_t> pages;
  std::vector<void*> blocks;
  std::vector<void*> between;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(hot_allocate(100));
    between.push_back(::operator new(10'000));  // what scatters malloc's
    pages.insert(page_of(blocks.back()));
  }
  EXPECT_LE(pages.size(), 2U);  // 20 * 128 bytes
  for (void* block : blocks) hot_free(block, 100);
  for (void* block : between) ::operator delete(block);
}

TEST(HotMemory, ABlockIsAlignedAndItsOwn) {
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (const std::size_t bytes : {1, 16, 17, 63, 64, 65, 100, 1000, 4031, 4032, 4033, 100'000}) {
    for (int i = 0; i < 40; ++i) {
      auto* const block = static_cast<unsigned char*>(hot_allocate(bytes));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (bytes >= 64 && bytes <= 4032 && !kPlain ? 64 : 16), 0U)
          << bytes;
      std::memset(block, static_cast<int>(blocks.size() % 251), bytes);
      blocks.emplace_back(block, bytes);
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t at = 0; at < blocks[i].second; ++at) ASSERT_EQ(blocks[i].first[at], i % 251);
    hot_free(blocks[i].first, blocks[i].second);
  }
}

TEST(HotMemory, AFreedBlockIsUsedAgain) {
  if (kPlain) GTEST_SKIP() << "with AddressSanitizer every block comes from operator new";
  void* const first = hot_allocate(700);
  hot_free(first, 700);
  void* const second = hot_allocate(690);  // of the same size in lines
  EXPECT_EQ(first, second);
  hot_free(second, 690);
}

/// As an endpoint does: some objects at first, others when its connections come.
struct Endpoint {
  Endpoint() {
    const HotRoom room;
    for (void*& block : blocks) block = hot_allocate(400);
  }
  ~Endpoint() {
    for (void* const block : blocks) hot_free(block, 400);
    for (void* const block : connections) hot_free(block, 300);
  }
  void connect() {
    const HotRoom room(static_cast<const int*>(blocks[0]));
    connections.push_back(hot_allocate(300));
  }
  std::array<void*, 3> blocks{};
  std::vector<void*> connections;
};

TEST(HotMemory, WhatAnEndpointMakesLaterLiesOnItsPageWhateverOthersMakeMeanwhile) {
  if (kPlain) GTEST_SKIP() << "with AddressSanitizer every block comes from operator new";
  std::vector<Endpoint> endpoints(100);
  std::thread connecting([&] {
    for (int i = 0; i < 5; ++i) {
      for (Endpoint& endpoint : endpoints) endpoint.connect();
    }
  });
  connecting.join();
  std::set<std::uintptr_t> pages;
  for (const Endpoint& endpoint : endpoints) {
    pages.insert(page_of(endpoint.blocks[0]));
    for (const void* const block : endpoint.blocks) EXPECT_EQ(page_of(block), page_of(endpoint.blocks[0]));
    for (const void* const block : endpoint.connections) EXPECT_EQ(page_of(block), page_of(endpoint.blocks[0]));
  }
  EXPECT_EQ(pages.size(), endpoints.size());
}

TEST(HotMemory, ARoomThatIsFullLeavesTheRestToSharedPages) {
  Endpoint endpoint;
  for (int i = 0; i < 100; ++i) endpoint.connect();
  std::set<void*> different(endpoint.connections.begin(), endpoint.connections.end());
  EXPECT_EQ(different.size(), 100U);
  if (kPlain) return;
  std::set<std::uintptr_t> pages;
  for (const void* const block : endpoint.connections) pages.insert(page_of(block));
  EXPECT_LE(pages.size(), 12U);  // 100 * 320 bytes
}

TEST(HotMemory, EndpointsThatComeAndGoDoNotTakeMorePages) {
  if (kPlain) GTEST_SKIP() << "with AddressSanitizer every block comes from operator new";
  std::set<std::uintptr_t> pages;
  for (int i = 0; i < 10'000; ++i) {
    Endpoint one, other;
    for (int k = 0; k < i % 20; ++k) one.connect();
    other.connect();
    for (const Endpoint* const endpoint : {&one, &other}) {
      for (const void* const block : endpoint->blocks) pages.insert(page_of(block));
      for (const void* const block : endpoint->connections) pages.insert(page_of(block));
    }
  }
  EXPECT_LE(pages.size(), 6U);
}

TEST(HotMemory, ARoomServesNobodyElseWhileABlockOfItLives) {
  if (kPlain) GTEST_SKIP() << "with AddressSanitizer every block comes from operator new";
  void* sample = nullptr;
  {
    const HotRoom room;
    sample = hot_allocate(100);
    hot_free(hot_allocate(400), 400);
  }
  const std::uintptr_t page = page_of(sample);
  std::vector<Endpoint> others(30);
  for (const Endpoint& other : others) EXPECT_NE(page_of(other.blocks[0]), page);
  hot_free(sample, 100);
  const Endpoint next;
  EXPECT_EQ(page_of(next.blocks[0]), page);
}

TEST(HotMemory, ARoomWhoseOnlyBlockIsFreedWhileItIsOpenStaysItsOwn) {
  if (kPlain) GTEST_SKIP() << "with AddressSanitizer every block comes from operator new";
  const HotRoom room;
  void* const first = hot_allocate(100);
  hot_free(first, 100);
  std::thread([&] {
    const Endpoint other;
    EXPECT_NE(page_of(other.blocks[0]), page_of(first));
  }).join();
}

TEST(HotMemory, ARoomInsideARoomIsTheSame) {
  if (kPlain) GTEST_SKIP() << "with AddressSanitizer every block comes from operator new";
  const HotRoom node;
  void* const outer = hot_allocate(100);
  const Endpoint endpoint;
  EXPECT_EQ(page_of(endpoint.blocks[0]), page_of(outer));
  hot_free(outer, 100);
}

TEST(HotMemory, WhatAThreadMakesAfterAnEndpointLiesBesideIt) {
  if (kPlain) GTEST_SKIP() << "with AddressSanitizer every block comes from operator new";
  {
    const Endpoint endpoint;
    void* const wait_set = hot_allocate(500);
    EXPECT_EQ(page_of(wait_set), page_of(endpoint.blocks[0]));
    hot_free(wait_set, 500);
  }
  void* const later = hot_allocate(500);  // the room has ended: this page is no endpoint's
  const Endpoint next;
  EXPECT_NE(page_of(later), page_of(next.blocks[0]));
  hot_free(later, 500);
}

struct Small : baton::os::Hot {
  explicit Small(int given) : value(given) {}
  ~Small() { ++g_destroyed; }
  int value;
  static int g_destroyed;
};
int Small::g_destroyed = 0;

TEST(HotMemory, ObjectsArraysAndContainersComeFromIt) {
  {
    auto object = std::make_unique<Small>(7);
    auto shared = baton::os::make_hot_shared<Small>(8);
    baton::os::HotVector<int> numbers;
    for (int i = 0; i < 5000; ++i) numbers.push_back(i);  // grows beyond a page
    EXPECT_EQ(object->value + shared->value, 15);
    EXPECT_EQ(numbers[4999], 4999);
    alignas(Small) std::byte place[sizeof(Small)];
    (new (place) Small(1))->~Small();
  }
  EXPECT_EQ(Small::g_destroyed, 3);
}

TEST(HotMemory, AForkedChildCanAllocateWhileThreadsOfItsParentDo) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) hot_free(hot_allocate(64), 64);
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // ended by SIGALRM if it hangs
      void* const block = hot_allocate(64);
      hot_free(block, 64);
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

}  // namespace
