// SPDX-License-Identifier: Apache-2.0
// The cost of memory for a publisher: loan, publish and release in the steady state, the growth of a content, and for
// comparison a page that was never touched. One line per case: median and 99th percentile over batches, nanoseconds per
// operation.
//   build with -DBATON_PERF=ON, then: bin/pool_bench
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/memory/pool.hpp"

using namespace baton;
using namespace baton::memory;

namespace {

constexpr int kBatches = 400, kWarmup = 40;

template <class Operation>
void measure(const char* name, int per_batch, Operation&& operation) {
  std::vector<double> nanoseconds;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < per_batch; ++i) operation();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    if (batch >= kWarmup) nanoseconds.push_back(took.count() / per_batch);
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  std::printf("%-58s median %10.1f ns   p99 %10.1f ns\n", name, nanoseconds[nanoseconds.size() / 2],
              nanoseconds[nanoseconds.size() * 99 / 100]);
}

std::unique_ptr<Pool> make_pool() {
  PoolOptions options;
  options.max_message_bytes = std::size_t{32} << 20;
  return std::move(Pool::create(options, {}, {})).or_throw();
}

void finish(Pool& pool, const Chunk& chunk) {
  pool.publish(chunk);
  pool.release(chunk.handle);
}

}  // namespace

int main() {
  {
    auto pool = make_pool();
    measure("loan_sized(64 B) + publish + release", 1000, [&] { finish(*pool, *pool->loan_sized(64, 64)); });
  }
  {
    auto pool = make_pool();
    measure("loan_sized(6 MB) + publish + release", 1000, [&] { finish(*pool, *pool->loan_sized(6'000'000, 64)); });
  }
  for (std::size_t bytes : {std::size_t{64}, std::size_t{6'000'000}}) {
    auto pool = make_pool();
    char name[80];
    std::snprintf(name, sizeof name, "loan_growing + content of %zu B + publish + release", bytes);
    measure(name, 1000, [&] {
      const Chunk chunk = *pool->loan_growing(64);
      content_allocate(chunk.message(), bytes, 64);
      finish(*pool, chunk);
    });
  }
  {
    auto pool = make_pool();
    measure("the same with 1000 contents of 24 B, per content", 10, [&] {
      const Chunk chunk = *pool->loan_growing(64);
      for (int i = 0; i < 1000; ++i) content_allocate(chunk.message(), 24, 8);
      finish(*pool, chunk);
    });
    std::printf("%-58s (divide the line above by 1000)\n", "");
  }
  {
    auto pool = make_pool();
    const Chunk chunk = *pool->loan_growing(64);
    void* content = content_allocate(chunk.message(), 1000, 1);
    std::size_t bytes = 1000;
    measure("content_resize_in_place of the last content, warm", 1000, [&] {
      bytes = bytes == 1000 ? 2000 : 1000;
      content_resize_in_place(chunk.message(), content, bytes);
    });
  }
  {
    // For comparison: the first 6 MB of a fresh publisher, all costs included.
    std::vector<double> microseconds;
    for (int i = 0; i < 20; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      auto pool = make_pool();
      const Chunk chunk = *pool->loan_growing(64);
      content_allocate(chunk.message(), 6'000'000, 64);
      finish(*pool, chunk);
      microseconds.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(microseconds.begin(), microseconds.end());
    std::printf("%-58s median %10.1f us\n", "a new publisher's first message of 6 MB (cold pages)", microseconds[10]);
  }
}
