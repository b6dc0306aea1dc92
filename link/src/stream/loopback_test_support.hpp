// SPDX-License-Identifier: Apache-2.0
// Sockets of the loopback device, for tests.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace baton::link {

inline int listen_on_loopback(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 64) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}
inline std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}
/// A port that nobody listens on. The kernel gives it to no other program either, for which any port would do: it is below those
/// (net.ipv4.ip_local_port_range). Test programs that run at once begin at different ones.
inline std::uint16_t free_port() {
  constexpr int kFirst = 12000, kCount = 20000;
  static std::atomic<int> next{::getpid() * 97 % kCount};
  for (int tries = 0; tries < kCount; ++tries) {
    const int fd = listen_on_loopback(static_cast<std::uint16_t>(kFirst + next++ % kCount));
    if (fd < 0) continue;
    const std::uint16_t port = port_of(fd);
    ::close(fd);
    return port;
  }
  throw std::runtime_error("no port is free");
}
inline int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace baton::link
