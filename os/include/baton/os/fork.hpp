// SPDX-License-Identifier: Apache-2.0
// Which process am I, without a system call: a counter that an atfork handler increments in every forked child. Objects
// remember the value they were made under; in a child it differs, and they turn inert.
// Not covered: children made by a raw clone(2) that skips the C library.
#pragma once

#include <atomic>
#include <cstdint>

namespace baton::os {

namespace detail {
extern std::atomic<std::uint32_t> g_fork_generation;
}

/// Relaxed: only the child's first thread ever writes it, before any other exists.
inline std::uint32_t fork_generation() noexcept { return detail::g_fork_generation.load(std::memory_order_relaxed); }

}  // namespace baton::os
