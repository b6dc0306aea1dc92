// SPDX-License-Identifier: Apache-2.0
#include "baton/os/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>

#include "baton/os/process.hpp"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#endif

namespace baton::os {

OpenedDirectory open_directory(int parent, const std::string& name) {
  OpenedDirectory out;
  const int at = parent < 0 ? AT_FDCWD : parent;
  out.fd.reset(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!out.fd || ::fstat(out.fd.get(), &status) != 0) {
    out.error_number = errno;
    // With O_DIRECTORY a symbolic link is reported as ENOTDIR; report the link instead.
    struct stat link {};
    if (out.error_number == ENOTDIR && ::fstatat(at, name.c_str(), &link, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(link.st_mode)) {
      out.error_number = ELOOP;
    }
    out.fd.reset();
    return out;
  }
  out.info.uid = status.st_uid;
  out.info.gid = status.st_gid;
  out.info.mode = status.st_mode & 07777U;
  struct statfs system {};
  // f_type is signed on some architectures; the constants are 32 bits.
  if (::fstatfs(out.fd.get(), &system) == 0) out.info.file_system = static_cast<std::uint32_t>(system.f_type);
  return out;
}

int make_directory(int parent, const std::string& name, std::uint32_t mode, std::uint32_t gid) {
  const int at = parent < 0 ? AT_FDCWD : parent;
  // No process may see the directory with half of its permissions: make it under another name, then rename it, never
  // onto an existing name.
  struct stat status {};
  if (::fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  const auto id = random_id();
  if (!id) return EIO;
  std::string fresh = name + ".new-";
  for (std::size_t i = 0; i < 8; ++i) {
    fresh.push_back(static_cast<char>('a' + ((*id)[i] & 15)));
    fresh.push_back(static_cast<char>('a' + ((*id)[i] >> 4)));
  }
  if (::mkdirat(at, fresh.c_str(), 0700) != 0) return errno;
  const UniqueFd fd(::openat(at, fresh.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  int failed = fd && ::fstat(fd.get(), &status) == 0 ? 0 : errno;
  if (failed == 0 && gid != ~0U && status.st_gid != gid) (void)!::fchown(fd.get(), static_cast<uid_t>(-1), gid);
  if (failed == 0 && ::fchmod(fd.get(), mode) != 0) failed = errno;
  if (failed == 0 && ::syscall(SYS_renameat2, at, fresh.c_str(), at, name.c_str(), RENAME_NOREPLACE) != 0)
    failed = errno;
  if (failed != 0) (void)::unlinkat(at, fresh.c_str(), AT_REMOVEDIR);
  return failed;
}

std::string network_file_system(std::uint64_t file_system) {
  struct Entry {
    std::uint64_t magic;
    const char* name;
  };
  // linux/magic.h and statfs(2).
  static constexpr Entry kEntries[] = {
      {0x6969, "NFS"},       {0xFF534D42, "CIFS"}, {0x517B, "SMB"},        {0xFE534D42, "SMB2"},
      {0x65735546, "FUSE"},  {0x01021997, "9P"},   {0x00C36400, "Ceph"},   {0x5346414F, "AFS"},
      {0x6B414653, "AFS"},   {0x73757245, "Coda"}, {0x0BD00BD0, "Lustre"}, {0x01161970, "GFS2"},
      {0x7461636F, "OCFS2"}, {0x47504653, "GPFS"}, {0x786F4256, "vboxsf"}, {0x564C, "NCP"},
  };
  for (const Entry& entry : kEntries) {
    if (entry.magic == file_system) return entry.name;
  }
  return {};
}

Result<std::vector<std::string>> list_directory(int directory) {
  const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("open", errno);
  DIR* raw = ::fdopendir(fd);
  if (raw == nullptr) {
    const int failed = errno;
    ::close(fd);
    return system_error("fdopendir", failed);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(raw, &::closedir);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return system_error("readdir", errno);
      return names;
    }
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
  }
}

std::int64_t seconds_since_change(int directory, const std::string& name) {
  struct stat status {};
  timespec now{};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t age = static_cast<std::int64_t>(now.tv_sec) - static_cast<std::int64_t>(status.st_ctim.tv_sec);
  return age < 0 ? 0 : age;
}

std::int64_t socket_changed_ns(int directory, const std::string& name) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(status.st_mode)) return 0;
  return std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
}

Result<UniqueFd> open_file_at(int directory, const std::string& name, std::uint32_t mode, std::uint32_t gid) {
  // O_NONBLOCK: another process's lease on the file (fcntl(2)) does not stop this process.
  UniqueFd fd(::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("open of '" + name + "'", errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error("fstat of '" + name + "'", errno);
  if (!S_ISREG(status.st_mode))
    return Error{Errc::already_exists, "'" + name + "' in the domain's directory is no ordinary file"};
  if (status.st_uid == ::geteuid() && (status.st_mode & 07777U) != mode) {
    if (gid != ~0U) (void)!::fchown(fd.get(), static_cast<uid_t>(-1), gid);
    ::fchmod(fd.get(), mode);
  }
  return Result<UniqueFd>(std::move(fd));
}

Result<void> replace_file_at(int directory, const std::string& name, const std::string& text, std::uint32_t mode,
                             std::uint32_t gid) {
  const std::string fresh = name + ".new";
  (void)::unlinkat(directory, fresh.c_str(), 0);  // of a writer that died
  const UniqueFd fd(::openat(directory, fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("open of '" + fresh + "'", errno);
  if (gid != ~0U) (void)!::fchown(fd.get(), static_cast<uid_t>(-1), gid);
  ::fchmod(fd.get(), mode);
  int failed = 0;
  for (std::size_t done = 0; done < text.size() && failed == 0;) {
    const ssize_t written = ::write(fd.get(), text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failed = errno;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  if (failed == 0) failed = rename_name(directory, fresh, name);
  if (failed == 0) return {};
  (void)::unlinkat(directory, fresh.c_str(), 0);
  return system_error("write of '" + name + "'", failed);
}

Result<std::optional<std::string>> read_file_at(int directory, const std::string& name, std::size_t most_bytes) {
  // O_NONBLOCK: a FIFO of that name, or a lease, does not stop this process.
  const UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<std::string>();
  if (!fd) return system_error("open of '" + name + "'", errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error("fstat of '" + name + "'", errno);
  if (!S_ISREG(status.st_mode)) return Error{Errc::system, "'" + name + "' is no ordinary file"};
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read of '" + name + "'", errno);
    if (got == 0) return std::optional<std::string>(std::move(text));
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > most_bytes)
      return Error{Errc::limit_reached, "'" + name + "' has more than " + std::to_string(most_bytes) + " bytes"};
  }
}

bool is_file_at(int directory, const std::string& name, int fd) {
  struct stat named {
  }, opened{};
  return ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && ::fstat(fd, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

int remove_name(int directory, const std::string& name) {
  return ::unlinkat(directory, name.c_str(), 0) == 0 ? 0 : errno;
}

int rename_name(int directory, const std::string& from, const std::string& to) {
  return ::renameat(directory, from.c_str(), directory, to.c_str()) == 0 ? 0 : errno;
}

void mark_in_use(int directory) { (void)::flock(directory, LOCK_SH | LOCK_NB); }

bool claim_unused(int directory) { return ::flock(directory, LOCK_EX | LOCK_NB) == 0; }

}  // namespace baton::os
