// SPDX-License-Identifier: Apache-2.0
// An asymmetric fence (membarrier(2)). Frequent threads make light fences, which order the compiler only. A rare thread
// makes a heavy fence, which makes every running thread of the process execute a fence. Thread rules: any thread.
#pragma once

#include <atomic>

namespace baton::os {

/// True if the kernel has heavy fences. Otherwise light_fence() is an ordinary seq_cst fence, too.
bool has_heavy_fence() noexcept;
/// Orders itself and each light_fence() of another thread: memory accesses before the first fence are visible after the
/// second. A system call.
void heavy_fence() noexcept;

namespace detail {
extern const bool kHeavyFence;  // false before it is initialised, which is the safe side
}
inline void light_fence() noexcept {
  if (detail::kHeavyFence) {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with heavy_fence()
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in heavy_fence()
  }
}

}  // namespace baton::os
