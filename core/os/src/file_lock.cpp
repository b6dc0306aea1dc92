// SPDX-License-Identifier: Apache-2.0
#include "baton/os/file_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "baton/os/process.hpp"

#ifndef F_OFD_GETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#endif

namespace baton::os {
namespace {

struct flock one_byte(short type, std::uint64_t byte) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<UniqueFd> reopen(int fd) {
  UniqueFd out(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC));
  if (!out) return system_error("open of /proc/self/fd/" + std::to_string(fd), errno);
  return Result<UniqueFd>(std::move(out));
}

bool try_lock_byte(int fd, std::uint64_t byte) noexcept {
  struct flock lock = one_byte(F_WRLCK, byte);
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

void unlock_byte(int fd, std::uint64_t byte) noexcept {
  struct flock lock = one_byte(F_UNLCK, byte);
  ::fcntl(fd, F_OFD_SETLK, &lock);
}

bool byte_locked_by_other(int fd, std::uint64_t byte) noexcept {
  struct flock lock = one_byte(F_WRLCK, byte);
  // An error counts as locked, so that no process is declared dead because the query failed.
  return ::fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

std::uint64_t pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

}  // namespace baton::os
