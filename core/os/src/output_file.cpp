// SPDX-License-Identifier: Apache-2.0
#include "baton/os/output_file.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "baton/os/process.hpp"

namespace baton::os {
namespace {

Error failed(const std::string& what, int error_number) {
  Error error = system_error(what, error_number);
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) error.code = Errc::limit_reached;
  if (error_number == EEXIST) error.code = Errc::already_exists;
  return error;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) return failed("open of '" + path + "'", errno);
  return OutputFile(std::move(fd), path);
}

Result<void> OutputFile::append(const std::vector<FilePiece>& pieces) {
  if (has_rest_) {
    if (Result<void> taken_back = cut(size_); !taken_back) return taken_back;
  }
  std::uint64_t end = size_;
  std::size_t next = 0, skip = 0;  // the first piece that is not written, and its bytes that are
  std::vector<iovec> some;
  while (next < pieces.size()) {
    some.clear();
    for (std::size_t i = next; i < pieces.size() && some.size() < IOV_MAX; ++i) {
      const std::size_t from = i == next ? skip : 0;
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): read
      some.push_back({static_cast<char*>(const_cast<void*>(pieces[i].data)) + from, pieces[i].bytes - from});
    }
    const ssize_t written = ::pwritev(fd_.get(), some.data(), static_cast<int>(some.size()), static_cast<off_t>(end));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      Error error = failed("write of '" + path_ + "'", written < 0 ? errno : ENOSPC);
      has_rest_ = end > size_;
      if (const Result<void> taken_back = cut(size_); !taken_back) error.message += "; " + taken_back.error().message;
      return error;
    }
    end += static_cast<std::uint64_t>(written);
    skip += static_cast<std::size_t>(written);
    while (next < pieces.size() && skip >= pieces[next].bytes) skip -= pieces[next++].bytes;
  }
  size_ = end;
  return {};
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
  if (::close(fd_.release()) != 0) return failed("close of '" + path_ + "'", errno);
  return {};
}

Result<std::uint64_t> free_bytes_at(const std::string& path) {
  struct statvfs found {};
  if (::statvfs(path.c_str(), &found) != 0) return failed("statvfs of '" + path + "'", errno);
  return std::uint64_t{found.f_bavail} * found.f_frsize;
}

}  // namespace baton::os
