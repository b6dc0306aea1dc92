// SPDX-License-Identifier: Apache-2.0
// Ownership of one file descriptor. Thread rules: a value; the caller synchronises shared use.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace baton::os {

/// Closes its descriptor at destruction. Move-only; -1 means empty.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    // EINTR is not retried: Linux has closed the descriptor by then (close(2), "Dealing with error returns").
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// A second, close-on-exec descriptor of the same file; empty if none is left (EMFILE) or `fd` is no descriptor.
inline UniqueFd duplicate(int fd) noexcept { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

/// A descriptor with several owners, for example one that waits in the outbound queues of several peers.
using SharedFd = std::shared_ptr<const UniqueFd>;

}  // namespace baton::os
