// SPDX-License-Identifier: Apache-2.0
// Memory that another process made and passed as a descriptor: the checks before this process maps the memory, and the
// question which of its pages exist.
// Thread rules: free functions; callable from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <utility>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// A descriptor that passed check_memory_file().
struct MemoryFile {
  std::uint64_t bytes = 0;
  /// The file belongs to this process's user, so mincore(2) is correct for its pages. Another user could chmod its own
  /// file; for such a file mincore(2) may report every page as present.
  bool ours = false;
};

/// Checks that `fd` is what memfd_create(2) without MFD_HUGETLB returns: a regular file of tmpfs, open for reading and
/// writing, with all of `seals` and none of `forbidden`. A read of another file can raise SIGBUS (huge pages that the
/// kernel lacks, a file that shrinks), block (a network or FUSE file), or cost more. `name` is for the error text.
/// Errors: protocol_violation.
Result<MemoryFile> check_memory_file(int fd, int seals, int forbidden, const char* name);

/// True if every page that [offset, offset + bytes) touches exists for ever: the page holds data or is swapped out, and
/// the file's seals forbid its removal. False for a hole, and for a page that fallocate(2) reserved and that was never
/// touched: reading such a page may allocate. No page is allocated. `mapped` is the address of the file's byte 0 in
/// this process, null if unmapped: then reserved pages of a file of this user count as backed, since they cost its maker. For a file of
/// this user the call takes no lock that another process could hold, but for an unmapped one before Linux 6.5; otherwise the kernel locks
/// the file's inode. REQUIRES: [offset, offset + bytes) lies inside the file. Errors:
/// system.
Result<bool> is_backed(int fd, const MemoryFile& file, const std::byte* mapped, std::uint64_t offset,
                       std::size_t bytes);

/// Ranges [begin, end) in which all pages are backed now, ascending, at most `most` ranges. The kernel locks the file's
/// inode.
std::vector<std::pair<std::uint64_t, std::uint64_t>> backed_extents(int fd, std::uint64_t bytes, std::size_t most);

/// The same descriptor with a number of at least 1024, or `fd` itself if this process may not have so many descriptors.
/// Programs that use select(2) keep the low numbers.
UniqueFd move_high(UniqueFd fd) noexcept;

}  // namespace baton::os
