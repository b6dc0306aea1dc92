// SPDX-License-Identifier: Apache-2.0
// Disposal: ends resources on a separate thread. Two operations can take long, so they must not run under a lock or on
// a thread that hands messages over:
// 1. Closing a descriptor that another process made can block. A TCP socket with SO_LINGER waits for its unsent bytes
//    (socket(7)). A FUSE file asks its server at every close. A Unix socket also closes the descriptors that lie unread
//    in it.
// 2. Unmapping the last mapping of a large file frees its pages, which takes 0.1 s per GiB and more.
// Thread rules: all functions may be called from any thread. The order in which resources end is not fixed. Threads
// start when there is work and end when there is none. A forked child inherits neither the threads nor the waiting
// work.
// There are two kinds of resources, which do not wait for each other and have at most kMostDisposalThreads threads
// each:
// 1. memory, memfds and Unix sockets: their end may take long;
// 2. all other descriptors: only a hostile process sends them, and their close may never return.
#pragma once

#include <functional>

#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// If this many resources of one kind block, the other resources of this kind wait.
inline constexpr unsigned kMostDisposalThreads = 4;

/// Closes `fd` on a disposal thread, without waiting for a socket's unsent bytes (SO_LINGER). Closes on the calling
/// thread if no thread can be started.
void dispose(UniqueFd fd) noexcept;
/// Calls `end` once on a disposal thread, or on the calling thread if no thread can be started. `end` must not throw.
void dispose(std::function<void()> end) noexcept;

/// Takes the descriptors that lie unread in a Unix socket out of it, up to a packet with more than 16, and disposes of them; nothing arrives at the
/// socket any more. Returns in how many system calls. No effect on another descriptor. dispose() does the same.
unsigned take_unread(int socket) noexcept;
/// Closes a Unix socket that is no listener: on the calling thread if it is one of packets and none lies unread in it, so that the close is certainly
/// short; else by dispose().
void close_socket(UniqueFd socket) noexcept;

/// A descriptor that another process sent. It is closed at once if the close is certainly short (a memfd that frees at
/// most 16 MiB), else by dispose(). Move-only; may be empty.
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
  /// Leaves this object empty: the new owner closes the descriptor.
  [[nodiscard]] UniqueFd release() noexcept { return std::move(fd_); }

 private:
  void close() noexcept;
  UniqueFd fd_;
};

/// The kinds of descriptors that a peer may send.
enum class DescriptorKind : unsigned char {
  kMemory,      ///< a memfd: it has seals (fcntl(2), F_GET_SEALS)
  kWakeSocket,  ///< a connected Unix stream socket
  kOther,
};
DescriptorKind kind_of(int fd) noexcept;

}  // namespace baton::os
