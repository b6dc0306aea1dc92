// SPDX-License-Identifier: Apache-2.0
// Which process am I, without a system call: a counter that an atfork handler increments in every forked child. Objects
// remember the value they were made under; in a child it differs, and they turn inert.
// Not covered: children made by a raw clone(2) that skips the C library.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace baton::os {

namespace detail {
extern std::atomic<std::uint32_t> g_fork_generation;
}

/// Relaxed: only the child's first thread ever writes it, before any other exists.
inline std::uint32_t fork_generation() noexcept { return detail::g_fork_generation.load(std::memory_order_relaxed); }

/// The one T of this process, made at the first call and never destroyed, since threads may use it while static objects end. A forked
/// child begins with a new one: a mutex in the parent's may be locked for ever there. Thread-safe; throws what T's constructor throws.
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
