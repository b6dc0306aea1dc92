// SPDX-License-Identifier: Apache-2.0
#include "baton/os/memory_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "baton/os/page.hpp"
#include "baton/os/process.hpp"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

namespace baton::os {
namespace {

constexpr uid_t kNobody = 65534;  // /proc/sys/kernel/overflowuid
constexpr int kLowest = 1024;     // FD_SETSIZE: select(2) can use only descriptors below

Error violation(const char* name, const std::string& what) {
  return {Errc::protocol_violation, std::string("the peer's ") + name + " " + what};
}

// <linux/mman.h> of Linux 6.5; an installed header may be older.
struct CachestatRange {
  std::uint64_t offset, bytes;
};
struct Cachestat {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/// True if lseek(2) finds data, and no hole, in the whole range. A page that was only reserved counts as a hole, a
/// swapped one as data (mm/filemap.c, mapping_seek_hole_data).
Result<bool> seek_finds_data(int fd, std::uint64_t offset, std::size_t bytes) {
  const off_t hole = ::lseek(fd, static_cast<off_t>(offset), SEEK_HOLE);
  if (hole < 0) return system_error("lseek(SEEK_HOLE) of a peer's memory", errno);
  return static_cast<std::uint64_t>(hole) >= offset + bytes;
}

enum class Absent : std::uint8_t { kSwappedOut, kHole, kUnclear };

/// The state of pages that mincore(2) does not find, or that are not mapped: swapped out ("evicted" for cachestat(2), Linux 6.5), holes,
/// or neither (kUnclear: reserved only, or in memory).
Result<Absent> look_closer(int fd, std::uint64_t offset, std::size_t bytes) {
  CachestatRange range{offset, bytes};
  Cachestat pages{};
  if (::syscall(SYS_cachestat, fd, &range, &pages, 0U) != 0) {
    const Result<bool> data = seek_finds_data(fd, offset, bytes);
    if (!data.ok()) return data.error();
    return *data ? Absent::kSwappedOut : Absent::kHole;
  }
  const std::uint64_t count = bytes / page_bytes();
  if (pages.evicted == count) return Absent::kSwappedOut;
  // The rest is reserved only, or came back from swap between the two calls. The next mincore(2) shows which.
  return pages.cached + pages.evicted == count ? Absent::kUnclear : Absent::kHole;
}

}  // namespace

Result<MemoryFile> check_memory_file(int fd, int seals, int forbidden, const char* name) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) != O_RDWR)
    return violation(name, "is not open for reading and writing, so it is not what memfd_create returned");
  const int has = ::fcntl(fd, F_GET_SEALS);
  if (has < 0) return violation(name, "is no memfd (F_GET_SEALS fails)");
  struct statfs system {};
  if (::fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
    return violation(
        name,
        "does not lie in ordinary memory (tmpfs): of huge pages that the kernel has not got, a read would end "
        "this process with SIGBUS");
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return violation(name, "is no regular file");
  if ((has & seals) != seals || (has & forbidden) != 0)
    return violation(name, "does not have the required seals (has seals " + std::to_string(has) + ", needs " +
                               std::to_string(seals) +
                               (forbidden != 0 ? " and none of " + std::to_string(forbidden) : "") +
                               "), so it could change its size or its readers while it is mapped");
  // All users that this user namespace does not know appear as kNobody.
  const bool ours = status.st_uid == effective_user_id() && status.st_uid != kNobody;
  return MemoryFile{static_cast<std::uint64_t>(status.st_size), ours};
}

Result<bool> is_backed(int fd, const MemoryFile& file, const std::byte* mapped, std::uint64_t offset,
                       std::size_t bytes) {
  const std::uint64_t page = page_bytes();
  std::uint64_t at = offset / page * page;
  const std::uint64_t end = (offset + bytes + page - 1) / page * page;
  if (at == end) return true;
  // mincore(2) first: lseek(2) waits for the inode's lock. The file's maker can hold that lock as long as it likes (a
  // write(2) from memory that a FUSE server pages in), and this process would wait as long.
  if (!file.ours) return seek_finds_data(fd, at, end - at);
  if (mapped == nullptr) {
    const Result<Absent> all = look_closer(fd, at, end - at);
    if (!all.ok()) return all.error();
    // In memory, or reserved only: lseek(2) tells them apart.
    return *all == Absent::kHole ? Result<bool>(false) : seek_finds_data(fd, at, end - at);
  }
  std::array<unsigned char, 1024> present;
  for (int unclear = 0; at < end;) {
    const std::uint64_t part = std::min(end - at, present.size() * page);
    if (::mincore(const_cast<std::byte*>(mapped) + at, part, present.data()) != 0) {
      if (errno == EAGAIN) continue;
      return system_error("mincore of a peer's memory", errno);
    }
    const unsigned char* const last = present.data() + part / page;
    const auto here = [](unsigned char entry) { return (entry & 1) != 0; };
    const auto* const absent = std::find_if_not(static_cast<const unsigned char*>(present.data()), last, here);
    const auto* const after = std::find_if(absent, last, here);
    at += static_cast<std::uint64_t>(absent - present.data()) * page;
    if (absent == last) continue;
    const std::uint64_t run = static_cast<std::uint64_t>(after - absent) * page;
    const Result<Absent> closer = look_closer(fd, at, run);
    if (!closer.ok()) return closer.error();
    constexpr int kRounds = 8;  // that many times in a row, swap does not return a page just between the two calls
    if (*closer == Absent::kHole || (*closer == Absent::kUnclear && ++unclear > kRounds)) return false;
    if (*closer == Absent::kSwappedOut) at += run;
  }
  return true;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> backed_extents(int fd, std::uint64_t bytes, std::size_t most) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  for (off_t begin = 0; found.size() < most && (begin = ::lseek(fd, begin, SEEK_DATA)) >= 0;) {
    const off_t end = std::min(::lseek(fd, begin, SEEK_HOLE), static_cast<off_t>(bytes));
    if (end <= begin) break;
    found.emplace_back(begin, end);
    begin = end;
  }
  return found;
}

UniqueFd move_high(UniqueFd fd) noexcept {
  if (!fd || fd.get() >= kLowest || descriptor_limit() < 2 * static_cast<std::size_t>(kLowest)) return fd;
  const int kept = errno;
  UniqueFd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kLowest));
  errno = kept;  // if no such number is free, the low descriptor stays
  return high ? std::move(high) : std::move(fd);
}

}  // namespace baton::os
