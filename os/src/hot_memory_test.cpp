// SPDX-License-Identifier: Apache-2.0
#include "baton/os/hot_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>

namespace {

using baton::os::hot_allocate;
using baton::os::hot_free;

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
  for (const std::size_t bytes : {1, 16, 17, 63, 64, 65, 100, 1000, 4095, 4096, 4097, 100'000}) {
    for (int i = 0; i < 40; ++i) {
      auto* const block = static_cast<unsigned char*>(hot_allocate(bytes));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (bytes >= 64 && bytes <= 4096 && !kPlain ? 64 : 16), 0U)
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
