// SPDX-License-Identifier: Apache-2.0
// What the lock-free parts of this room (handle_queue.hpp, release_table.hpp, wake.hpp, channel.hpp) need from the
// machine: atomics and one fence. They are templates over a Platform: the exhaustive interleaving explorer
// (tests/model) runs the shipped code on simulated weak memory, and products run it on StdPlatform. No function in this
// header makes a system call.
//
// A Platform offers
//   template <class T> using atomic = ...;   load, store, fetch_add, compare_exchange_strong with explicit std::memory_order
//   static void fence_seq_cst() noexcept;    std::atomic_thread_fence(std::memory_order_seq_cst)
//
// Memory supplied by a caller must be zero before its first use by either side (fresh memfd pages are).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace baton::memory {

/// Distance kept between words that different processes write, so that they never share a cache line.
inline constexpr std::size_t kCacheLineBytes = 64;

/// The real machine: std::atomic in shared memory and in private memory alike.
struct StdPlatform {
  template <class T>
  using atomic = std::atomic<T>;

  static void fence_seq_cst() noexcept {
// gcc 12 warns that ThreadSanitizer does not model fences (-Wtsan). Our fence only orders a store before a load
// (wake.hpp). Every happens-before edge that guards data comes from a release/acquire pair on an atomic, which
// ThreadSanitizer does model. So the fence stays. Emulating it by a read-modify-write would add edges that hide real
// races.
#if defined(__SANITIZE_THREAD__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
    std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__SANITIZE_THREAD__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }
};

// Shared memory needs atomics without hidden locks (a lock would be private to each process) and with the plain size.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(std::atomic<std::uint64_t>) == 8);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

}  // namespace baton::memory
