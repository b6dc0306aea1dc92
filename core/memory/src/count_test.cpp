// SPDX-License-Identifier: Apache-2.0
// The steady state, counted: the last 10,000 of 20,000 loans with sizes of a fixed mix allocate nothing on the heap, fault no
// page and make no system call. An executable of its own, since the check's library replaces malloc.
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/memory/pool.hpp"
#include "baton/os/real_time_check.hpp"

using namespace baton;
using namespace baton::memory;

namespace {

constexpr int kMessages = 20'000, kMeasured = 10'000, kHeld = 8;
// A robot's traffic: commands, poses, scans, a cloud, images.
constexpr std::array<std::size_t, 8> kMix{24, 100, 300, 4'000, 60'000, 400'000, 921'600, 2'000'000};

struct Traffic {
  std::unique_ptr<Pool> pool;
  std::vector<Handle> released;  // what readers gave back and nobody collected yet
  std::array<Handle, kHeld> held{};
  std::uint32_t random = 1;
  int sent = 0;

  explicit Traffic(const PoolOptions& options) {
    pool = std::move(*Pool::create(options, {}, {}));
    released.reserve(kHeld + 1);
    pool->set_collect([this] {
      for (Handle handle : released) pool->release(handle);
      released.clear();
    });
  }

  // Every second message is of known size; the others grow by two contents, the second of them step by step.
  void send() {
    random = random * 1'664'525 + 1'013'904'223;
    const std::size_t bytes = kMix[random >> 29];
    Chunk chunk = *(sent % 2 == 0 ? pool->loan_sized(bytes + 32, 16) : pool->loan_growing(16));
    auto* text = static_cast<char*>(content_allocate(chunk.message(), 8, 4));
    text[0] = 'x';
    if (sent % 2 == 0) {
      static_cast<char*>(content_allocate(chunk.message(), bytes, 1))[bytes - 1] = 1;
    } else {
      std::size_t have = bytes / 4 + 1;
      auto* data = static_cast<char*>(content_allocate(chunk.message(), have, 1));
      while (have < bytes) {
        have = std::min(bytes, have * 2);
        if (!content_resize_in_place(chunk.message(), data, have)) std::abort();
      }
      for (std::size_t at = 0; at < have; at += 4096) data[at] = 1;
    }
    pool->publish(chunk);
    // The readers: a handle is held for a while, then waits in the release table until the pool collects.
    Handle& place = held[static_cast<std::size_t>(sent++ % kHeld)];
    if (place != 0) {
      if (released.size() == kHeld) {
        for (Handle handle : released) pool->release(handle);
        released.clear();
      }
      released.push_back(place);
    }
    place = chunk.handle;
  }
};

PoolOptions options() {
  PoolOptions options;
  options.max_message_bytes = 4 << 20;
  options.slot_count = 64;
  options.memory_limit_bytes = std::size_t{256} << 20;
  return options;
}

}  // namespace

TEST(SteadyState, AllocatesNothingFaultsNoPageAndMakesNoSystemCall) {
  // In a thread of its own: the filter of system calls cannot be taken back.
  std::thread([] {
    Traffic traffic(options());
    for (int i = 0; i < kMessages - kMeasured; ++i) traffic.send();
    const std::size_t backed = traffic.pool->account().backed_bytes;
    const RealTimeCheck check({});
    for (int i = 0; i < kMeasured; ++i) traffic.send();
    const RealTimeReport report = check.report();
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(traffic.pool->account().backed_bytes, backed);
  }).join();
}

TEST(SteadyState, TheCheckSeesTheFirstLoan) {  // the test above would otherwise pass with a check that sees nothing
  std::thread([] {
    Traffic traffic(options());
    const RealTimeCheck check({});
    traffic.send();  // makes the segment
    const RealTimeReport report = check.report();
    EXPECT_GT(report.minor_faults, 0U);
    EXPECT_GT(report.system_calls, 0U);
  }).join();
}
