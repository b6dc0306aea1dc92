// SPDX-License-Identifier: Apache-2.0
// Which process of this machine is at the other end of a TCP connection: a TCP socket does not carry its peer's credentials, as
// a Unix socket does. From sock_diag(7), where the kernel has it, or else /proc/net/tcp, and from /proc/PID/fd (proc(5)).
//
// Thread rules: an object is constant; any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace baton::os {

class TcpPeer {
 public:
  /// Nothing is known of it.
  TcpPeer() = default;
  /// Of the connected TCP socket `fd`, which is not retained. Without sock_diag(7) it takes time with the number of the machine's TCP sockets.
  explicit TcpPeer(int fd);

  /// Whether the socket was connected when the object was made.
  bool was_connected() const { return connected_; }
  /// Whether process `pid` of this PID namespace has the socket at the other end: no process can pretend it. Takes time
  /// with the number of the process's descriptors. Empty if it is not known: the process may not be looked into (it is
  /// of another user), or it has a network of its own and the connection comes from outside of this one.
  std::optional<bool> is(std::int32_t pid) const;

 private:
  bool connected_ = false;
  std::uint64_t socket_ = 0;  // its inode; 0: no socket of this network namespace
};

}  // namespace baton::os
