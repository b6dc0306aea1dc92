// SPDX-License-Identifier: Apache-2.0
// Property 3, by counting and never by time: after a warm-up, loan, publish, take and release make no heap allocation, no page
// fault and, while the peer is awake, no system call. Sizes come from a fixed mix.
//
// System calls are counted by a seccomp filter that answers every call with SIGSYS: the handler counts and lets the test fail.
// The filter is installed last, in a process that then only exchanges messages through shared memory and ends by _exit.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "baton/memory/arena.hpp"
#include "endpoint_test_support.hpp"

namespace {
// Per thread, as the faults and system calls below: the background thread may still be reporting what the warm-up took.
thread_local std::uint64_t t_allocations = 0;
}

void* operator new(std::size_t size) {
  ++t_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace baton::transport::test {
namespace {

constexpr std::uint64_t kMessages = 20000;
constexpr std::uint64_t kWarm = 10000;
// Bytes of content behind the 8-byte skeleton: an IMU sample, a scan, a small and a large image.
constexpr std::size_t kMix[] = {64, 300, 4 << 10, 64, 40 << 10, 1000, 300 << 10, 64, 900 << 10, 16};

std::uint64_t page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

struct Counts {
  std::atomic<std::uint32_t> ready{0};
  std::atomic<std::uint64_t> published{0}, taken{0};
  std::atomic<bool> reader_done{false};
  std::atomic<std::uint64_t> allocations[2]{}, faults[2]{}, calls[2]{};
};

Counts* g_counts = nullptr;
int g_side = 0;

void on_call(int, siginfo_t* info, void*) {
  g_counts->calls[g_side].fetch_add(1);
  if (info->si_syscall != SYS_getppid && g_counts->calls[g_side] < 4) {
    // async-signal-safe enough for a test: write(2) is what the filter lets through to stderr.
    char text[64];
    const int length = std::snprintf(text, sizeof text, "side %d: system call %d\n", g_side, info->si_syscall);
    static_cast<void>(!::write(2, text, static_cast<std::size_t>(length)));
  }
}

/// From now on every system call of this thread but write to stderr, exit_group and the signal return is counted and refused.
void count_system_calls(int side) {
  g_side = side;
  struct sigaction action {};
  action.sa_sigaction = on_call;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSYS, &action, nullptr);
  const std::uint32_t syscall_offset = offsetof(seccomp_data, nr);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, syscall_offset),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  BATON_CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  BATON_CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Awake on both sides: the writer publishes when the reader has taken, both look without sleeping.
void writer_side(Writer& writer, Counts& counts) {
  std::uint64_t allocations = 0, faults = 0;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    if (i == kWarm) {
      count_system_calls(0);
      faults = page_faults();
      allocations = t_allocations;
    }
    Result<memory::Chunk> chunk = writer.loan_growing();
    BATON_CHECK(chunk.ok());
    const std::size_t bytes = kMix[i % (sizeof kMix / sizeof kMix[0])];
    auto* content = static_cast<char*>(memory::content_allocate(chunk->message(), bytes, 8));
    std::memcpy(chunk->message(), &i, 8);
    for (std::size_t at = 0; at < bytes; at += 512) content[at] = static_cast<char>(i);
    BATON_CHECK(writer.publish(*chunk).ok());
    counts.published.store(i + 1, std::memory_order_release);
    while (counts.taken.load(std::memory_order_acquire) + 4 < i) pause_cpu();
  }
  counts.allocations[0] = t_allocations - allocations;
  counts.faults[0] = page_faults() - faults;
  ::syscall(SYS_getppid);  // proves that the filter counts
}

void reader_side(Reader& reader, Counts& counts) {
  std::uint64_t allocations = 0, faults = 0;
  TakenSample kept[2];
  for (std::uint64_t i = 0; i < kMessages;) {
    if (i == kWarm && faults == 0) {
      count_system_calls(1);
      faults = page_faults();
      allocations = t_allocations;
    }
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
  counts.allocations[1] = t_allocations - allocations;
  counts.faults[1] = page_faults() - faults;
  ::syscall(SYS_getppid);
  counts.reader_done.store(true, std::memory_order_release);
}

TEST(SteadyState, NeitherAllocatesNorFaultsNorCallsTheKernelWhileThePeerIsAwake) {
  TestDomain domain;
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  g_counts = new (memory) Counts;
  Counts& counts = *g_counts;
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
  for (int side = 0; side < 2; ++side) {
    EXPECT_EQ(counts.allocations[side], 0U) << (side == 0 ? "writer" : "reader");
    EXPECT_EQ(counts.faults[side], 0U) << (side == 0 ? "writer" : "reader");
    EXPECT_EQ(counts.calls[side], 1U) << "the one that proves the filter, and no other: " << (side == 0 ? "writer" : "reader");
  }
  ::munmap(memory, 4096);
}

}  // namespace
}  // namespace baton::transport::test
