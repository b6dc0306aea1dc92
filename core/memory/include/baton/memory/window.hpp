// SPDX-License-Identifier: Apache-2.0
// The one address range in which every data segment of this process, own or foreign, is mapped. One compare and one
// table look-up tell whether an address is Baton's, and to which segment it belongs (architecture, "the window").
// Thread rules: all functions are thread-safe; find() is lock-free.
// Invariants: (1) the range is reserved once and never moves; (2) segments are whole granules, so a granule belongs to
// at most one segment; (3) find() of an address in a live segment returns the segment's record while the segment is
// mapped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/memory/segment_record.hpp"
#include "baton/memory/window_range.hpp"
#include "baton/os/result.hpp"

namespace baton::memory {

class Window {
 public:
  /// The process's window. Reserved on first use: 64 TiB of addresses, or as much as the machine gives, halving
  /// (RLIMIT_AS: at most half of what is left; 39-bit kernels and sanitizers allow less), or BATON_WINDOW (bytes, with
  /// K, M, G or T).
  /// Errors: window_exhausted (not even 64 MiB), invalid_argument (BATON_WINDOW).
  static Result<Window*> instance();

  /// Addresses for a segment of `bytes`, rounded up to granules, still without access. Errors: window_exhausted.
  Result<std::byte*> allocate(std::size_t bytes);
  /// Makes the addresses findable; `record` stays valid until free().
  void publish(SegmentRecord* record) noexcept;
  /// Ends a segment: find() no longer returns it, its pages are unmapped, its addresses are free.
  void free(std::byte* base, std::size_t bytes) noexcept;

  /// The segment that `p` lies in, or null.
  static const SegmentRecord* find(const void* p) noexcept;

  std::size_t size() const noexcept;
  std::size_t granule() const noexcept;
  /// The largest message a default publisher of this window should reserve room for (at most 256 MiB).
  std::size_t default_message_bytes() const noexcept;

 private:
  Window() = default;
};

}  // namespace baton::memory
