// SPDX-License-Identifier: Apache-2.0
// Waiting for many descriptors at once (epoll, level-triggered) with a wake-up from other threads.
// Thread rules: wait() by one thread at a time; all else from any thread. close_after_fork() only in a forked child.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

class Poller {
 public:
  struct Event {
    std::uint64_t token = 0;
    bool readable = false;  ///< or hung up or in error: read to learn which
    bool writable = false;
    bool hung_up = false;  ///< of a socket: the other end has closed, or will send nothing more
  };
  /// The events to report besides the closing of the other end.
  enum class Interest : std::uint8_t { kRead, kReadWrite, kHangUp, kHangUpWrite };

  /// The most events that one wait() returns: with this capacity in `events`, wait() allocates nothing.
  static constexpr std::size_t kMaxEvents = 64;

  static Result<Poller> create();

  /// Readable while wait() would return at once. Owned by this.
  int fd() const noexcept { return epoll_.get(); }

  /// `token` comes back with the events; ~0 is reserved. On false, errno gives the reason. Call remove() before
  /// close(): a copy of the descriptor in another process would keep it registered in epoll.
  bool add(int fd, std::uint64_t token) noexcept;  ///< kRead
  void modify(int fd, std::uint64_t token, Interest interest) noexcept;
  void remove(int fd) noexcept;

  /// Makes a running or the next wait() return. Any thread, never blocks.
  void wake() noexcept;
  /// Fills `events` with the ready descriptors. Without a deadline it sleeps until an event or a wake-up. A wake-up or
  /// the deadline gives an empty list. The result says whether the wait itself worked.
  Result<void> wait(std::optional<std::chrono::steady_clock::time_point> deadline, std::vector<Event>& events);

  void close_after_fork() noexcept;

 private:
  UniqueFd epoll_;
  UniqueFd wake_;
};

}  // namespace baton::os
