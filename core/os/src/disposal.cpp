// SPDX-License-Identifier: Apache-2.0
#include "baton/os/disposal.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>

#include "baton/os/fork.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/process.hpp"

namespace baton::os {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::int64_t kShortCloseBytes = std::int64_t{16} << 20;

/// A queue of resources that end one after the other, on threads of its own.
struct Lane {
  Mutex mutex;
  std::deque<std::function<void()>> waiting BATON_GUARDED_BY(mutex);
  unsigned threads BATON_GUARDED_BY(mutex) = 0;  // each runs until `waiting` is empty
  unsigned busy BATON_GUARDED_BY(mutex) = 0;     // those of `threads` that run a function now
};

struct Disposal {
  Lane known;    // kind 1: takes long at most
  Lane strange;  // kind 2: descriptors whose close may never return
};

Disposal& disposal() { return of_this_process<Disposal>(); }

void run(Lane& own) {
  UniqueLock lock(own.mutex);
  while (!own.waiting.empty()) {
    std::function<void()> end = std::move(own.waiting.front());
    own.waiting.pop_front();
    ++own.busy;
    lock.unlock();
    end();
    end = nullptr;  // the captured objects are destroyed without the lock, too
    lock.lock();
    --own.busy;
  }
  --own.threads;
}

/// True if `end` will be called. On failure `end` is unchanged.
bool enqueue(Lane& own, std::function<void()>& end) {
  {
    const Lock lock(own.mutex);
    own.waiting.push_back(std::move(end));
    if (own.threads - own.busy >= own.waiting.size() || own.threads == kMostDisposalThreads) return true;
    ++own.threads;
  }
  Result<pthread_t> thread = start_thread("baton-end", kStackBytes, [&own] { run(own); });
  if (thread) {
    (void)::pthread_detach(*thread);
    return true;
  }
  const Lock lock(own.mutex);
  --own.threads;
  if (own.threads > 0 || own.waiting.empty()) return true;  // a running thread will call it, or has called it
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

/// Whether the close certainly returns. The close of another file may wait for a FUSE server that does not answer, or
/// for the network. The close of a listening socket also ends the connections that wait in it, with all their contents.
bool close_returns(int fd) noexcept {
  if (::fcntl(fd, F_GET_SEALS) >= 0) return true;
  int domain = 0, listens = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0;
}

// What lies unread in a Unix socket is told from its end: from now on no packet arrives, and each that lies there comes with its sender's
// credentials, an empty one too. (The end of a stream comes with credentials, too; but a stream has no empty packets.) Returns the socket's type;
// 0: no Unix socket. An honest owner of the same socket only writes to it.
int end_receiving(int socket) noexcept {
  int type = 0;
  socklen_t size = sizeof type;
  const int on = 1;
  const bool ended = ::shutdown(socket, SHUT_RD) == 0 && ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                     ::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
  return ended ? type : 0;
}

// False where it is not certain. Only a look: reading would take descriptors, or close those for which the process has no room.
bool nothing_lies_unread(int socket) noexcept {
  if (end_receiving(socket) != SOCK_SEQPACKET) return false;
  for (int i = 0; i < 2; ++i) {
    char byte = 0;
    iovec space{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
    msghdr message{};
    message.msg_iov = &space;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_PEEK);
    if (got >= 0) return got == 0 && message.msg_controllen == 0;
    if (errno != ECONNRESET) return false;  // reported once, before what lies there: the peer has left something unread
  }
  return false;
}

struct Emptied {
  unsigned calls = 0;
  bool whole =
      true;  // false: a packet lies there with more descriptors than this process wants to have at once, or has room for
};

// Closing a Unix socket closes the descriptors that lie unread in it, and each of these closes may block. So they are
// taken out, and closed one by one: by a look, since a read closes those for which there is no room.
Emptied empty(int socket) noexcept {
  const int type = end_receiving(socket);
  Emptied out;
  if (type == 0) return out;
  constexpr unsigned kMostPackets = 100000;  // far more than a socket takes
  constexpr int kMostFds = 16;               // as many as send_packet() sends
  std::array<char, 4096> bytes;              // a longer packet is cut, its descriptors are not
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kMostFds * sizeof(int))> control;
  while (out.whole && out.calls < kMostPackets) {
    ++out.calls;
    iovec space{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &space;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_PEEK | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == ECONNRESET) continue;  // reported once, before the packets
    if (got < 0 || (got == 0 && (type == SOCK_STREAM || message.msg_controllen == 0))) break;
    out.whole = (message.msg_flags & MSG_CTRUNC) == 0;
    std::array<UniqueFd, kMostFds + 1> fds;
    std::size_t count = 0;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len && count < fds.size(); at += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, reinterpret_cast<const char*>(part) + at, sizeof fd);
        fds[count++] = UniqueFd(fd);
      }
    }
    if (!out.whole) break;  // closes no last one: they lie in the socket, too
    ++out.calls;
    if (::recv(socket, bytes.data(), static_cast<std::size_t>(got), MSG_DONTWAIT) != got) break;
    for (std::size_t i = 0; i < count; ++i) dispose(std::move(fds[i]));
  }
  return out;
}

}  // namespace

unsigned take_unread(int socket) noexcept { return empty(socket).calls; }

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
    // std::function needs a copyable target.
    auto shared = std::make_shared<UniqueFd>(std::move(fd));
    dispose_in(lane, [shared] {
      // Otherwise a few sockets that wait an hour each would delay the end of all others. No effect if `fd` is no
      // socket.
      const linger none{};
      (void)::setsockopt(shared->get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
      if (empty(shared->get()).whole) {
        shared->reset();
      } else {
        dispose_in(disposal().strange, [shared] { shared->reset(); });
      }
    });
  } catch (...) {
    fd.reset();
  }
}

void close_socket(UniqueFd socket) noexcept {
  if (nothing_lies_unread(socket.get())) {
    socket.reset();
  } else {
    dispose(std::move(socket));
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
