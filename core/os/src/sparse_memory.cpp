// SPDX-License-Identifier: Apache-2.0
#include "baton/os/sparse_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "baton/os/memory_file.hpp"
#include "baton/os/memory_left.hpp"
#include "baton/os/process.hpp"
#include "baton/os/real_time.hpp"

#ifndef F_SEAL_FUTURE_WRITE  // Linux 5.1; glibc's header may be older
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace baton::os {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;

// Under MCL_FUTURE the kernel populates every new mapping (reading a hole of a memfd allocates it) and refuses mappings
// beyond RLIMIT_MEMLOCK, even address space without access. So one page is mapped without access, unlocked, and then
// enlarged: mremap(2) takes the lock state from the mapping, not from the process. See mlockall(2).
void* map_unlocked(int fd, std::size_t bytes, void* at, int flags) {
  void* page = ::mmap(nullptr, page_bytes(), PROT_NONE, flags, fd, 0);
  if (page == MAP_FAILED) return MAP_FAILED;
  ::munlock(page, page_bytes());
  void* mapped = at ? ::mremap(page, page_bytes(), bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at)
                    : ::mremap(page, page_bytes(), bytes, MREMAP_MAYMOVE);
  if (mapped == MAP_FAILED) ::munmap(page, page_bytes());
  return mapped;
}

// Maps `bytes` of `fd` (-1: anonymous) without access and without memory, at `at` or, if null, anywhere.
void* map_bare(int fd, std::size_t bytes, void* at) {
  const int flags = MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (future_mappings_are_locked()) return map_unlocked(fd, bytes, at, flags);
  return ::mmap(at, bytes, PROT_NONE, at ? flags | MAP_FIXED : flags, fd, 0);
}

Result<void> lock_range(std::byte* at, std::size_t bytes) {
  if (::mlock(at, bytes) == 0) return {};
  return Error{Errc::out_of_memory, "mlock of " + std::to_string(bytes) + " bytes of a segment (errno " +
                                        std::to_string(errno) +
                                        "): this process locks its memory, and RLIMIT_MEMLOCK is too small"};
}

// After lock_memory(): maps and locks the backed pages of [0, bytes), and nothing else.
Result<void> lock_backed(int fd, std::size_t bytes, std::byte* at) {
  for (off_t begin = 0; (begin = ::lseek(fd, begin, SEEK_DATA)) >= 0;) {
    const off_t end = std::min(::lseek(fd, begin, SEEK_HOLE), static_cast<off_t>(bytes));
    if (end <= begin) break;
    if (Result<void> locked = lock_range(at + begin, static_cast<std::size_t>(end - begin)); !locked) return locked;
    begin = end;
  }
  return {};
}

bool map_unpopulated(int fd, std::size_t bytes, std::byte* at, int protection) {
  return map_bare(fd, bytes, at) != MAP_FAILED && ::mprotect(at, bytes, protection) == 0;
}

}  // namespace

Result<void> check_file_size_limit(std::size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) return {};
  return Error{Errc::limit_reached, "a segment of " + std::to_string(bytes) +
                                        " bytes (mostly holes) is larger than RLIMIT_FSIZE of this process, " +
                                        std::to_string(limit.rlim_cur) + " bytes; raise it (`ulimit -f`)"};
}

std::byte* reserve_addresses(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment) return nullptr;
  const std::size_t reserved = bytes + alignment;
  void* p = map_bare(-1, reserved, nullptr);
  if (p == MAP_FAILED) return nullptr;
  ::madvise(p, reserved, MADV_DONTDUMP);
  const auto start = reinterpret_cast<std::uintptr_t>(p);
  const std::uintptr_t aligned = (start + alignment - 1) & ~(alignment - 1);
  if (aligned > start) ::munmap(p, aligned - start);
  const std::uintptr_t end = aligned + bytes;
  if (end < start + reserved) ::munmap(reinterpret_cast<void*>(end), start + reserved - end);
  return reinterpret_cast<std::byte*>(aligned);
}

std::byte* map_lazily(std::size_t bytes) noexcept {
  void* p = map_bare(-1, bytes, nullptr);
  if (p == MAP_FAILED) return nullptr;
  if (::mprotect(p, bytes, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(p, bytes);
    return nullptr;
  }
  return static_cast<std::byte*>(p);
}

void release_addresses(std::byte* base, std::size_t bytes) noexcept { ::munmap(base, bytes); }

void unmap_to_reservation(std::byte* base, std::size_t bytes) noexcept {
  void* p = map_bare(-1, bytes, base);
  if (p != MAP_FAILED) ::madvise(p, bytes, MADV_DONTDUMP);
}

std::size_t address_space_left() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;  // proc(5): the first field is the program's size in pages
  const std::size_t used = pages * page_bytes();
  return limit.rlim_cur > used ? static_cast<std::size_t>(limit.rlim_cur) - used : 0;
}

bool future_mappings_are_locked() noexcept {
  void* page = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return errno == EAGAIN;  // EAGAIN: the limit of locked memory is reached
  unsigned char resident = 0;
  ::mincore(page, page_bytes(), &resident);
  ::munmap(page, page_bytes());
  return (resident & 1) != 0;
}

Result<UniqueFd> create_sparse(const char* name, std::size_t bytes, std::byte* at) {
  if (Result<void> allowed = check_file_size_limit(bytes); !allowed.ok()) return allowed.error();
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return system_error(std::string("memfd_create(") + name + ")", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return system_error("ftruncate of " + std::string(name) + " to " + std::to_string(bytes) + " bytes", errno);
  if (!map_unpopulated(fd.get(), bytes, at, PROT_READ | PROT_WRITE)) {
    const Error error = system_error("mmap of " + std::string(name) + ", " + std::to_string(bytes) + " bytes", errno);
    unmap_to_reservation(at, bytes);
    return error;
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) {
    const int number = errno;
    unmap_to_reservation(at, bytes);
    if (number == EINVAL)
      return Error{Errc::unsupported,
                   "sealing a memfd against future writes needs Linux 5.1 or newer (F_SEAL_FUTURE_WRITE)"};
    return system_error("fcntl(F_ADD_SEALS)", number);
  }
  ::madvise(at, bytes, MADV_DONTDUMP);
  return Result<UniqueFd>(move_high(std::move(fd)));
}

Result<MemoryFile> check_sparse(int fd, std::size_t bytes) {
  Result<MemoryFile> file = check_memory_file(fd, kSeals, 0, "data segment");
  if (!file.ok()) return file;
  if (file->bytes != bytes)
    return Error{Errc::protocol_violation, "a data segment was announced with " + std::to_string(bytes) +
                                               " bytes but has " + std::to_string(file->bytes)};
  return file;
}

Result<void> copy_out(int fd, std::uint64_t offset, void* to, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got =
        ::pread(fd, static_cast<std::byte*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("pread of a data segment", errno);
    if (got == 0) return Error{Errc::protocol_violation, "a data segment ends within a message"};
    done += static_cast<std::size_t>(got);
  }
  return {};
}

Result<void> use_reservation(std::byte* at, std::size_t bytes) {
  // Mapped anew: unmap_to_reservation() fails where the process has no memory area left, and then a file is still mapped.
  if (map_bare(-1, bytes, at) == MAP_FAILED || ::mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0)
    return system_error("mmap of " + std::to_string(bytes) + " bytes of a reservation", errno);
  return {};
}

Result<void> map_sparse(int fd, std::size_t bytes, std::byte* at) {
  if (!map_unpopulated(fd, bytes, at, PROT_READ)) {
    const Error error = system_error("mmap of a foreign data segment of " + std::to_string(bytes) + " bytes", errno);
    unmap_to_reservation(at, bytes);
    return error;
  }
  ::madvise(at, bytes, MADV_DONTDUMP);
  if (!memory_is_locked()) return {};
  Result<void> locked = lock_backed(fd, bytes, at);
  if (!locked) unmap_to_reservation(at, bytes);
  return locked;
}

Result<UniqueFd> create_common_sparse(const char* name, std::size_t bytes) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return system_error(std::string("memfd_create(") + name + ")", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return system_error("ftruncate of " + std::string(name) + " to " + std::to_string(bytes) + " bytes", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return system_error("fcntl(F_ADD_SEALS)", errno);
  return Result<UniqueFd>(std::move(fd));
}

Result<std::size_t> common_sparse_bytes(int fd) {
  const Result<MemoryFile> file =
      check_memory_file(fd, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_WRITE | F_SEAL_FUTURE_WRITE, "shared heap");
  if (!file.ok()) return file.error();
  return static_cast<std::size_t>(file->bytes);
}

Result<void> map_common_sparse(int fd, std::size_t bytes, std::byte* at) {
  if (!map_unpopulated(fd, bytes, at, PROT_READ | PROT_WRITE)) {
    const Error error = system_error("mmap of " + std::to_string(bytes) + " bytes of common memory", errno);
    unmap_to_reservation(at, bytes);
    return error;
  }
  ::madvise(at, bytes, MADV_DONTDUMP);
  ::madvise(at, bytes, MADV_DONTFORK);
  return {};
}

Result<void> map_private_sparse(std::size_t bytes, std::byte* at) {
  if (!map_unpopulated(-1, bytes, at, PROT_READ | PROT_WRITE)) {
    const Error error = system_error("mmap of " + std::to_string(bytes) + " private bytes", errno);
    unmap_to_reservation(at, bytes);
    return error;
  }
  ::madvise(at, bytes, MADV_DONTDUMP);
  ::madvise(at, bytes, MADV_WIPEONFORK);
  return {};
}

void populate(std::byte* at, std::size_t bytes) noexcept {
  if (::madvise(at, bytes, MADV_POPULATE_WRITE) != 0) {
    // Kernels before 5.14. Adding 0 preserves concurrent writes of other threads and processes.
    for (std::size_t i = 0; i < bytes; i += page_bytes())
      __atomic_fetch_add(reinterpret_cast<unsigned char*>(at + i), 0, __ATOMIC_RELAXED);
  }
  if (memory_is_locked()) (void)lock_range(at, bytes);
}

/// False if MADV_POPULATE_WRITE does nothing but reports success, as in qemu-user. A real kernel refuses it for memory
/// without access.
static bool populating_works() {
  enum Known : int { kUnknown, kWorks, kDoesNothing };
  // Constant-initialized: a child forked while another thread initialises a static object would wait for it for ever. relaxed: each thread finds the same answer.
  static std::atomic<int> known{kUnknown};
  int now = known.load(std::memory_order_relaxed);
  if (now == kUnknown) {
    void* const page = ::mmap(nullptr, page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return true;
    now = ::madvise(page, page_bytes(), MADV_POPULATE_WRITE) != 0 ? kWorks : kDoesNothing;
    ::munmap(page, page_bytes());
    known.store(now, std::memory_order_relaxed);
  }
  return now == kWorks;
}

Result<void> back_sparse(int fd, std::size_t offset, std::size_t bytes, std::byte* at) {
  if (Result<void> left = check_memory_left(bytes); !left.ok()) return left;
  int failed;
  do {
    failed = ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed != 0)
    return Error{Errc::out_of_memory, "the machine or its cgroup has no " + std::to_string(bytes) +
                                          " bytes of shared memory left (fallocate: errno " + std::to_string(failed) +
                                          "); free memory, or lower memory_limit_bytes"};
  // Kernels before 5.14: the pages are touched. Readers take a page that is only reserved for a hole (memory_file.hpp,
  // is_backed).
  if (!populating_works() || ::madvise(at, bytes, MADV_POPULATE_WRITE) != 0) {
    for (std::size_t i = 0; i < bytes; i += page_bytes()) (void)*const_cast<const volatile std::byte*>(at + i);
  }
  if (memory_is_locked()) return lock_range(at, bytes);
  return {};
}

}  // namespace baton::os
