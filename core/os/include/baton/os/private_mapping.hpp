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

/// Gives the pages [at, at + bytes) of a shared, writable mapping of `fd`, which show the file from `offset` on, to this
/// process alone: afterwards `at` shows the same bytes, and what is written there does not reach the file. Returns an
/// address at which the pages are still shared and writable; the page tables move there, so neither place is populated
/// anew. Other threads may read `at` meanwhile; a write at the same time reaches the file or not. Costs no more for 6 MiB
/// than copying 1 MiB. Takes up to three areas of vm.max_map_count. On error nothing has changed: unsupported (before
/// Linux 5.13; locked memory; an emulator), out_of_memory, system. REQUIRES: whole pages.
Result<std::byte*> set_shared_aside(int fd, std::size_t offset, std::byte* at, std::size_t bytes);
/// Undoes set_shared_aside(): `at` shows the file and is shared again, and what was written there is lost. False: the
/// kernel has no room for another area (vm.max_map_count); `at` stays private then, so nothing that readers are to see
/// may be written there any more.
[[nodiscard]] bool put_shared_back(std::byte* at, std::byte* aside, std::size_t bytes) noexcept;

/// The way in which this process finds changed pages; for reports. Tests force a slower way.
enum class ChangeFinder : unsigned char { kUnknown, kScan, kPagemap, kNone };
ChangeFinder change_finder() noexcept;
void force_change_finder(ChangeFinder finder) noexcept;

}  // namespace baton::os
