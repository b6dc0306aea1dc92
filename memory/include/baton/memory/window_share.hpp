// SPDX-License-Identifier: Apache-2.0
// What another process may take of this process's window by what it publishes. Half of the window is for what other processes
// publish, half is left to this process. Of the first half each process may take a quarter of what the others leave: one process, or
// a few, can take much of it, but never what this process's own publishers need, nor the last of what the next process needs.
// Thread rules: all functions are thread-safe.
// Invariants: (1) all shares together use at most half of the window; (2) the share of a process lives as long as one of its segments
// is mapped here.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::memory {

class WindowShare {
 public:
  /// Messages of one process that are held as copies at the same time, since there is no room for their segment, take at most this
  /// much memory of this process.
  static constexpr std::size_t kMostCopiedBytes = std::size_t{256} << 20;

  WindowShare() = default;
  WindowShare(const WindowShare&) = delete;
  WindowShare& operator=(const WindowShare&) = delete;

  /// Counts `bytes` of the window, in whole granules, for a mapping of a segment. An eighth of the share stays free for copies. Errors:
  /// window_exhausted (the share is used up).
  Result<void> take(std::size_t bytes);
  void give_back(std::size_t bytes) noexcept;
  /// The same for a copied message.
  Result<void> take_copy(std::size_t bytes);
  void give_back_copy(std::size_t bytes) noexcept;

  std::size_t used_bytes() const noexcept;

 private:
  std::size_t used_ = 0, copied_ = 0;  // window and memory
};

}  // namespace baton::memory
