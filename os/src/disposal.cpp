// SPDX-License-Identifier: Apache-2.0
#include "baton/os/disposal.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>

#include "baton/os/fork.hpp"
#include "baton/os/process.hpp"

namespace baton::os {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::int64_t kShortCloseBytes = std::int64_t{16} << 20;

/// Resources that end in turn, on threads of their own.
struct Lane {
  std::mutex mutex;
  std::deque<std::function<void()>> waiting;
  unsigned threads = 0;  // each runs until `waiting` is empty
  unsigned busy = 0;     // of these, in a function now
};

struct Disposal {
  Lane known;    // takes long at most
  Lane strange;  // descriptors whose close may never return
};

Disposal& disposal() { return of_this_process<Disposal>(); }

void run(Lane& own) {
  std::unique_lock<std::mutex> lock(own.mutex);
  while (!own.waiting.empty()) {
    std::function<void()> end = std::move(own.waiting.front());
    own.waiting.pop_front();
    ++own.busy;
    lock.unlock();
    end();
    end = nullptr;  // what it holds ends without the lock, too
    lock.lock();
    --own.busy;
  }
  --own.threads;
}

/// True if `end` will be called. On failure it is left as it was.
bool enqueue(Lane& own, std::function<void()>& end) {
  {
    const std::lock_guard<std::mutex> lock(own.mutex);
    own.waiting.push_back(std::move(end));
    if (own.threads - own.busy >= own.waiting.size() || own.threads == kMostDisposalThreads) return true;
    ++own.threads;
  }
  Result<pthread_t> thread = start_thread("baton-end", kStackBytes, [&own] { run(own); });
  if (thread) {
    (void)::pthread_detach(*thread);
    return true;
  }
  const std::lock_guard<std::mutex> lock(own.mutex);
  --own.threads;
  if (own.threads > 0 || own.waiting.empty()) return true;  // another one does it, or has
  end = std::move(own.waiting.back());
  own.waiting.pop_back();
  return false;
}

void dispose_in(Lane& lane, std::function<void()> end) noexcept {
  bool enqueued = false;
  try {
    enqueued = enqueue(lane, end);
  } catch (...) {  // no memory, no thread
  }
  if (!enqueued && end) end();
}

/// Whether the close ends by itself. That of another file may ask somebody who does not answer (FUSE), or wait for the network; that of a
/// socket that listens ends the connections that wait in it, with all that lies in them.
bool close_returns(int fd) noexcept {
  if (::fcntl(fd, F_GET_SEALS) >= 0) return true;
  int domain = 0, listens = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0;
}

/// Descriptors that lie unread in a Unix socket end with it, and the end of each may block. So they are taken out, and end one by one.
void empty(int socket) noexcept {
  // Nothing arrives from now on. An honest owner of the same socket only writes to it.
  if (::shutdown(socket, SHUT_RD) != 0) return;
  constexpr int kMostFds = 253;         // SCM_MAX_FD, unix(7)
  constexpr int kMostPackets = 100000;  // far more than a socket takes
  std::array<char, 4096> bytes;         // what is longer is cut, its descriptors are not
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFds * sizeof(int))> control;
  int type = 0;
  socklen_t size = sizeof type;
  const bool stream = ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
  int empty_packets = 0;
  for (int i = 0; i < kMostPackets && empty_packets < 1000; ++i) {
    iovec space{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &space;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return;
    if (got == 0 && message.msg_controllen == 0) {
      if (stream) return;
      ++empty_packets;  // or the end, which looks the same
    }
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, reinterpret_cast<const char*>(part) + at, sizeof fd);
        dispose(UniqueFd(fd));
      }
    }
  }
}

}  // namespace

void dispose(std::function<void()> end) noexcept {
  try {
    dispose_in(disposal().known, std::move(end));
  } catch (...) {
    if (end) end();
  }
}

void dispose(UniqueFd fd) noexcept {
  if (!fd) return;
  try {
    Disposal& own = disposal();
    Lane& lane = close_returns(fd.get()) ? own.known : own.strange;
    // std::function wants to copy what it holds.
    auto shared = std::make_shared<UniqueFd>(std::move(fd));
    dispose_in(lane, [shared] {
      // Else a few sockets that wait an hour each would keep all that comes behind them from ending. No socket: no effect.
      const linger none{};
      (void)::setsockopt(shared->get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
      empty(shared->get());
      shared->reset();
    });
  } catch (...) {
    fd.reset();
  }
}

ReceivedFd& ReceivedFd::operator=(ReceivedFd&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::move(other.fd_);
  }
  return *this;
}

void ReceivedFd::close() noexcept {
  if (!fd_) return;
  struct stat status {};
  const bool is_short = kind_of(fd_.get()) == DescriptorKind::kMemory && ::fstat(fd_.get(), &status) == 0 &&
                        status.st_blocks <= kShortCloseBytes / 512;
  if (is_short) {
    fd_.reset();
  } else {
    dispose(std::move(fd_));
  }
}

DescriptorKind kind_of(int fd) noexcept {
  if (::fcntl(fd, F_GET_SEALS) >= 0) return DescriptorKind::kMemory;
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) return DescriptorKind::kOther;
  size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return DescriptorKind::kOther;
  return DescriptorKind::kWakeSocket;
}

}  // namespace baton::os
