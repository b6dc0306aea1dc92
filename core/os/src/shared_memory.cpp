// SPDX-License-Identifier: Apache-2.0
#include "baton/os/shared_memory.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "baton/os/fork.hpp"
#include "baton/os/memory_file.hpp"
#include "baton/os/sparse_memory.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace baton::os {
namespace {

Error failed(const char* call) {
  const int code = errno;
  const Errc errc = code == ENOMEM || code == ENOSPC   ? Errc::out_of_memory
                    : code == EMFILE || code == ENFILE ? Errc::out_of_descriptors
                                                       : Errc::system;
  return {errc, std::string(call) + " for a control segment: " + std::strerror(code)};
}

int required_seals(Writers writers) noexcept {
  const int both = F_SEAL_SHRINK | F_SEAL_GROW;
  return writers == Writers::kOnlyCreator ? both | F_SEAL_FUTURE_WRITE : both;
}

// Backs the whole memfd; repeats after a signal.
bool back(int fd, std::size_t size) {
  int result;
  do {
    result = ::fallocate(fd, 0, 0, static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace

std::size_t round_to_pages(std::size_t bytes) noexcept {
  const std::size_t page = page_bytes();
  return (bytes + page - 1) / page * page;
}

Result<std::uint64_t> file_size(const UniqueFd& fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return failed("fstat");
  if (!S_ISREG(status.st_mode)) return Error{Errc::protocol_violation, "the peer's descriptor is not a memfd"};
  return static_cast<std::uint64_t>(status.st_size);
}

SharedMapping::~SharedMapping() {
  if (base_ != nullptr && generation_ == fork_generation()) ::munmap(base_, size_);
}

Result<SharedMapping> SharedMapping::map(int fd, std::size_t size, bool writable) {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* base = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return failed("mmap");
  SharedMapping out;
  out.base_ = static_cast<std::byte*>(base);
  out.size_ = size;
  out.generation_ = fork_generation();
  // A hole of a peer's segment is filled now, when lack of memory is an error and not a signal. Kernels before 5.14
  // lack MADV_POPULATE_*: there the pages are touched instead.
  if (::madvise(base, size, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0) {
    if (errno == ENOMEM) return failed("madvise(MADV_POPULATE)");
    const volatile std::byte* bytes = out.base_;
    for (std::size_t at = 0; at < size; at += 4096) (void)bytes[at];
  }
  ::madvise(base, size, MADV_DONTDUMP);
  if (writable) ::madvise(base, size, MADV_DONTFORK);
  return out;
}

Result<CreatedSegment> create_segment(const char* name, std::size_t size, Writers writers) {
  size = round_to_pages(size);
  if (Result<void> allowed = check_file_size_limit(size); !allowed.ok()) return allowed.error();
  CreatedSegment out;
  out.fd = UniqueFd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!out.fd) return failed("memfd_create");
  if (::ftruncate(out.fd.get(), static_cast<off_t>(size)) != 0) return failed("ftruncate");
  if (!back(out.fd.get(), size)) return failed("fallocate");
  Result<SharedMapping> mapping = SharedMapping::map(out.fd.get(), size, true);
  if (!mapping) return mapping.error();
  out.mapping = std::move(*mapping);
  // Kernels before 5.1 lack F_SEAL_FUTURE_WRITE: then nothing may be shared, since readers could write.
  if (::fcntl(out.fd.get(), F_ADD_SEALS, required_seals(writers) | F_SEAL_SEAL) != 0)
    return failed("fcntl(F_ADD_SEALS)");
  return out;
}

Result<SharedMapping> map_segment(const UniqueFd& fd, std::size_t size, Writers writers) {
  // This process may map a segment of kBothEnds writable, so the peer must not have forbidden that by a seal.
  const int forbidden = writers == Writers::kBothEnds ? F_SEAL_WRITE | F_SEAL_FUTURE_WRITE : 0;
  const Result<MemoryFile> file = check_memory_file(fd.get(), required_seals(writers), forbidden, "segment");
  if (!file.ok()) return file.error();
  if (size == 0 || size != round_to_pages(size) || file->bytes != size) {
    return Error{Errc::protocol_violation,
                 "the peer's segment has " + std::to_string(file->bytes) + " bytes, announced " + std::to_string(size)};
  }
  return SharedMapping::map(fd.get(), size, writers == Writers::kBothEnds);
}

}  // namespace baton::os
