// SPDX-License-Identifier: Apache-2.0
// Packet sockets (AF_UNIX, SOCK_SEQPACKET) with descriptors and the peer's credentials. Every socket is non-blocking
// and close-on-exec; no function raises SIGPIPE. An address is a name inside an open directory, so the 108 bytes of
// sun_path never limit the directory's path (Linux: /proc/self/fd/<n>/<name>).
// Thread rules: no state; a socket may be used from several threads as the kernel allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/os/disposal.hpp"
#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// The outcome of a non-blocking call.
enum class IoStatus : std::uint8_t {
  kDone,
  kWouldBlock,       ///< try again when poll() reports the socket
  kRefused,          ///< connect: a socket file without a listener
  kAbsent,           ///< connect: no such name
  kDenied,           ///< connect: the file's permissions forbid it
  kNoDescriptors,    ///< EMFILE, ENFILE
  kTooManyInFlight,  ///< send: the user's descriptors in flight reach the limit (ETOOMANYREFS): try again later
  kClosed,           ///< the other end is gone
  kReset,            ///< receive: the other end closed without reading everything; its packets are still to be read
  kError,            ///< anything else: see errno
};

/// A listening socket bound to `name` in the directory, with the mode `mode` (fchmod after bind: the umask is the
/// process's). The name must not exist. IoStatus kDone, or kAbsent (the directory was removed), kNoDescriptors, kError.
IoStatus listen_at(int directory, const std::string& directory_path, const std::string& name, std::uint32_t mode,
                   std::uint32_t gid, UniqueFd& listener);
/// Connects at once or not at all. kWouldBlock: the listener's backlog is full.
IoStatus connect_at(int directory, const std::string& directory_path, const std::string& name, UniqueFd& socket);
/// kWouldBlock: no connection waits.
IoStatus accept_one(int listener, UniqueFd& socket);

struct PeerCredentials {
  std::int32_t pid = 0;  ///< 0: not visible in this pid namespace
  std::uint32_t uid = 0;
};
PeerCredentials peer_credentials(int socket);

/// One packet made of two parts, with descriptors; all or nothing.
IoStatus send_packet(int socket, const void* first, std::size_t first_bytes, const void* second,
                     std::size_t second_bytes, const int* fds, std::size_t fd_count);

struct ReceivedPacket {
  std::size_t size_bytes = 0;  ///< 0: end of file
  bool truncated = false;      ///< the packet was larger than the buffer
  bool fds_lost = false;       ///< MSG_CTRUNC: more than asked for, or no room for them; the packet still lies unread
  std::vector<ReceivedFd> fds;
};
/// At most `max_fds` (<= 16) descriptors are taken. If there are others, the socket's owner ends it by close_socket(). One thread may receive.
IoStatus receive_packet(int socket, void* buffer, std::size_t capacity, std::size_t max_fds, ReceivedPacket& packet);

/// True if a read would not block: data, end of file or an error wait.
bool readable_now(int socket) noexcept;
/// True if the other end has closed or sends nothing more, whatever still waits to be read.
bool hung_up_now(int socket) noexcept;
/// True if the other end has closed, so nothing reads there any more either.
bool closed_now(int socket) noexcept;
/// Ends this direction: the other end reads up to an end of file. No effect if called before.
void end_sending(int socket) noexcept;
/// Ends both directions, for every descriptor of this socket.
void end_both_directions(int socket) noexcept;

}  // namespace baton::os
