// SPDX-License-Identifier: Apache-2.0
// The part of this process's window that another process may take by publishing. One half of the window is for the
// segments of other processes, the other half for this process. Each other process may take a quarter of what the
// others leave of the first half. So a few processes can take much of it, but never what this process's own publishers
// need, nor the last of what the next process needs.
// The same holds for memory areas, of which the kernel gives a process a limited number (vm.max_map_count): each mapping
// in the window costs two.
// Thread rules: all functions are thread-safe.
// Invariants: (1) all shares together use at most half of the window, and half of the areas; (2) the share of a process lives as long as one
// of its segments is mapped here.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::memory {

class WindowShare {
 public:
  /// Messages of one process that are held as copies, because their segment has no room in the window, take at most
  /// this much memory of this process at the same time.
  static constexpr std::size_t kMostCopiedBytes = std::size_t{256} << 20;

  /// One process may take one of so many parts of what the others leave.
  static constexpr std::size_t kParts = 4;

  WindowShare() = default;
  WindowShare(const WindowShare&) = delete;
  WindowShare& operator=(const WindowShare&) = delete;

  /// Counts `bytes` of the window, in whole granules, for a mapping of a segment. An eighth of the share stays free for
  /// copies. Errors: window_exhausted (the share is used up).
  Result<void> take(std::size_t bytes);
  void give_back(std::size_t bytes) noexcept;
  /// A take() for a copied message.
  Result<void> take_copy(std::size_t bytes);
  void give_back_copy(std::size_t bytes) noexcept;

  std::size_t used_bytes() const noexcept;
  /// Memory areas that a mapping costs: its own, and the rest of the reservation behind it.
  static constexpr std::size_t kAreasEach = 2;

 private:
  std::size_t used_ = 0, copied_ = 0;  // bytes of the window; bytes of memory
  std::size_t areas_ = 0;
};

}  // namespace baton::memory
