// SPDX-License-Identifier: Apache-2.0
#include "baton/os/membarrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace baton::os {
namespace {

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0U, 0); }

}  // namespace

// Registered once; forked children inherit the registration.
const bool detail::kHeavyFence = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;

bool has_heavy_fence() noexcept { return detail::kHeavyFence; }

void heavy_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with light_fence(), where the kernel has no heavy one
  if (detail::kHeavyFence && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
    // A forked child without the parent's registration. Since registration is inherited, this is not expected.
    (void)membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    (void)membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  }
}

}  // namespace baton::os
