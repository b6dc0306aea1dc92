// SPDX-License-Identifier: Apache-2.0
// What Window::find() reads, for this room to inline. Thread rules: written once, before the first segment exists.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "baton/memory/segment_record.hpp"
#include "baton/memory/window_range.hpp"

namespace baton::memory {

struct WindowTable {
  using Entry = std::atomic<const SegmentRecord*>;
  Entry* records;  // by granule, but for those of g_near_records
  unsigned granule_shift;
};
[[gnu::visibility("hidden")]] extern WindowTable g_window_table;
/// The records of the first granules lie in a page that every message touches anyway.
[[gnu::visibility("hidden")]] extern WindowTable::Entry g_near_records[64];

inline WindowTable::Entry& record_of(std::size_t granule) noexcept {
  return granule < std::size(g_near_records) ? g_near_records[granule] : g_window_table.records[granule];
}

inline const SegmentRecord* find_segment(const void* p) noexcept {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(p) - g_own_window_range.base;
  if (offset >= g_own_window_range.size) return nullptr;
  // pairs with the release in Window::publish()
  return record_of(offset >> g_window_table.granule_shift).load(std::memory_order_acquire);
}

}  // namespace baton::memory
