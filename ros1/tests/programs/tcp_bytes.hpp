// SPDX-License-Identifier: Apache-2.0
// What the TCP connections of this process have received, in bytes (tcp(7), TCP_INFO).
#pragma once

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

inline std::uint64_t tcp_bytes() {
  std::uint64_t sum = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) sum += info.tcpi_bytes_received;
  }
  return sum;
}
