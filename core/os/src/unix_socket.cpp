// SPDX-License-Identifier: Apache-2.0
#include "baton/os/unix_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace baton::os {
namespace {

constexpr std::size_t kMaxFds = 16;
// Capped by net.core.somaxconn (4096 since Linux 5.4, 128 before). A process that finds the backlog full connects again
// later.
constexpr int kBacklog = 4096;

/// bind() or connect(), called again where there is no /proc: by the directory's own path, if it is short enough.
using Call = int (*)(int, const sockaddr*, socklen_t);
int call_at(Call call, int socket, int directory, const std::string& directory_path, const std::string& name) {
  const auto by = [&](const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
      errno = ENAMETOOLONG;
      return -1;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    int result = 0;
    do {
      result = call(socket, reinterpret_cast<const sockaddr*>(&address), size);
    } while (result != 0 && errno == EINTR);
    return result;
  };
  const int result = by("/proc/self/fd/" + std::to_string(directory) + "/" + name);
  const int failed = result == 0 ? 0 : errno;
  if (result != 0 && ::access("/proc/self/fd", X_OK) != 0) return by(directory_path + "/" + name);
  errno = failed;
  return result;
}

IoStatus socket_status(int error_number) {
  switch (error_number) {
    case EMFILE:
    case ENFILE:
      return IoStatus::kNoDescriptors;
    case EAGAIN:
      return IoStatus::kWouldBlock;
    case ECONNREFUSED:
      return IoStatus::kRefused;
    case ENOENT:
      return IoStatus::kAbsent;
    case EACCES:
    case EPERM:
      return IoStatus::kDenied;
    case ETOOMANYREFS:
      return IoStatus::kTooManyInFlight;
    case EPIPE:
    case ENOTCONN:
      return IoStatus::kClosed;
    case ECONNRESET:
      return IoStatus::kReset;
    default:
      return IoStatus::kError;
  }
}

UniqueFd make_socket() { return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

}  // namespace

IoStatus listen_at(int directory, const std::string& directory_path, const std::string& name, std::uint32_t mode,
                   std::uint32_t gid, UniqueFd& listener) {
  UniqueFd socket = make_socket();
  if (!socket) return socket_status(errno);
  if (call_at(::bind, socket.get(), directory, directory_path, name) != 0) return socket_status(errno);
  // Group sharing: the socket's group must be the directory's. A directory without the set-group-id bit does not pass
  // its group on. Failure is harmless: the kernel then refuses other users.
  if (gid != static_cast<std::uint32_t>(-1)) {
    (void)!::fchownat(directory, name.c_str(), static_cast<uid_t>(-1), gid, AT_SYMLINK_NOFOLLOW);
  }
  if (::fchmodat(directory, name.c_str(), mode, 0) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    const int failed = errno;
    (void)::unlinkat(directory, name.c_str(), 0);
    errno = failed;
    return socket_status(failed);
  }
  listener = std::move(socket);
  return IoStatus::kDone;
}

IoStatus connect_at(int directory, const std::string& directory_path, const std::string& name, UniqueFd& connected) {
  UniqueFd socket = make_socket();
  if (!socket || call_at(::connect, socket.get(), directory, directory_path, name) != 0) return socket_status(errno);
  connected = std::move(socket);
  return IoStatus::kDone;
}

IoStatus accept_one(int listener, UniqueFd& socket) {
  for (;;) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      socket.reset(fd);
      return IoStatus::kDone;
    }
    if (errno != EINTR && errno != ECONNABORTED) return socket_status(errno);
  }
}

PeerCredentials peer_credentials(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  PeerCredentials out;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    out.pid = credentials.pid;
    out.uid = credentials.uid;
  }
  return out;
}

IoStatus send_packet(int socket, const void* first, std::size_t first_bytes, const void* second,
                     std::size_t second_bytes, const int* fds, std::size_t fd_count) {
  if (fd_count > kMaxFds) {
    errno = EINVAL;
    return IoStatus::kError;
  }
  std::array<iovec, 2> parts{};
  parts[0] = {const_cast<void*>(first), first_bytes};
  parts[1] = {const_cast<void*>(second), second_bytes};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = second_bytes != 0 ? 2 : 1;
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  if (fd_count != 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return IoStatus::kDone;
    if (errno == EINTR) continue;
    // The kernel's lack of socket memory ends by itself, like a full queue.
    if (errno == ENOBUFS || errno == ENOMEM) return IoStatus::kTooManyInFlight;
    const IoStatus status = socket_status(errno);
    return status == IoStatus::kReset || status == IoStatus::kRefused ? IoStatus::kClosed : status;
  }
}

IoStatus receive_packet(int socket, void* buffer, std::size_t capacity, std::size_t max_fds, ReceivedPacket& packet) {
  packet = {};
  max_fds = std::min(max_fds, kMaxFds);
  iovec part{buffer, capacity};
  msghdr message{};
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kMaxFds * sizeof(int))> control;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  // Not CMSG_SPACE: its padding could hold one more descriptor.
  message.msg_controllen = CMSG_LEN(max_fds * sizeof(int));
  // A look, which takes the descriptors: within a call that reads, the kernel closes those for which there is no room, and a close can block.
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return socket_status(errno);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    // Take ownership before any call that can throw.
    std::array<ReceivedFd, kMaxFds> owned;
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      owned[i] = UniqueFd(fd);
    }
    packet.fds.reserve(count);
    for (std::size_t i = 0; i < count; ++i) packet.fds.push_back(std::move(owned[i]));
  }
  packet.size_bytes = static_cast<std::size_t>(got);
  packet.truncated = (message.msg_flags & MSG_TRUNC) != 0;
  packet.fds_lost = (message.msg_flags & MSG_CTRUNC) != 0;
  // The packet goes; this process has all that was in it, so nothing is closed.
  if (!packet.fds_lost) (void)!::recv(socket, nullptr, 0, MSG_DONTWAIT);
  return IoStatus::kDone;
}

bool readable_now(int socket) noexcept {
  pollfd state{socket, POLLIN, 0};
  return ::poll(&state, 1, 0) > 0;
}

bool hung_up_now(int socket) noexcept {
  pollfd state{socket, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0;
}

bool closed_now(int socket) noexcept {
  pollfd state{socket, 0, 0};
  return ::poll(&state, 1, 0) > 0;  // poll() always reports POLLHUP and POLLERR
}

void end_sending(int socket) noexcept { (void)::shutdown(socket, SHUT_WR); }
void end_both_directions(int socket) noexcept { (void)::shutdown(socket, SHUT_RDWR); }

}  // namespace baton::os
