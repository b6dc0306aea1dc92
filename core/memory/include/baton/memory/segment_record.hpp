// SPDX-License-Identifier: Apache-2.0
// What the window knows of a segment. Thread rules: a plain value, which its segment writes before Window::publish().
#pragma once

#include <cstddef>

namespace baton::memory {

/// The window's record of a segment. Owned by the segment.
struct SegmentRecord {
  std::byte* base = nullptr;
  std::size_t size = 0;
  /// The pool segment that owns it; null for foreign, read-only segments.
  struct PoolSegment* own = nullptr;
  /// The shared heap (objects) that lies there; null for messages.
  void* heap = nullptr;
  /// The foreign segment that this is the read-only mapping of; null for all others.
  class ForeignSegment* foreign = nullptr;
};

}  // namespace baton::memory
