// SPDX-License-Identifier: Apache-2.0
// A descriptor that forked children do not get. It is closed in the child before fork() returns there, so a child never
// keeps the parent's end of a socket open.
// Thread rules: an object is externally synchronised; different objects are independent. Every fork sees an object that
// is made or ended under a ForkListener's lock either as open or as closed, because fork() takes those locks first.
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
  /// From this call on, a child inherits the descriptor as any other. Destroying the result closes the descriptor.
  UniqueFd release() noexcept;

 private:
  friend struct ParentOnlyFds;
  int fd_ = -1;
  ParentOnlyFd* previous_ = nullptr;  // in the list of all ParentOnlyFds
  ParentOnlyFd* next_ = nullptr;
};

}  // namespace baton::os
