// SPDX-License-Identifier: Apache-2.0
#include "baton/os/wake_socket.hpp"

#include <poll.h>

#include <cstring>
#include <string>

#include "baton/os/clock.hpp"

namespace baton::os {

Result<WakeSocket> WakeSocket::create() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    const int code = errno;
    return Error{code == EMFILE || code == ENFILE ? Errc::out_of_descriptors : Errc::system,
                 std::string("socketpair for waking: ") + std::strerror(code)};
  }
  // Makes the buffer so large that single bytes never add up to what drain() treats as a flood, whatever
  // net.core.wmem_default is. The call fails if the descriptor is no socket.
  const int send_bytes = 65536;
  (void)::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
  WakeSocket out;
  out.wait_end = UniqueFd(ends[0]);
  out.notify_end = UniqueFd(ends[1]);
  return out;
}

bool notify(int notify_end) noexcept {
  const char byte = 1;
  return ::send(notify_end, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 || errno == EAGAIN || errno == ENOBUFS ||
         errno == EINTR;
}

bool drain(int wait_end) noexcept {
  char bytes[4096];
  iovec space{bytes, sizeof bytes};
  msghdr message{};
  message.msg_iov = &space;
  message.msg_iovlen = 1;
  // Peek first: reading would close the descriptors that lie between the bytes (SCM_RIGHTS), and a close can block.
  const ssize_t size = ::recvmsg(wait_end, &message, MSG_PEEK | MSG_DONTWAIT);
  if (size <= 0 || size == static_cast<ssize_t>(sizeof bytes) || (message.msg_flags & MSG_CTRUNC) != 0) return false;
  // A notification that arrives meanwhile stays: the call reads no more bytes than the peek saw.
  return ::recv(wait_end, bytes, static_cast<std::size_t>(size), MSG_DONTWAIT) == size;
}

bool wait_readable(int wait_end, std::int64_t deadline_ns) noexcept {
  pollfd entry{wait_end, POLLIN, 0};
  timespec left{};
  timespec* limit = nullptr;
  if (deadline_ns != INT64_MAX) {
    std::int64_t ns = deadline_ns - monotonic_ns();
    if (ns < 0) ns = 0;
    left.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    left.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    limit = &left;
  }
  const int ready = ::ppoll(&entry, 1, limit, nullptr);
  return ready > 0 || (ready < 0 && errno == EINTR);
}

}  // namespace baton::os
