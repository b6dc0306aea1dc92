// SPDX-License-Identifier: Apache-2.0
// The page of counters that the swarm's processes write and its conductor reads. It outlives killed processes.
// Thread rules: every word is written by one process and read by the conductor; `error` is written by the first process that finds an error.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <new>

namespace baton::swarm {

enum class Phase : std::uint32_t {
  kRun,    ///< all processes publish, take and hold
  kDrain,  ///< survivors publish nothing and release all samples
  kEnd,    ///< survivors end
};

/// The counters of one process. All accesses are relaxed: the words are statistics and flags, and order nothing else.
struct Card {
  std::atomic<std::uint64_t> beat;  ///< increases as long as the process does not hang
  std::atomic<std::uint64_t> published, taken, verified;
  std::atomic<std::uint64_t> refused;         ///< publishes and loans that failed as documented
  std::atomic<std::uint64_t> kept_past_node;  ///< nodes that ended while samples of theirs were kept
  std::atomic<std::uint64_t> starved;         ///< times without descriptors
  std::atomic<std::uint64_t> broken;          ///< connections on which an invalid frame was sent
  std::atomic<std::uint64_t> given_up;        ///< diagnostics about the disconnection of a peer
  std::atomic<std::uint32_t> ready;           ///< a survivor: 1 met all survivors and publishes, 2 drained
  std::atomic<std::uint32_t> descriptors;     ///< a survivor's descriptors, without those of its own segments
  std::atomic<std::uint32_t> segments;        ///< segments of a survivor's publishers
  std::atomic<std::uint64_t> slots;           ///< a survivor's loaned and published slots beyond its history
};

inline constexpr std::size_t kCards = 64;

struct Board {
  std::atomic<Phase> phase;
  std::atomic<std::uint32_t> errors;
  char error[512];
  Card cards[kCards];

  /// Shared with all children that are forked from here on. Never unmapped.
  static Board* make() {
    void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Board();
  }

  /// Keeps the text of the first error.
  [[gnu::format(printf, 2, 3)]] void fail(const char* format, ...) {
    // Orders nothing: the process that counts first writes.
    if (errors.fetch_add(1, std::memory_order_acq_rel) != 0) return;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(error, sizeof error, format, arguments);
    va_end(arguments);
  }
};

}  // namespace baton::swarm
