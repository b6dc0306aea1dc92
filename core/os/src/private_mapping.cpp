// SPDX-License-Identifier: Apache-2.0
#include "baton/os/private_mapping.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>

#include "baton/os/fork.hpp"
#include "baton/os/process.hpp"
#include "baton/os/sparse_memory.hpp"

namespace baton::os {
namespace {

// <linux/fs.h> of Linux 6.7; an installed header may be older.
struct PageRegion {
  std::uint64_t start, end, categories;
};
struct ScanArguments {
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);
constexpr std::uint64_t kPageIsFile = 1 << 2, kPageIsPresent = 1 << 3, kPageIsSwapped = 1 << 4;
// Bits of an entry: Documentation/admin-guide/mm/pagemap.rst.
constexpr std::uint64_t kEntryIsFile = std::uint64_t{1} << 61, kEntryIsSwapped = std::uint64_t{1} << 62,
                        kEntryIsPresent = std::uint64_t{1} << 63;

// MREMAP_DONTUNMAP of <linux/mman.h>; of shared mappings since Linux 5.13.
constexpr int kLeaveOldMapping = 4;

std::atomic<ChangeFinder> g_finder{ChangeFinder::kUnknown};  // a hint; orders nothing: relaxed

// Lower half: the open pagemap's descriptor + 1. Upper half: the fork generation in which it was opened, because a
// pagemap describes the process that opened it. 0: not opened yet.
std::atomic<std::uint64_t> g_pagemap{0};

int pagemap() noexcept {
  const std::uint64_t mine = std::uint64_t{fork_generation()} << 32;
  std::uint64_t known = g_pagemap.load(std::memory_order_relaxed);  // a number, which orders nothing
  if ((known & 0xffffffff) != 0 && (known & ~std::uint64_t{0xffffffff}) == mine)
    return static_cast<int>(known & 0xffffffff) - 1;
  const int fd = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  if (g_pagemap.compare_exchange_strong(known, mine | static_cast<std::uint32_t>(fd + 1), std::memory_order_relaxed)) {
    if ((known & 0xffffffff) != 0) ::close(static_cast<int>(known & 0xffffffff) - 1);  // the parent's, inherited
    return fd;
  }
  ::close(fd);
  return static_cast<int>(known & 0xffffffff) - 1;  // another thread was first
}

void give_back(std::uint64_t start, std::uint64_t end) noexcept {
  void* const at = reinterpret_cast<void*>(start);
  if (::madvise(at, end - start, MADV_DONTNEED) == 0) return;
  ::munlock(at, end - start);  // a program that has locked its memory meanwhile must not read old changes either
  ::madvise(at, end - start, MADV_DONTNEED);
}

// False: the kernel does not know the call.
bool scan(int fd, std::uint64_t start, std::uint64_t end, std::size_t* pages) noexcept {
  PageRegion regions[64];
  while (start < end) {
    ScanArguments arguments{};
    arguments.size = sizeof arguments;
    arguments.start = start;
    arguments.end = end;
    arguments.vec = reinterpret_cast<std::uintptr_t>(regions);
    arguments.vec_len = sizeof regions / sizeof regions[0];
    // Pages that exist (in memory or swapped out) and are not the file's.
    arguments.category_inverted = kPageIsFile;
    arguments.category_mask = kPageIsFile;
    arguments.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
    arguments.return_mask = kPageIsFile;
    int found;
    do {
      found = ::ioctl(fd, kPagemapScan, &arguments);
    } while (found < 0 && errno == EINTR);
    if (found < 0) return false;
    for (int i = 0; i < found; ++i) {
      give_back(regions[i].start, regions[i].end);
      *pages += (regions[i].end - regions[i].start) / page_bytes();
    }
    if (arguments.walk_end <= start) return false;
    start = arguments.walk_end;
  }
  return true;
}

bool read_entries(int fd, std::uint64_t start, std::uint64_t end, std::size_t* pages) noexcept {
  std::uint64_t entries[512];
  const std::uint64_t page = page_bytes();
  while (start < end) {
    const std::size_t wanted = std::min<std::size_t>(sizeof entries / sizeof entries[0], (end - start) / page);
    const ssize_t got =
        ::pread(fd, entries, wanted * sizeof entries[0], static_cast<off_t>(start / page * sizeof entries[0]));
    if (got < 0 && errno == EINTR) continue;
    if (got < static_cast<ssize_t>(sizeof entries[0])) return false;
    const std::size_t count = static_cast<std::size_t>(got) / sizeof entries[0];
    std::size_t run = 0;  // changed pages right before i
    for (std::size_t i = 0; i <= count; ++i) {
      if (i < count && (entries[i] & (kEntryIsPresent | kEntryIsSwapped)) != 0 && (entries[i] & kEntryIsFile) == 0) {
        ++run;
        continue;
      }
      if (run != 0) give_back(start + (i - run) * page, start + i * page);
      *pages += run;
      run = 0;
    }
    start += count * page;
  }
  return true;
}

}  // namespace

Result<void> map_private_copy(int fd, std::size_t bytes, std::byte* at) {
  // As sparse_memory.cpp maps: without access first, so that nothing is populated. Under MCL_FUTURE the kernel would
  // copy a private writable mapping as a whole, so no such mapping is made.
  if (future_mappings_are_locked())
    return Error{Errc::unsupported, "this process locks its memory, which would copy every page of a private mapping"};
  if (::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED) {
    const int number = errno;
    unmap_to_reservation(at, bytes);
    return system_error("a private mapping of " + std::to_string(bytes) + " bytes", number);
  }
  ::madvise(at, bytes, MADV_DONTDUMP);
  return {};
}

std::size_t discard_private_changes(std::byte* at, std::size_t bytes) noexcept {
  const int saved = errno;
  const auto start = reinterpret_cast<std::uintptr_t>(at);
  std::size_t pages = 0;
  ChangeFinder finder = g_finder.load(std::memory_order_relaxed);
  const int fd = finder == ChangeFinder::kNone ? -1 : pagemap();
  bool done = false;
  if (fd >= 0 && (finder == ChangeFinder::kUnknown || finder == ChangeFinder::kScan)) {
    done = scan(fd, start, start + bytes, &pages);
    if (done && finder == ChangeFinder::kUnknown) g_finder.store(ChangeFinder::kScan, std::memory_order_relaxed);
    if (!done) finder = ChangeFinder::kPagemap;
  }
  if (fd >= 0 && !done && finder == ChangeFinder::kPagemap) {
    pages = 0;
    done = read_entries(fd, start, start + bytes, &pages);
    if (done) g_finder.store(ChangeFinder::kPagemap, std::memory_order_relaxed);
  }
  if (!done) {
    give_back(start, start + bytes);
    pages = 0;
    g_finder.store(ChangeFinder::kNone, std::memory_order_relaxed);
  }
  errno = saved;
  return pages;
}

Result<std::byte*> set_shared_aside(int fd, std::size_t offset, std::byte* at, std::size_t bytes) {
  if (future_mappings_are_locked())
    return Error{Errc::unsupported, "this process locks its memory, which would copy every page of a private mapping"};
  // The mapping at `at` stays, without its page tables: a thread that reads there meanwhile faults and finds the file.
  // Null: anywhere. The kernel reads this argument with this flag, too.
  void* const aside = ::mremap(at, bytes, bytes, MREMAP_MAYMOVE | kLeaveOldMapping, nullptr);
  if (aside == MAP_FAILED) {
    if (errno == EINVAL || errno == ENOSYS)
      return Error{Errc::unsupported, "this system cannot set shared pages aside (mremap(2), MREMAP_DONTUNMAP)"};
    return system_error("setting " + std::to_string(bytes) + " bytes of a mapping aside", errno);
  }
  const int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  if (::mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset)) == MAP_FAILED) {
    const int number = errno;
    // Back with the page tables; if there is no room even for that, what is left at `at` is a shared mapping, too.
    if (::mremap(aside, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) ::munmap(aside, bytes);
    return system_error("a private mapping of " + std::to_string(bytes) + " bytes", number);
  }
  ::madvise(at, bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(aside);
}

bool put_shared_back(std::byte* at, std::byte* aside, std::size_t bytes) noexcept {
  const int saved = errno;
  // A new shared mapping cannot take its place: the file is sealed against those.
  const bool back = ::mremap(aside, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
  if (!back) ::munmap(aside, bytes);
  errno = saved;
  return back;
}

ChangeFinder change_finder() noexcept { return g_finder.load(std::memory_order_relaxed); }
void force_change_finder(ChangeFinder finder) noexcept { g_finder.store(finder, std::memory_order_relaxed); }

}  // namespace baton::os
