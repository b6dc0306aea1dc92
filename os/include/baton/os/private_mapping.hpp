// SPDX-License-Identifier: Apache-2.0
// Somebody else's memory with changes of one's own: a private, writable mapping of a file whose pages are the file's until they
// are written, and are the file's again after their changes were thrown away.
// Thread rules: free functions; callable from any thread, on disjoint ranges at the same time. After fork() the child has its own
// changes.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::os {

/// Maps the first `bytes` of `fd`, a memfd that may be sealed against writing, at `at` (inside a reservation): readable, writable,
/// private. Nothing is populated, nothing is reserved for changes, excluded from core dumps. Errors: out_of_memory (also with
/// vm.overcommit_memory=2, where a private writable mapping is charged as a whole), system.
Result<void> map_private_copy(int fd, std::size_t bytes, std::byte* at);

/// Throws the changes in [at, at + bytes), whole pages of such a mapping, away. Returns how many pages were changed. Finds them by
/// PAGEMAP_SCAN (Linux 6.7), else by reading /proc/self/pagemap; where there is neither (no /proc, a process that is not
/// dumpable), gives every page back, so that the next reader faults, and returns 0. Does not touch errno.
std::size_t discard_private_changes(std::byte* at, std::size_t bytes) noexcept;

/// How changed pages are found here; for reports. Tests force a lesser one.
enum class ChangeFinder : unsigned char { kUnknown, kScan, kPagemap, kNone };
ChangeFinder change_finder() noexcept;
void force_change_finder(ChangeFinder finder) noexcept;

}  // namespace baton::os
