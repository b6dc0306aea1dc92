// SPDX-License-Identifier: Apache-2.0
// What Window::find() reads, for this room to inline. Thread rules: written once, before the first segment exists.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baton/memory/window.hpp"

namespace baton::memory {

struct WindowTable {
  std::atomic<const SegmentRecord*>* records;  // by granule
  unsigned granule_shift;
};
[[gnu::visibility("hidden")]] extern WindowTable g_window_table;

inline const SegmentRecord* find_segment(const void* p) noexcept {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(p) - g_own_window_range.base;
  if (offset >= g_own_window_range.size) return nullptr;
  // pairs with the release in Window::publish()
  return g_window_table.records[offset >> g_window_table.granule_shift].load(std::memory_order_acquire);
}

}  // namespace baton::memory
