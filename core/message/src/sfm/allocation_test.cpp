// SPDX-License-Identifier: Apache-2.0
// Counts heap allocations by standing in for malloc in this executable (glibc). Steady state means: the second time round.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "baton/memory/pool.hpp"
#include "baton/message/validate.hpp"
#include "baton/sfm/size.hpp"
#include "testing/messages.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BATON_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BATON_SANITIZED 1
#endif
#if defined(__GLIBC__) && !defined(BATON_SANITIZED)
#define BATON_COUNTS 1
extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
}
static std::size_t g_calls = 0;
extern "C" void* malloc(std::size_t n) noexcept {
  ++g_calls;
  return __libc_malloc(n);
}
extern "C" void* realloc(void* p, std::size_t n) noexcept {
  ++g_calls;
  return __libc_realloc(p, n);
}
extern "C" void* calloc(std::size_t n, std::size_t m) noexcept {
  ++g_calls;
  return __libc_calloc(n, m);
}
#else
static std::size_t g_calls = 0;
#endif

using namespace baton;
using namespace baton::message::testing;

namespace {

template <class F>
std::size_t calls_of(F&& f) {
  const std::size_t before = g_calls;
  f();
  return g_calls - before;
}

void fill(PointCloud& cloud, int round) {
  cloud.header.frame_id = round % 2 == 0 ? "base_link" : "a frame id that is longer than the one before";
  cloud.points.resize_for_overwrite(static_cast<std::size_t>(1000 + round % 7));
  cloud.channels.resize(3);
  for (auto& channel : cloud.channels) {
    channel.name = "intensity";
    channel.values.resize(100);
    channel.values.push_back(1.0f);
  }
}

std::unique_ptr<memory::Pool> make_pool() {
  memory::PoolOptions options;
  options.max_message_bytes = std::size_t{16} << 20;
  options.slot_count = 4;
  return memory::Pool::create(
             options, [](memory::Handle) { return false; }, [](std::uint32_t, int, std::uint64_t) {})
      .or_throw();
}

}  // namespace

TEST(Allocations, TheCounterCounts) {
#ifndef BATON_COUNTS
  GTEST_SKIP() << "a sanitizer or another libc owns malloc";
#endif
  EXPECT_GE(calls_of([] { sfm::Vector<int> v = {1, 2, 3}; }), 1u);
}

TEST(Allocations, BuildingALoanAllocatesNothingInTheSteadyState) {
  const auto pool = make_pool();
  const auto build = [&](int round) {
    const memory::Chunk chunk = pool->loan_growing(sizeof(PointCloud)).or_throw();
    auto* cloud = new (chunk.message()) PointCloud();
    fill(*cloud, round);
    pool->abandon(chunk);
  };
  for (int i = 0; i < 100; ++i) build(i);
  EXPECT_EQ(calls_of([&] {
              for (int i = 0; i < 1000; ++i) build(i);
            }),
            0u);
}

TEST(Allocations, CopyingAMessageIntoAChunkOfItsSizeAllocatesNothing) {
  const auto pool = make_pool();
  PointCloud cloud;
  fill(cloud, 1);
  const auto copy = [&] {
    const memory::Chunk chunk = pool->loan_sized(sfm::copy_size(cloud), sizeof(PointCloud)).or_throw();
    new (chunk.message()) PointCloud(cloud);
    pool->abandon(chunk);
  };
  for (int i = 0; i < 100; ++i) copy();
  EXPECT_EQ(calls_of([&] {
              for (int i = 0; i < 1000; ++i) copy();
            }),
            0u);
}

TEST(Allocations, ReusingAPrivateMessageAllocatesNothing) {
  PointCloud cloud, other;
  for (int i = 0; i < 10; ++i) {
    fill(cloud, i);
    other = cloud;
  }
  EXPECT_EQ(calls_of([&] {
              for (int i = 0; i < 1000; ++i) {
                fill(cloud, i);
                other = cloud;
              }
            }),
            0u);
}

TEST(Allocations, CheckingAMessageAllocatesNothing) {
  const auto pool = make_pool();
  const memory::Chunk chunk = pool->loan_growing(sizeof(PointCloud)).or_throw();
  auto* cloud = new (chunk.message()) PointCloud();
  fill(*cloud, 0);
  const auto size = static_cast<std::uint32_t>(sfm::copy_size(*cloud) + 4096);
  EXPECT_EQ(calls_of([&] {
              const auto result =
                  message::validate(message::type_of<PointCloud>(), static_cast<std::byte*>(chunk.message()), size);
              ASSERT_TRUE(result.ok()) << result.error().message;
            }),
            0u);
  pool->abandon(chunk);
}
