// SPDX-License-Identifier: Apache-2.0
// Ends resources on a thread of its own. Closing a descriptor that another process made can block: a TCP socket with SO_LINGER
// waits for its unsent bytes (socket(7)), a file of FUSE asks its server at every close, and a Unix socket takes the descriptors
// that lie unread in it along. Unmapping the last mapping of a large file frees its pages, which takes 0.1 s per GiB and more.
// None of this may happen on a thread that hands messages over, or under a lock.
// Thread rules: all functions may be called from any thread; the order in which resources end is not fixed. Threads start when
// there is something to do, and end when there is nothing left. A forked child has none of it.
// Two kinds do not wait for each other, and have at most kMostDisposalThreads threads each: memory, memfds and Unix sockets, whose
// end may take long; and all other descriptors, which only a hostile process sends, and whose close may never return.
#pragma once

#include <functional>

#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// So many resources of one kind may block at once before others of this kind have to wait for them.
inline constexpr unsigned kMostDisposalThreads = 4;

/// Closes `fd` elsewhere, without waiting for what a socket has not sent yet (SO_LINGER). If no thread can be started, here.
void dispose(UniqueFd fd) noexcept;
/// Calls `end` elsewhere, once; it must not throw. If no thread can be started, here.
void dispose(std::function<void()> end) noexcept;

/// A descriptor that another process sent. Closed at once if its close is certainly short (a memfd that frees at most 16 MiB),
/// else disposed. Move-only; may be empty.
class ReceivedFd {
 public:
  ReceivedFd() = default;
  ReceivedFd(UniqueFd fd) noexcept
      : fd_(std::move(fd)) {}  // NOLINT(google-explicit-constructor): a UniqueFd with more care
  ReceivedFd(ReceivedFd&& other) noexcept = default;
  ReceivedFd& operator=(ReceivedFd&& other) noexcept;
  ~ReceivedFd() { close(); }

  const UniqueFd& fd() const noexcept { return fd_; }
  int get() const noexcept { return fd_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  /// Leaves this empty: the new owner closes.
  [[nodiscard]] UniqueFd release() noexcept { return std::move(fd_); }

 private:
  void close() noexcept;
  UniqueFd fd_;
};

/// What a descriptor is, as far as a peer may send it.
enum class DescriptorKind : unsigned char {
  kMemory,      ///< a memfd: it has seals (fcntl(2), F_GET_SEALS)
  kWakeSocket,  ///< a connected Unix stream socket
  kOther,
};
DescriptorKind kind_of(int fd) noexcept;

}  // namespace baton::os
