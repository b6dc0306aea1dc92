// SPDX-License-Identifier: Apache-2.0
// Detects a fork without a system call: an atfork handler increments a counter in every forked child. An object
// remembers the value at its construction. In a child the counter differs, and the object does nothing there.
// Not covered: children made by a raw clone(2) that skips the C library.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace baton::os {

namespace detail {
extern std::atomic<std::uint32_t> g_fork_generation;
#ifdef BATON_IN_LIBRARY
/// The same number for code of the library, which would find the exported one through a table on another page.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint32_t> g_own_fork_generation;
#endif
}  // namespace detail

/// Relaxed: only the child's first thread writes the counter, before any other thread exists.
inline std::uint32_t fork_generation() noexcept {
#ifdef BATON_IN_LIBRARY
  return detail::g_own_fork_generation.load(std::memory_order_relaxed);
#else
  return detail::g_fork_generation.load(std::memory_order_relaxed);
#endif
}

/// The one T of this process. It is made at the first call and never destroyed, since threads may use it while static
/// objects end. A forked child begins with a new T, because a mutex in the parent's T may be locked for ever in the
/// child. Thread-safe; throws what T's constructor throws.
template <class T>
T& of_this_process() {
  struct Own {
    const std::uint32_t generation = fork_generation();
    T value;
  };
  static std::atomic<Own*> current{nullptr};
  Own* now = current.load(std::memory_order_acquire);  // pairs with the exchange below
  while (now == nullptr || now->generation != fork_generation()) {
    auto fresh = std::make_unique<Own>();
    // acq_rel: release shows the new object to the loads above; acquire on failure shows another thread's.
    if (current.compare_exchange_strong(now, fresh.get(), std::memory_order_acq_rel)) return fresh.release()->value;
  }
  return now->value;
}

}  // namespace baton::os
