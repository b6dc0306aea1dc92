// SPDX-License-Identifier: Apache-2.0
#include "baton/os/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <string>

#include "baton/os/process.hpp"

namespace baton::os {
namespace {

Error failed(const std::string& what, int error_number) {
  Error error = system_error(what, error_number);
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) error.code = Errc::limit_reached;
  if (error_number == EEXIST) error.code = Errc::already_exists;
  return error;
}

/// Device and inode. {0, 0}: there is no file.
std::pair<std::uint64_t, std::uint64_t> file_at(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {0, 0};
  return {found.st_dev, found.st_ino};
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, bool direct) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) return failed("open of '" + path + "'", errno);
  UniqueFd second;
  if (direct) {
    second = UniqueFd(::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_WRONLY | O_CLOEXEC | O_DIRECT));
    if (!second) {
      const int error_number = errno;
      ::unlink(path.c_str());
      if (error_number == EINVAL)
        return Error{Errc::unsupported, "the file system of '" + path + "' has no direct I/O"};
      return failed("open of '" + path + "' with O_DIRECT", error_number);
    }
  }
  OutputFile made(std::move(fd), std::move(second), path);
  made.made_ = file_at(path);
  return made;
}

Result<void> OutputFile::append(const std::vector<FilePiece>& pieces) {
  // Bytes of a file without a name are gone when it is closed. Where fstat(2) fails, the write says why.
  struct stat found {};
  if (::fstat(fd_.get(), &found) == 0 && found.st_nlink == 0 && file_at(path_) != made_)
    return Error{Errc::system, "the file '" + path_ + "' was removed while it was written"};
  if (has_rest_) {
    if (Result<void> taken_back = cut(size_); !taken_back) return taken_back;
  }
  std::uint64_t end = size_, direct_bytes = 0;
  std::size_t next = 0, skip = 0;  // the first piece that is not written, and its bytes that are
  std::vector<iovec> some;
  while (next < pieces.size()) {
    some.clear();
    std::size_t direct = 0;  // bytes that are written directly: whole pages of the next piece
    std::uint64_t at = end;
    for (std::size_t i = next; i < pieces.size() && some.size() < IOV_MAX; ++i) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): read
      char* const data = static_cast<char*>(const_cast<void*>(pieces[i].data)) + (i == next ? skip : 0);
      const std::size_t bytes = pieces[i].bytes - (i == next ? skip : 0);
      const std::size_t before = (kPageBytes - at % kPageBytes) % kPageBytes;  // in a page that has other bytes, too
      if (direct_ && bytes >= kLeastDirectBytes &&
          (reinterpret_cast<std::uintptr_t>(data) + before) % kPageBytes == 0) {
        if (before == 0 && some.empty()) direct = bytes / kPageBytes * kPageBytes;
        if (before + direct != 0) some.push_back({data, before + direct});
        break;
      }
      if (bytes != 0) some.push_back({data, bytes});
      at += bytes;
    }
    if (some.empty()) break;  // pieces without bytes
    const ssize_t written = ::pwritev(direct != 0 ? direct_.get() : fd_.get(), some.data(),
                                      static_cast<int>(some.size()), static_cast<off_t>(end));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EINVAL && direct != 0) {  // this disk wants more than whole pages
      direct_.reset();
      continue;
    }
    if (written <= 0) return take_back(end, written < 0 ? errno : ENOSPC);
    end += static_cast<std::uint64_t>(written);
    if (direct != 0) direct_bytes += static_cast<std::uint64_t>(written);
    skip += static_cast<std::size_t>(written);
    while (next < pieces.size() && skip >= pieces[next].bytes) skip -= pieces[next++].bytes;
  }
  size_ = end;
  direct_bytes_ += direct_bytes;
  return {};
}

/// The error of an append() that wrote up to `end`.
Error OutputFile::take_back(std::uint64_t end, int error_number) {
  Error error = failed("write of '" + path_ + "'", error_number);
  has_rest_ = end > size_;
  if (const Result<void> taken_back = cut(size_); !taken_back) error.message += "; " + taken_back.error().message;
  return error;
}

Result<void> OutputFile::cut(std::uint64_t bytes) {
  while (::ftruncate(fd_.get(), static_cast<off_t>(std::min(bytes, size_))) != 0) {
    if (errno != EINTR) return failed("cut of '" + path_ + "'", errno);
  }
  size_ = std::min(bytes, size_);
  has_rest_ = false;
  return {};
}

Result<void> OutputFile::close() {
  direct_.reset();
  if (::close(fd_.release()) != 0) return failed("close of '" + path_ + "'", errno);
  return {};
}

Result<std::uint64_t> free_bytes_at(const std::string& path) {
  struct statvfs found {};
  if (::statvfs(path.c_str(), &found) != 0) return failed("statvfs of '" + path + "'", errno);
  return std::uint64_t{found.f_bavail} * found.f_frsize;
}

}  // namespace baton::os
