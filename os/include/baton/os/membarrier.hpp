// SPDX-License-Identifier: Apache-2.0
// A fence whose cost lies with one side only: threads that pass often make light ones, which the compiler alone sees, and who comes seldom makes
// a heavy one, which every running thread of the process obeys (membarrier(2)). Thread rules: any thread.
#pragma once

#include <atomic>

namespace baton::os {

/// True if the kernel has it: else light_fence() is an ordinary seq_cst fence, too.
bool has_heavy_fence() noexcept;
/// Between a light_fence() of another thread and this, one is first, and what came before it is seen behind the other. A system call.
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
