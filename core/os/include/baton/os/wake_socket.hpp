// SPDX-License-Identifier: Apache-2.0
// A descriptor that becomes readable when it is notified: for users of poll() and epoll, and for waits that futex_waitv
// cannot express. It is a socket pair, not an eventfd: the notifying end goes to other processes. A peer can clear
// O_NONBLOCK on the shared file description, and only send(MSG_DONTWAIT) still cannot block then.
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
/// readable, so it counts as success. False if the other end is gone or the descriptor is no socket.
bool notify(int notify_end) noexcept;
/// Consumes every notification so far. One drain at a time. False if it consumed nothing: there was no notification, or
/// the holder of the other end did something that notify() does not do (shutdown(2), more than 4095 bytes, descriptors
/// or urgent data). The socket may stay readable then; dispose its wait_end (disposal.hpp).
bool drain(int wait_end) noexcept;
/// Blocks until readable (true) or the absolute CLOCK_MONOTONIC time (INT64_MAX: no limit).
bool wait_readable(int wait_end, std::int64_t deadline_ns) noexcept;

}  // namespace baton::os
