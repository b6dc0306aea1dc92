// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/window.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/memory/pool.hpp"
#include "baton/os/process.hpp"
#include "baton/os/real_time.hpp"
#include "baton/os/shared_memory.hpp"
#include "baton/os/sparse_memory.hpp"

using namespace baton;
using namespace baton::memory;

TEST(Window, OrdinaryObjectsLieOutside) {
  ASSERT_TRUE(Window::instance().ok());
  int on_stack = 0;
  auto on_heap = std::make_unique<int>();
  EXPECT_FALSE(in_window(&on_stack));
  EXPECT_FALSE(in_window(on_heap.get()));
  EXPECT_FALSE(in_window(nullptr));
  EXPECT_EQ(Window::find(&on_stack), nullptr);
}

TEST(Window, AllocationsAreWholeGranulesThatDoNotOverlapAndAreReused) {
  Window& window = **Window::instance();
  std::byte* a = *window.allocate(1);
  std::byte* b = *window.allocate(window.granule() + 1);
  EXPECT_TRUE(in_window(a));
  EXPECT_EQ((reinterpret_cast<std::uintptr_t>(a) - g_window_range.base) % window.granule(), 0u);
  EXPECT_GE(b, a + window.granule());
  window.free(a, 1);
  EXPECT_EQ(*window.allocate(1), a);
  window.free(a, 1);
  window.free(b, window.granule() + 1);
}

TEST(Window, MoreThanItHoldsIsAClearError) {
  Window& window = **Window::instance();
  auto refused = window.allocate(window.size() + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::window_exhausted);
  EXPECT_NE(refused.error().message.find("BATON_WINDOW"), std::string::npos);
}

namespace {

// A segment of a pool, duplicated for a reader.
struct Announced {
  int fd = -1;
  std::uint64_t size = 0;
};

std::unique_ptr<Pool> pool_with_segment(Announced* announced) {
  PoolOptions options;
  options.max_message_bytes = 1 << 20;
  options.slot_count = 4;
  return *Pool::create(options, {}, [=](std::uint32_t, int fd, std::uint64_t size) {
    announced->fd = ::dup(fd);
    announced->size = size;
  });
}

}  // namespace

TEST(ForeignSegment, AReaderSeesThePublishersChunkAtAnotherAddress) {
  Announced announced;
  auto pool = pool_with_segment(&announced);
  Chunk chunk = *pool->loan_sized(64, 64);
  static_cast<std::byte*>(chunk.message())[0] = std::byte{42};
  pool->publish(chunk);
  auto segment = ForeignSegment::map(announced.fd, announced.size);
  ASSERT_TRUE(segment.ok()) << segment.error().message;
  std::uint32_t size = 0;
  auto header = (*segment)->chunk(handle_offset(chunk.handle), &size);
  ASSERT_TRUE(header.ok());
  EXPECT_NE(*header, chunk.header);
  EXPECT_EQ(size, 64u);
  EXPECT_EQ(reinterpret_cast<const std::byte*>(*header + 1)[0], std::byte{42});
  EXPECT_EQ(Window::find(*header)->own, nullptr) << "a reader's view is read-only";
}

TEST(ForeignSegment, PrivateCopiesShowThePublishersBytesAndKeepTheirOwn) {
  Announced announced;
  auto pool = pool_with_segment(&announced);
  Chunk chunk = *pool->loan_sized(64, 64);
  auto& byte = *static_cast<std::byte*>(chunk.message());
  byte = std::byte{42};
  pool->publish(chunk);
  auto segment = *ForeignSegment::map(announced.fd, announced.size);
  EXPECT_EQ(Window::find(segment->base())->foreign, segment.get());
  std::byte* copies[2] = {*segment->private_copy(0), *segment->private_copy(1)};
  EXPECT_EQ(*segment->private_copy(0), copies[0]) << "made once";
  const auto at = handle_offset(chunk.handle) + sizeof(ChunkHeader);
  for (std::byte* copy : copies) {
    EXPECT_TRUE(in_window(copy));
    EXPECT_NE(Window::find(copy), nullptr);
    EXPECT_EQ(copy[at], std::byte{42});
  }
  copies[0][at] = std::byte{1};
  byte = std::byte{43};
  EXPECT_EQ(copies[0][at], std::byte{1});
  EXPECT_EQ(copies[1][at], std::byte{43});
  EXPECT_EQ(segment->base()[at], std::byte{43});
  segment.reset();
  EXPECT_EQ(Window::find(copies[0]), nullptr);
  EXPECT_EQ(Window::find(copies[1]), nullptr);
}

TEST(ForeignSegment, WhatCannotBeMappedIsCopiedFromAndMappedOnceThereIsRoom) {
  Announced announced;
  auto pool = pool_with_segment(&announced);
  Chunk chunk = *pool->loan_sized(10000, 10000);
  std::memset(chunk.message(), 42, 10000);
  pool->publish(chunk);
  Window& window = **Window::instance();
  std::byte* const granule = *window.allocate(1);
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (std::size_t bytes = window.size(); bytes != 0; bytes /= 2) {
    for (auto base = window.allocate(bytes); base.ok(); base = window.allocate(bytes)) taken.emplace_back(*base, bytes);
  }
  auto segment = *ForeignSegment::open(::dup(announced.fd), announced.size);
  EXPECT_EQ(segment->map().error().code, Errc::window_exhausted);
  EXPECT_EQ(segment->copy_of(handle_offset(chunk.handle)).error().code, Errc::window_exhausted);
  EXPECT_FALSE(segment->mapped());
  window.free(granule, 1);
  {
    auto copy = segment->copy_of(handle_offset(chunk.handle));
    ASSERT_TRUE(copy.ok()) << copy.error().message;
    std::uint32_t size = 0;
    auto header = (*copy)->chunk(0, &size);
    ASSERT_TRUE(header.ok()) << header.error().message;
    EXPECT_EQ(size, 10000u);
    EXPECT_EQ(std::memcmp(*header, chunk.header, sizeof(ChunkHeader) + size), 0);
    EXPECT_EQ(Window::find(*header)->foreign, copy->get());
    EXPECT_EQ((*copy)->private_copy(0).error().code, Errc::unsupported);
  }
  for (std::uint64_t offset : {announced.size, announced.size - 64, ~std::uint64_t{63}})
    EXPECT_EQ(segment->copy_of(offset).error().code, Errc::protocol_violation) << offset;
  chunk.header->size_bytes = 0xffffffff;
  EXPECT_EQ(segment->copy_of(handle_offset(chunk.handle)).error().code, Errc::protocol_violation);
  chunk.header->size_bytes = static_cast<std::uint32_t>(announced.size / 2);
  const Result<std::shared_ptr<ForeignSegment>> claimed = segment->copy_of(handle_offset(chunk.handle));
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().code, Errc::protocol_violation) << "holes come before limits: " << claimed.error().message;
  chunk.header->size_bytes = 10000;
  for (const auto& [base, bytes] : taken) window.free(base, bytes);
  ASSERT_TRUE(segment->map().ok());
  EXPECT_TRUE(segment->map().ok()) << "once more changes nothing";
  std::uint32_t size = 0;
  EXPECT_TRUE(segment->chunk(handle_offset(chunk.handle), &size).ok());
  EXPECT_EQ(segment->copy_of(handle_offset(chunk.handle)).error().code, Errc::unsupported) << "it is mapped";
}

TEST(ForeignSegment, HandlesThatNameNoMessageAreRefused) {
  Announced announced;
  auto pool = pool_with_segment(&announced);
  Chunk chunk = *pool->loan_sized(64, 64);
  pool->publish(chunk);
  auto segment = *ForeignSegment::map(announced.fd, announced.size);
  std::uint32_t size = 0;
  for (std::uint64_t offset :
       {std::uint64_t{1}, handle_offset(chunk.handle) + 64, announced.size, announced.size - 64, ~std::uint64_t{63}})
    EXPECT_FALSE(segment->chunk(offset, &size).ok()) << offset;
  chunk.header->size_bytes = announced.size > (1u << 30) + 128 ? 1u << 30 : 1u << 20;  // a lie of the publisher
  EXPECT_EQ(segment->chunk(handle_offset(chunk.handle), &size).error().code, Errc::protocol_violation)
      << "inside the segment, but nobody backed it";
  chunk.header->size_bytes = 0xffffffff;
  EXPECT_FALSE(segment->chunk(handle_offset(chunk.handle), &size).ok());
}

namespace {

std::size_t allocated_bytes(int fd) {
  struct stat status {};
  ::fstat(fd, &status);
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

}  // namespace

TEST(ForeignSegment, AMessageWithAHoleIsRefusedAndTheReaderAllocatesNothing) {
  Announced announced;
  auto pool = pool_with_segment(&announced);
  Chunk chunk = *pool->loan_growing(16);
  content_allocate(chunk.message(), 100'000, 64);
  pool->publish(chunk);
  const std::size_t before = allocated_bytes(announced.fd);
  auto segment = *ForeignSegment::map(::dup(announced.fd), announced.size);
  std::uint32_t size = 0;
  EXPECT_TRUE(segment->chunk(handle_offset(chunk.handle), &size).ok());
  chunk.header->size_bytes = 900'000;  // a lie: the rest of the slot was never backed
  EXPECT_EQ(segment->chunk(handle_offset(chunk.handle), &size).error().code, Errc::protocol_violation);
  // A header that would lie in a hole, in the middle of nothing and at the segment's very end.
  for (const std::uint64_t offset :
       {announced.size - 4096, announced.size - 128, handle_offset(chunk.handle) + (512U << 10)})
    EXPECT_EQ(segment->chunk(offset, &size).error().code, Errc::protocol_violation) << offset;
  EXPECT_EQ(allocated_bytes(announced.fd), before);
  chunk.header->size_bytes = 100'000;
  EXPECT_TRUE(segment->chunk(handle_offset(chunk.handle), &size).ok()) << "what is backed can be read after all that";
  ::close(announced.fd);
}

TEST(ForeignSegment, EveryMessageOfAnHonestPublisherIsBackedWhateverItsShape) {
  Announced announced;
  auto pool = pool_with_segment(&announced);
  pool->abandon(*pool->loan_growing(16));
  auto segment = *ForeignSegment::map(announced.fd, announced.size);
  std::uint32_t random = 7;
  for (int i = 0; i < 2000; ++i) {
    random = random * 1'664'525 + 1'013'904'223;
    const std::size_t bytes = random >> 8 & ((std::size_t{1} << (random >> 28)) * 32 - 1);
    Chunk chunk = i % 3 == 0 ? *pool->loan_sized(16 + bytes, 16) : *pool->loan_growing(16);
    if (i % 3 != 0) {
      content_allocate(chunk.message(), bytes / 2 + 1, 1);  // not written: backed is enough
      content_allocate(chunk.message(), bytes / 2 + 1, 64);
    }
    pool->publish(chunk);
    std::uint32_t size = 0;
    const auto taken = segment->chunk(handle_offset(chunk.handle), &size);
    ASSERT_TRUE(taken.ok()) << i << ", " << bytes << " bytes: " << taken.error().message;
    pool->release(chunk.handle);
  }
}

TEST(ForeignSegment, AMessageThatIsKnownIsJudgedAsByChunkWhateverThePublisherSays) {
  Announced announced;
  auto pool = pool_with_segment(&announced);
  Chunk chunk = *pool->loan_growing(16);
  content_allocate(chunk.message(), 100'000, 64);
  pool->publish(chunk);
  auto segment = *ForeignSegment::map(announced.fd, announced.size);
  const std::uint64_t at = handle_offset(chunk.handle);
  std::uint32_t size = 0, known_size = 0;
  EXPECT_EQ(segment->known_chunk(at, &known_size), nullptr) << "nobody has asked the kernel";
  ASSERT_TRUE(segment->chunk(at, &size).ok());
  ASSERT_NE(segment->known_chunk(at, &known_size), nullptr);
  EXPECT_EQ(known_size, size);
  std::uint32_t known = 0, random = 7;
  const auto next = [&] { return (random = random * 1'664'525 + 1'013'904'223) >> 8; };
  const ChunkHeader honest = *chunk.header;
  for (int round = 0; round < 100'000; ++round) {
    *chunk.header = honest;
    const std::uint32_t lie = next() % 8;
    if (lie == 0) chunk.header->magic ^= 1U << next() % 32;
    if (lie == 1) chunk.header->version = static_cast<std::uint16_t>(next());
    // Up to the end of what is backed and beyond, by single bytes and by bits.
    if (lie == 2) chunk.header->size_bytes = next() % 400'000;
    if (lie == 3) chunk.header->size_bytes ^= 1U << next() % 32;
    std::uint64_t offset = at;
    if (lie == 4) offset += next() % 8192;
    if (lie == 5) offset ^= std::uint64_t{1} << next() % 48;
    if (lie == 6) offset = (std::uint64_t{next()} << 24 | next()) & ((std::uint64_t{1} << 48) - 1);
    const ChunkHeader* const found = segment->known_chunk(offset, &known_size);
    if (found == nullptr) continue;
    ++known;
    const auto checked = segment->chunk(offset, &size);
    ASSERT_TRUE(checked.ok()) << offset << ": " << checked.error().message;
    ASSERT_EQ(found, *checked);
    ASSERT_EQ(known_size, size);
  }
  EXPECT_GT(known, 10'000U);
  *chunk.header = honest;
}

TEST(ForeignSegment, InAProcessWithLockedMemoryWhatWasBackedIsKnownAtOnce) {
  // A child, since locked memory stays locked.
  const pid_t child = ::fork();
  if (child == 0) {
    if (!os::lock_memory().ok()) ::_exit(3);
    Announced announced;
    auto pool = pool_with_segment(&announced);
    const Chunk chunk = *pool->loan_sized(10'000, 64);
    pool->publish(chunk);
    auto segment = *ForeignSegment::map(announced.fd, announced.size);
    std::uint32_t size = 0;
    ::_exit(segment->known_chunk(handle_offset(chunk.handle), &size) != nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "this process may not lock its memory (RLIMIT_MEMLOCK)";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ForeignSegment, OnePeersSegmentsTakeItsShareOfTheWindowOnly) {
  Window& window = **Window::instance();
  const auto memfd = [](std::size_t bytes) {
    const int fd = ::memfd_create("sparse", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) ::abort();
    if (::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | 0x10) != 0) ::abort();  // F_SEAL_FUTURE_WRITE
    return fd;
  };
  const auto take = [&](const std::shared_ptr<WindowShare>& share, std::vector<std::shared_ptr<ForeignSegment>>* kept) {
    const std::size_t bytes = window.size() / 128;
    for (int i = 0; i < 200; ++i) {
      auto segment = *ForeignSegment::open(memfd(bytes), bytes, share);
      const Result<void> mapped = segment->map();
      if (!mapped.ok()) {
        EXPECT_EQ(mapped.error().code, Errc::window_exhausted);
        EXPECT_NE(mapped.error().message.find("BATON_WINDOW"), std::string::npos);
        return;
      }
      kept->push_back(std::move(segment));
    }
    ADD_FAILURE() << "no end";
  };
  std::vector<std::shared_ptr<ForeignSegment>> greedy[8];
  for (auto& kept : greedy) {
    const auto share = std::make_shared<WindowShare>();
    take(share, &kept);
    EXPECT_LE(share->used_bytes(), window.size() / 8);
    if (&kept == &greedy[0]) {
      EXPECT_GE(share->used_bytes(), window.size() / 16);
    }
  }
  // What is left is this process's, and the next peer's.
  std::byte* own = window.allocate(window.size() / 4).or_throw();
  window.free(own, window.size() / 4);
  Announced announced;
  auto pool = pool_with_segment(&announced);
  Chunk chunk = *pool->loan_sized(64, 64);
  pool->publish(chunk);
  EXPECT_TRUE(ForeignSegment::map(announced.fd, announced.size, std::make_shared<WindowShare>()).ok());
  const auto again = std::make_shared<WindowShare>();
  for (auto& kept : greedy) kept.clear();
  take(again, &greedy[0]);
  EXPECT_GE(again->used_bytes(), window.size() / 16) << "everything is given back";
  greedy[0].clear();
  EXPECT_EQ(again->used_bytes(), 0U);
}

TEST(WindowShare, ManySmallSegmentsTakeAShareOfTheMemoryAreas) {
  const std::size_t all = os::most_memory_areas() / WindowShare::kAreasEach;  // mappings
  WindowShare shares[8];
  std::size_t taken[8] = {}, sum = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    Result<void> last = shares[i].take(4096);
    for (; last.ok() && taken[i] < all; last = shares[i].take(4096)) ++taken[i];
    ASSERT_FALSE(last.ok()) << "no end";
    sum += taken[i];
    if (i > 0) continue;
    if (last.error().code == Errc::window_exhausted) GTEST_SKIP() << "a window of few granules";
    EXPECT_EQ(last.error().code, Errc::out_of_memory);
    EXPECT_NE(last.error().message.find("vm.max_map_count"), std::string::npos) << last.error().message;
    EXPECT_GE(taken[i], all / 16);
    EXPECT_LE(taken[i], all / 8);
    EXPECT_TRUE(shares[i].take_copy(4096).ok()) << "an eighth is for copies";
    shares[i].give_back_copy(4096);
  }
  EXPECT_LE(sum, all / 2) << "the rest is this process's";
  EXPECT_GT(taken[7], 0U);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t n = 0; n < taken[i]; ++n) shares[i].give_back(4096);
    EXPECT_EQ(shares[i].used_bytes(), 0U);
  }
  EXPECT_TRUE(shares[0].take(4096).ok());
  shares[0].give_back(4096);
}

TEST(ForeignSegment, CopiesCountInTheShareAndAreGivenBack) {
  Announced announced;
  auto pool = pool_with_segment(&announced);
  Chunk chunk = *pool->loan_growing(64);
  content_allocate(chunk.message(), 900'000, 1);
  pool->publish(chunk);
  const auto share = std::make_shared<WindowShare>();
  auto segment = *ForeignSegment::open(announced.fd, announced.size, share);
  std::vector<std::shared_ptr<ForeignSegment>> copies;
  for (int i = 0; i < 2000; ++i) {
    auto copy = segment->copy_of(handle_offset(chunk.handle));
    if (!copy.ok()) {
      EXPECT_TRUE(copy.error().code == Errc::limit_reached || copy.error().code == Errc::window_exhausted)
          << copy.error().message;
      break;
    }
    copies.push_back(std::move(*copy));
  }
  EXPECT_GT(copies.size(), 4U);
  EXPECT_LT(copies.size(), 300U);
  EXPECT_GT(share->used_bytes(), 0U);
  copies.clear();
  EXPECT_EQ(share->used_bytes(), 0U);
  EXPECT_TRUE(segment->copy_of(handle_offset(chunk.handle)).ok());
}

TEST(ForeignSegment, UnsealedAndWronglyAnnouncedSegmentsAreRefused) {
  auto plain = os::create_segment("unsealed", 1 << 20, os::Writers::kBothEnds);
  ASSERT_TRUE(plain.ok());
  auto writable = ForeignSegment::map(::dup(plain->fd.get()), 1 << 20);
  ASSERT_FALSE(writable.ok());
  EXPECT_EQ(writable.error().code, Errc::protocol_violation);
  Announced announced;
  auto pool = pool_with_segment(&announced);
  pool->abandon(*pool->loan_growing(16));
  EXPECT_EQ(ForeignSegment::map(::dup(announced.fd), announced.size + 4096).error().code, Errc::protocol_violation);
  EXPECT_EQ(ForeignSegment::map(::dup(announced.fd), 0).error().code, Errc::protocol_violation);
  EXPECT_EQ(ForeignSegment::map(::dup(announced.fd), std::uint64_t{1} << 62).error().code, Errc::protocol_violation);
  EXPECT_EQ(ForeignSegment::map(0, 1 << 20).ok(), false);  // no memfd at all
  ::close(announced.fd);
}
