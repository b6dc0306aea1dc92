// SPDX-License-Identifier: Apache-2.0
// A descriptor that forked children do not get: it is closed in the child before fork() returns there, so a child never keeps
// its parent's end of a socket open.
// Thread rules: an object is externally synchronised; different objects are independent. An object that is made or ended under a
// ForkListener's lock is seen by every fork either as open or as closed: fork() takes those locks first.
#pragma once

#include "baton/os/unique_fd.hpp"

namespace baton::os {

class ParentOnlyFd {
 public:
  ParentOnlyFd() = default;
  explicit ParentOnlyFd(UniqueFd fd);
  ~ParentOnlyFd() { (void)release(); }
  ParentOnlyFd(const ParentOnlyFd&) = delete;
  ParentOnlyFd& operator=(const ParentOnlyFd&) = delete;

  /// -1 if empty, and in a forked child.
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  /// From here on a child inherits it as any other. Dropping the result closes it.
  UniqueFd release() noexcept;

 private:
  friend struct ParentOnlyFds;
  int fd_ = -1;
  ParentOnlyFd* previous_ = nullptr;  // in the list of all
  ParentOnlyFd* next_ = nullptr;
};

}  // namespace baton::os
