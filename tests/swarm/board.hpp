// SPDX-License-Identifier: Apache-2.0
// What the conductor of the swarm and its processes share: a page of counters that outlives whoever is killed.
// Thread rules: every word is written by one process and read by the conductor; `error` is written by the first that finds one.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <new>

namespace baton::swarm {

enum class Phase : std::uint32_t {
  kRun,    ///< everybody publishes, takes and holds
  kDrain,  ///< survivors publish nothing and let everything go
  kEnd,    ///< survivors end
};

/// One process's. All accesses are relaxed: the words are statistics and flags of their own, and order nothing else.
struct Card {
  std::atomic<std::uint64_t> beat;  ///< increases as long as the process does not hang
  std::atomic<std::uint64_t> published, taken, verified;
  std::atomic<std::uint64_t> refused;         ///< publishes and loans that failed as documented
  std::atomic<std::uint64_t> kept_past_node;  ///< nodes that ended while samples of theirs were kept
  std::atomic<std::uint64_t> starved;         ///< times without descriptors
  std::atomic<std::uint64_t> broken;          ///< connections on which a frame that is none was sent
  std::atomic<std::uint64_t> given_up;        ///< times that a peer's diagnostics told of a disconnection
  std::atomic<std::uint32_t> ready;           ///< a survivor: 1 met all survivors and publishes, 2 drained
  std::atomic<std::uint32_t> descriptors;     ///< a survivor's, but for those of its own segments
  std::atomic<std::uint32_t> segments;        ///< of a survivor's publishers
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
    if (errors.fetch_add(1, std::memory_order_acq_rel) != 0) return;  // orders nothing: whoever counts first writes
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(error, sizeof error, format, arguments);
    va_end(arguments);
  }
};

}  // namespace baton::swarm
