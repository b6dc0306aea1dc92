// SPDX-License-Identifier: Apache-2.0
#include "baton/os/hot_memory.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace baton::os {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{64} << 10;
constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kUnit = 16, kLine = 64;
constexpr std::align_val_t kPage{4096};

struct Free {
  Free* next;
};

struct Slabs {
  std::mutex mutex;
  std::array<Free*, kMostBytes / kUnit + 1> free{};  // by size in units
  std::byte* newest = nullptr;                       // each slab begins with the address of the one before
  std::byte* next = nullptr;                         // the rest of the newest slab
  std::size_t left = 0;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPlain = true;
#else
constexpr bool kPlain = false;
#endif
std::atomic<bool> g_plain{kPlain};  // set before the first block: relaxed

/// Never destroyed: objects with static lifetime free their blocks late.
Slabs& slabs() {
  static Slabs* const made = [] {
    // A child of fork(2) must not inherit a lock that another thread holds.
    ::pthread_atfork([] { slabs().mutex.lock(); }, [] { slabs().mutex.unlock(); }, [] { slabs().mutex.unlock(); });
    return new Slabs;
  }();
  return *made;
}

// Made when the library is loaded: a child forked while another thread makes it would wait for that thread for ever. And before the handlers of
// fork(2) whose locks are held while blocks are freed.
[[maybe_unused]] const Slabs& g_made_early = slabs();

std::size_t rounded(std::size_t bytes) noexcept {
  const std::size_t unit = bytes >= kLine ? kLine : kUnit;
  return bytes == 0 ? kUnit : (bytes + unit - 1) / unit * unit;
}

bool is_plain(std::size_t bytes) noexcept { return bytes > kMostBytes || g_plain.load(std::memory_order_relaxed); }

void put(Slabs& all, void* block, std::size_t bytes) noexcept {
  auto* const freed = static_cast<Free*>(block);
  freed->next = all.free[bytes / kUnit];
  all.free[bytes / kUnit] = freed;
}

}  // namespace

void keep_hot_memory_plain() noexcept { g_plain.store(true, std::memory_order_relaxed); }

void* hot_allocate(std::size_t bytes) {
  if (is_plain(bytes)) return ::operator new(bytes);
  bytes = rounded(bytes);
  Slabs& all = slabs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (Free* const found = all.free[bytes / kUnit]) {
    all.free[bytes / kUnit] = found->next;
    return found;
  }
  const auto padding = [&] {
    const std::size_t over = reinterpret_cast<std::uintptr_t>(all.next) % kLine;
    return bytes >= kLine && over != 0 ? kLine - over : 0;
  };
  if (padding() + bytes > all.left) {
    // Of operator new, and in a list: a leak detector of the program (LSan) finds what only these objects point to.
    void* const slab = ::operator new(kSlabBytes, kPage);
    new (slab) std::byte*(all.newest);
    all.newest = static_cast<std::byte*>(slab);
    all.next = all.newest + kLine;
    all.left = kSlabBytes - kLine;
  }
  if (const std::size_t gap = padding(); gap != 0) {
    put(all, all.next, gap);
    all.next += gap;
    all.left -= gap;
  }
  std::byte* const block = all.next;
  all.next += bytes;
  all.left -= bytes;
  return block;
}

void hot_free(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  if (is_plain(bytes)) return ::operator delete(block);
  Slabs& all = slabs();
  const std::lock_guard<std::mutex> lock(all.mutex);
  put(all, block, rounded(bytes));
}

}  // namespace baton::os
