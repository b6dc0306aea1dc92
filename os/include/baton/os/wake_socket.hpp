// SPDX-License-Identifier: Apache-2.0
// A descriptor that becomes readable when it is notified: for poll/epoll users, and for waiting where futex_waitv is not
// enough. A socket pair, not an eventfd: the notifying end is handed to other processes, and only send(MSG_DONTWAIT) cannot be made to
// block by a peer that clears O_NONBLOCK on the shared file description.
// Thread rules: notify is thread-safe; drain by one thread at a time.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

struct WakeSocket {
  UniqueFd wait_end;    ///< readable after a notification, until drained
  UniqueFd notify_end;  ///< may be given to other processes

  static Result<WakeSocket> create();
};

/// One system call; never blocks and never raises SIGPIPE, whatever the descriptor really is. A full socket is already
/// readable, so that is success; false if the other end is gone or the descriptor is no socket.
bool notify(int notify_end) noexcept;
/// Takes back every notification so far. One drain at a time. False if it took nothing back: there was none, or the holder of
/// the other end did what notify() does not do (shutdown(2), more than 4095 bytes, descriptors or urgent data among them). The
/// socket may stay readable then; its wait_end is to be disposed (disposal.hpp).
bool drain(int wait_end) noexcept;
/// Blocks until readable (true) or the absolute CLOCK_MONOTONIC time (INT64_MAX: no limit).
bool wait_readable(int wait_end, std::int64_t deadline_ns) noexcept;

}  // namespace baton::os
