// SPDX-License-Identifier: Apache-2.0
// TCP connections between machines (tcp(7), ip(7), ipv6(7)). Descriptors are close-on-exec, send without delay (TCP_NODELAY), and
// are not kept by forked children.
// Thread rules: one thread reads and one writes a TcpSocket at the same time; shut_down() from any thread. A TcpListener: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/parent_only_fd.hpp"
#include "baton/os/result.hpp"

namespace baton::os {

/// Bytes of the caller's that a call reads or writes.
struct IoPart {
  void* bytes = nullptr;
  std::size_t size = 0;
};

/// A connection to another machine. Calls that wait are ended by shut_down().
class TcpSocket {
 public:
  /// Of a connected or connecting descriptor. `unsent_bytes`: how much of what was written the kernel keeps unsent at most
  /// (TCP_NOTSENT_LOWAT), so that what is written next is not late; 0: the kernel's choice.
  explicit TcpSocket(UniqueFd fd, std::size_t unsent_bytes);
  ~TcpSocket();
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  /// True once bytes can be read (or the connection has ended); false after `timeout`.
  bool wait_readable(std::chrono::milliseconds timeout) const noexcept;
  /// Bytes read into the parts, in their order; 0: the other end has closed. Waits for the first byte. At most kMaxParts parts.
  /// Error system: the connection is broken.
  Result<std::size_t> read(const IoPart* parts, std::size_t count) noexcept;
  /// Writes all parts; waits while the other end takes none. At most kMaxParts. Error system: the connection is broken.
  Result<void> write(const IoPart* parts, std::size_t count) noexcept;
  /// Writes what the kernel takes at once, perhaps nothing; for last words on a connection that is ended. Any thread.
  void try_write(const std::byte* bytes, std::size_t size) noexcept;
  /// Another `unsent_bytes`.
  void keep_unsent(std::size_t bytes) noexcept;
  /// Marks the packets with a differentiated services code point (RFC 2474), 0 to 63, which routers and Wi-Fi may use as a priority.
  void mark(std::uint8_t code_point) noexcept;
  /// Ends the connection and the calls that wait in it.
  void shut_down() noexcept;

  /// Of the other end: the address as text, without the port.
  const std::string& address() const noexcept { return address_; }
  std::uint16_t port() const noexcept { return port_; }  ///< of the other end; 0: not known
  struct Measured {
    std::uint64_t sent_again = 0;  ///< segments (tcpi_total_retrans)
  };
  Measured measured() const noexcept;
  int fd() const noexcept { return fd_.get(); }

  static constexpr std::size_t kMaxParts = 256;

 private:
  ParentOnlyFd fd_;
  std::string address_;
  std::uint16_t port_ = 0;
};

/// The network of an address as TcpSocket::address() has it, in which one machine may have any number of addresses: of IPv6 the /64, else the
/// address itself.
std::string network_of(const std::string& address);

/// Whether an address as TcpSocket::address() has it is of a range that routers of the Internet do not forward: loopback, link-local (RFC 3927,
/// RFC 4291), private (RFC 1918, RFC 4193) or shared (RFC 6598). What is no address is none.
bool is_local_range(const std::string& address);

/// The addresses of this machine, in the form of TcpSocket::address(): of all interfaces that are up, or of `interface`, a name or an address.
/// Empty if the system does not say them.
std::vector<std::string> own_addresses(const std::string& interface);

/// Where a socket is bound: an interface's name, an address of this machine, or empty: anywhere.
struct TcpPlace {
  std::string interface;
  std::uint16_t port = 0;
};

class TcpListener {
 public:
  /// IPv6 and IPv4 where the machine has both. Errors: already_exists (the port, named), invalid_argument (the interface), system.
  static Result<TcpListener> open(const TcpPlace& place);
  /// Waits up to `timeout` for a connection; an empty pointer if none came. Errors: out_of_descriptors, system.
  Result<std::unique_ptr<TcpSocket>> accept(std::chrono::milliseconds timeout, std::size_t unsent_bytes);
  std::uint16_t port() const noexcept { return port_; }

 private:
  std::unique_ptr<ParentOnlyFd> fd_;
  std::uint16_t port_ = 0;
};

/// Connects to HOST, a name or address, from `from.interface`; tries all its addresses. Waits up to `timeout` for each, and as long as the
/// system takes to find the name. `stop` is asked every 100 ms, and ends it. `found`: all its addresses, as TcpSocket::address() has
/// them. Errors: not_found (the name), timed_out, system.
Result<std::unique_ptr<TcpSocket>> tcp_connect(const std::string& host, std::uint16_t port, const TcpPlace& from,
                                               std::chrono::milliseconds timeout, std::size_t unsent_bytes,
                                               bool (*stop)(void*), void* context,
                                               std::vector<std::string>* found = nullptr);

}  // namespace baton::os
