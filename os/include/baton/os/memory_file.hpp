// SPDX-License-Identifier: Apache-2.0
// Memory that another process made and passed as a descriptor: what this process checks before it maps the memory, and which of its
// pages exist.
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
  /// The file belongs to this process's user. Then mincore(2) tells the truth about its pages; of another user's file, which that
  /// user can chmod, it may call every page present.
  bool ours = false;
};

/// Checks that `fd` is what memfd_create(2) without MFD_HUGETLB returns: a regular file of tmpfs, open for reading and writing, with all
/// of `seals` and none of `forbidden`. Of other files a read can raise SIGBUS (huge pages that the kernel has not got; a file that
/// shrinks), block (a network or FUSE file), or cost another price. `name` is for the error text. Errors: protocol_violation.
Result<MemoryFile> check_memory_file(int fd, int seals, int forbidden, const char* name);

/// True if every page that [offset, offset + bytes) touches exists for ever: it holds data or is swapped out, and the seals of the
/// file forbid to take it away. False for a hole, and for a page that fallocate(2) reserved and nobody has touched: reading either of
/// them may allocate. `mapped` is where this process has mapped the file's byte 0, null if it has not. No page is allocated.
/// Of a file of this user that is mapped the call takes no lock that another process could hold; else the kernel locks the file's
/// inode. REQUIRES: [offset, offset + bytes) lies inside the file. Errors: system.
Result<bool> is_backed(int fd, const MemoryFile& file, const std::byte* mapped, std::uint64_t offset,
                       std::size_t bytes);

/// Ranges [begin, end) in which all pages are backed now, ascending, at most `most` of them; with the kernel's lock of the file's inode.
std::vector<std::pair<std::uint64_t, std::uint64_t>> backed_extents(int fd, std::uint64_t bytes, std::size_t most);

/// The same descriptor with a number of at least 1024, if this process may have that many: programs that use select(2) keep the low
/// ones. `fd` itself if not.
UniqueFd move_high(UniqueFd fd) noexcept;

}  // namespace baton::os
