// SPDX-License-Identifier: Apache-2.0
// Where the window lies, and the one compare that tells its addresses from others (window.hpp).
// Thread rules: written before the first segment exists; callable from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace baton::memory {

/// The address range that holds every segment, own or foreign, of this process. base 0, size 0 until reserved.
struct WindowRange {
  std::uintptr_t base;
  std::uintptr_t size;
};
extern WindowRange g_window_range;  // written once, before the first segment exists; read-only afterwards
#ifdef BATON_IN_LIBRARY
/// The same for code of the library, as g_own_fork_generation in os/fork.hpp.
[[gnu::visibility("hidden")]] extern WindowRange g_own_window_range;
#endif

/// True if `p` lies in the window: the one compare that tells a chunk object from an ordinary one.
inline bool in_window(const void* p) noexcept {
#ifdef BATON_IN_LIBRARY
  const WindowRange& range = g_own_window_range;
#else
  const WindowRange& range = g_window_range;
#endif
  return reinterpret_cast<std::uintptr_t>(p) - range.base < range.size;
}

}  // namespace baton::memory
