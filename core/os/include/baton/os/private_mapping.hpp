// SPDX-License-Identifier: Apache-2.0
// Private changes to the memory of another process: a private, writable mapping of a file. A page shows the file until
// this process writes it, and shows the file again after the changes are discarded.
// Thread rules: free functions; callable from any thread, on disjoint ranges at the same time. After fork() the child
// has its own changes.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::os {

/// Maps the first `bytes` of `fd`, a memfd that may be sealed against writing, at `at` (inside a reservation):
/// readable, writable, private. Nothing is populated, nothing is reserved for changes, excluded from core dumps.
/// Errors: out_of_memory (also with vm.overcommit_memory=2, where a private writable mapping is charged as a whole),
/// system.
Result<void> map_private_copy(int fd, std::size_t bytes, std::byte* at);

/// Discards the changes in [at, at + bytes), whole pages of such a mapping. Returns how many pages were changed. Finds
/// the pages by PAGEMAP_SCAN (Linux 6.7), else by reading /proc/self/pagemap. If neither works (no /proc, a process
/// that is not dumpable), it gives every page back, so that the next reader faults, and returns 0. Does not change
/// errno.
std::size_t discard_private_changes(std::byte* at, std::size_t bytes) noexcept;

/// The way in which this process finds changed pages; for reports. Tests force a slower way.
enum class ChangeFinder : unsigned char { kUnknown, kScan, kPagemap, kNone };
ChangeFinder change_finder() noexcept;
void force_change_finder(ChangeFinder finder) noexcept;

}  // namespace baton::os
