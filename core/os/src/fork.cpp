// SPDX-License-Identifier: Apache-2.0
#include "baton/os/fork.hpp"
#include "baton/os/hot_path.hpp"

#include <pthread.h>

#include "baton/os/hot_memory.hpp"

namespace baton::os::detail {

std::atomic<std::uint32_t> g_fork_generation{0};
#ifdef BATON_IN_LIBRARY
BATON_HOT_BSS std::atomic<std::uint32_t> g_own_fork_generation{0};
#endif

namespace {
void in_child() {
  g_fork_generation.fetch_add(1, std::memory_order_relaxed);
#ifdef BATON_IN_LIBRARY
  g_own_fork_generation.fetch_add(1, std::memory_order_relaxed);
#endif
}
[[maybe_unused]] const int g_registered = ::pthread_atfork(nullptr, nullptr, in_child);
}  // namespace

}  // namespace baton::os::detail
