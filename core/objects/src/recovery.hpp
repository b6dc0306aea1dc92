// SPDX-License-Identifier: Apache-2.0
// Joining a heap, and recovering dead processes: unsettled allocations, holds, half-done changes and ends of objects.
// Thread rules: everything is thread-safe; one recovery at a time per process and heap.
// Invariants:
//   1. The recoverer owns the byte lock of the dead process's slot (process_table.hpp), so one process recovers it at a
//      time.
//   2. Every step may be repeated: after the recoverer's death the next process starts again.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

#include "contents.hpp"

namespace baton::objects::detail {

class Recovery {
 public:
  Recovery(Mapping& mapping, ProcessTable& processes, Allocations& allocations, Blocks& blocks, Contents& contents,
           Events& events) noexcept
      : mapping_(mapping),
        processes_(processes),
        allocations_(allocations),
        blocks_(blocks),
        contents_(contents),
        events_(events) {}

  /// Adds this process to the heap's processes.
  Result<void> join();
  /// Recovers all dead processes, and objects whose type has become known; returns how many processes had died. 0 if a
  /// recovery of this process runs already.
  std::size_t collect();
  /// Called when memory is short. True: this or another process recovered a dead process, so memory may be free now;
  /// try again.
  bool reclaim();

 private:
  void recover_slot(std::size_t slot);
  void recover(const Allocation& found, std::size_t slot) noexcept;
  bool lock_pinned(const Allocation& found, const std::function<bool()>& of_interest) noexcept;

  Mapping& mapping_;
  ProcessTable& processes_;
  Allocations& allocations_;
  Blocks& blocks_;
  Contents& contents_;
  Events& events_;
  std::mutex mutex_;  // byte locks belong to the process, not to a thread
};

}  // namespace baton::objects::detail
