// SPDX-License-Identifier: Apache-2.0
// Property 3, by counting and never by time: after a warm-up, loan, publish, take and release make no heap allocation, no page
// fault and, while the peer is awake, no system call. Sizes come from a fixed mix.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <optional>

#include "baton/memory/arena.hpp"
#include "baton/os/real_time_check.hpp"
#include "endpoint_test_support.hpp"

namespace baton::transport::test {
namespace {

constexpr std::uint64_t kMessages = 20000;
constexpr std::uint64_t kWarm = 10000;
// Bytes of content behind the 8-byte skeleton: an IMU sample, a scan, a small and a large image.
constexpr std::size_t kMix[] = {64, 300, 4 << 10, 64, 40 << 10, 1000, 300 << 10, 64, 900 << 10, 16};
constexpr std::size_t kLargest = 900 << 10;

struct Counts {
  std::atomic<std::uint32_t> ready{0};
  std::atomic<std::uint64_t> published{0}, taken{0};
  std::atomic<bool> reader_done{false};
  RealTimeReport reports[2];  // of the writer and of the reader; written before they end
};

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Awake on both sides: the writer publishes when the reader has taken, both look without sleeping.
void writer_side(Writer& writer, Counts& counts) {
  std::optional<RealTimeCheck> check;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    if (i == kWarm) check.emplace(std::initializer_list<long>{});
    Result<memory::Chunk> chunk = writer.loan_growing();
    BATON_CHECK(chunk.ok());
    // While the reader lags, every slot that will ever be needed is used: for the largest message, so that none grows later.
    const std::size_t bytes = i < kWarm / 2 ? kLargest : kMix[i % (sizeof kMix / sizeof kMix[0])];
    auto* content = static_cast<char*>(memory::content_allocate(chunk->message(), bytes, 8));
    std::memcpy(chunk->message(), &i, 8);
    for (std::size_t at = 0; at < bytes; at += 512) content[at] = static_cast<char>(i);
    BATON_CHECK(writer.publish(*chunk).ok());
    counts.published.store(i + 1, std::memory_order_release);
    while (counts.taken.load(std::memory_order_acquire) + 4 < i) pause_cpu();
  }
  counts.reports[0] = check->report();
}

void reader_side(Reader& reader, Counts& counts) {
  std::optional<RealTimeCheck> check;
  TakenSample kept[2];
  for (std::uint64_t i = 0; i < kMessages;) {
    if (i == kWarm && !check) check.emplace(std::initializer_list<long>{});
    // Now and then the reader lets the writer run as far ahead as it may, so that the warm-up has seen the worst.
    if (i < kWarm / 2 && i % 7 == 0)
      while (counts.published.load(std::memory_order_acquire) < i + 5) pause_cpu();
    Result<TakenSample> sample = reader.take();
    BATON_CHECK(sample.ok());
    if (!*sample) {
      pause_cpu();
      continue;
    }
    BATON_CHECK(value_of(*sample) == i);
    const auto* bytes = static_cast<const volatile char*>(sample->message());
    for (std::size_t at = 0; at < sample->size_bytes(); at += 512) static_cast<void>(bytes[at]);
    kept[i % 2] = std::move(*sample);  // releases the one before the last
    ++i;
    counts.taken.store(i, std::memory_order_release);
  }
  for (TakenSample& sample : kept) sample.release();
  counts.reports[1] = check->report();
  counts.reader_done.store(true, std::memory_order_release);
}

TEST(SteadyState, NeitherAllocatesNorFaultsNorCallsTheKernelWhileThePeerIsAwake) {
  TestDomain domain;
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Counts& counts = *new (memory) Counts;
  memory::PoolOptions pool;
  pool.max_message_bytes = std::size_t{1} << 20;
  Child publisher([&](Child&) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t", QoS(16), number_type(), pool);
    BATON_CHECK(matched(*writer, 1));
    while (counts.ready.load(std::memory_order_acquire) == 0) pause_cpu();
    writer_side(*writer, counts);
    // Ending earlier would make the reader unmap what it holds.
    while (!counts.reader_done.load(std::memory_order_acquire)) pause_cpu();
    ::_exit(0);
  });
  Child subscriber([&](Child&) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(16));
    BATON_CHECK(matched(*reader, 1));
    counts.ready.store(1, std::memory_order_release);
    reader_side(*reader, counts);
    ::_exit(0);
  });
  EXPECT_EQ(publisher.wait(), 0);
  EXPECT_EQ(subscriber.wait(), 0);
  EXPECT_EQ(counts.published, kMessages);
  EXPECT_EQ(counts.taken, kMessages);
  EXPECT_TRUE(counts.reports[0].clean()) << "writer: " << counts.reports[0].text();
  EXPECT_TRUE(counts.reports[1].clean()) << "reader: " << counts.reports[1].text();
  ::munmap(memory, 4096);
}

}  // namespace
}  // namespace baton::transport::test
