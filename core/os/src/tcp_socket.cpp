// SPDX-License-Identifier: Apache-2.0
#include "baton/os/tcp_socket.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "baton/os/process.hpp"

namespace baton::os {
namespace {

constexpr std::chrono::milliseconds kAsk{100};

void set(int fd, int level, int name, int value) noexcept { ::setsockopt(fd, level, name, &value, sizeof value); }

/// As text, without the port; an IPv4 address in its own form, also over an IPv6 socket.
std::string text_of(const sockaddr* of, socklen_t size) {
  char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1] = {};
  if (::getnameinfo(of, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  const std::string address = text;
  return address.rfind("::ffff:", 0) == 0 && address.find('.') != std::string::npos ? address.substr(7) : address;
}

std::uint16_t port_of(const sockaddr_storage& of) {
  return ntohs(of.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(of).sin6_port
                                        : reinterpret_cast<const sockaddr_in&>(of).sin_port);
}

/// An address of `text`, for any port; size 0: it is none.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
Address parse(const std::string& text, std::uint16_t port) {
  Address out;
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(text.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return out;
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return out;
}

Result<void> bind_to_device(int fd, const std::string& name) {
  if (::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name.c_str(), static_cast<socklen_t>(name.size())) == 0) return {};
  if (errno == ENODEV || errno == EINVAL)
    return Error{Errc::invalid_argument, "'" + name + "' is no network interface and no address of this machine"};
  return system_error("cannot use the network interface '" + name + "'", errno);
}

}  // namespace

std::string network_of(const std::string& address) {
  const std::size_t zone = address.find('%');
  in6_addr bytes{};
  if (::inet_pton(AF_INET6, address.substr(0, zone).c_str(), &bytes) != 1) return address;
  std::memset(bytes.s6_addr + 8, 0, 8);
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET6, &bytes, text, sizeof text);
  return std::string(text) + "/64" + (zone == std::string::npos ? "" : address.substr(zone));
}

bool is_local_range(const std::string& address) {
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) {
    const std::uint32_t bits = ntohl(four.s_addr);
    const auto is_in = [&](std::uint32_t network, int length) { return (bits ^ network) >> (32 - length) == 0; };
    return is_in(0x7F000000, 8) || is_in(0x0A000000, 8) || is_in(0xAC100000, 12) || is_in(0xC0A80000, 16) ||
           is_in(0xA9FE0000, 16) || is_in(0x64400000, 10);
  }
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &six) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_LINKLOCAL(&six) || (six.s6_addr[0] & 0xFE) == 0xFC;
}

std::vector<std::string> own_addresses(const std::string& interface) {
  std::vector<std::string> out;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return out;
  for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::string address = text_of(each->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (interface.empty() || interface == each->ifa_name || interface == address) out.push_back(std::move(address));
  }
  ::freeifaddrs(found);
  return out;
}

TcpSocket::TcpSocket(UniqueFd fd, std::size_t unsent_bytes) : fd_(std::move(fd)) {
  sockaddr_storage other{};
  socklen_t size = sizeof other;
  if (::getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&other), &size) == 0) {
    address_ = text_of(reinterpret_cast<const sockaddr*>(&other), size);
    port_ = port_of(other);
  }
  set(fd_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (unsent_bytes != 0) keep_unsent(unsent_bytes);
}

TcpSocket::~TcpSocket() = default;

bool TcpSocket::wait_readable(std::chrono::milliseconds timeout) const noexcept {
  pollfd waiting{fd_.get(), POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(timeout.count())) != 0;
}

Result<std::size_t> TcpSocket::read(const IoPart* parts, std::size_t count) noexcept {
  std::array<iovec, kMaxParts> vector;
  const std::size_t used = std::min(count, kMaxParts);
  for (std::size_t i = 0; i < used; ++i) vector[i] = {parts[i].bytes, parts[i].size};
  for (;;) {
    const ssize_t got = ::readv(fd_.get(), vector.data(), static_cast<int>(used));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return system_error("read", errno);
  }
}

Result<void> TcpSocket::write(const IoPart* parts, std::size_t count) noexcept {
  std::array<iovec, kMaxParts> vector;
  const std::size_t used = std::min(count, kMaxParts);
  for (std::size_t i = 0; i < used; ++i) vector[i] = {parts[i].bytes, parts[i].size};
  iovec* at = vector.data();
  std::size_t left = used;
  while (left > 0) {
    msghdr message{};
    message.msg_iov = at;
    message.msg_iovlen = left;
    const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return system_error("write", errno);
    }
    auto bytes = static_cast<std::size_t>(sent);
    while (left > 0 && bytes >= at->iov_len) {
      bytes -= at->iov_len;
      ++at;
      --left;
    }
    if (left > 0) {
      at->iov_base = static_cast<char*>(at->iov_base) + bytes;
      at->iov_len -= bytes;
    }
  }
  return {};
}

void TcpSocket::try_write(const std::byte* bytes, std::size_t size) noexcept {
  [[maybe_unused]] const ssize_t sent = ::send(fd_.get(), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void TcpSocket::keep_unsent(std::size_t bytes) noexcept {
  set(fd_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, static_cast<int>(bytes));
}

void TcpSocket::mark(std::uint8_t code_point) noexcept {
  const int octet = code_point << 2;
  set(fd_.get(), IPPROTO_IP, IP_TOS, octet);  // also of an IPv6 socket, whose packets may be IPv4 ones
  set(fd_.get(), IPPROTO_IPV6, IPV6_TCLASS, octet);
}

void TcpSocket::shut_down() noexcept { ::shutdown(fd_.get(), SHUT_RDWR); }

TcpSocket::Measured TcpSocket::measured() const noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return {info.tcpi_total_retrans};
}

Result<TcpListener> TcpListener::open(const TcpPlace& place) {
  Address address = place.interface.empty() ? Address{} : parse(place.interface, place.port);
  const bool device = !place.interface.empty() && address.size == 0;
  // One socket for both kinds of addresses, or an IPv4 one where the machine has no IPv6.
  if (address.size == 0) address = parse("::", place.port);
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd && address.storage.ss_family == AF_INET6 && (place.interface.empty() || device)) {
    address = parse("0.0.0.0", place.port);
    fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  if (!fd) return system_error("socket", errno);
  if (address.storage.ss_family == AF_INET6 && (place.interface.empty() || device))
    set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (device) {
    if (Result<void> bound = bind_to_device(fd.get(), place.interface); !bound) return bound.error();
  }
  const std::string port = std::to_string(place.port);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0) {
    const int reason = errno;
    if (reason == EADDRINUSE) {
      return Error{Errc::already_exists,
                   "TCP port " + port + " is in use by another program; choose another one, or end that program"};
    }
    if (reason == EADDRNOTAVAIL)
      return Error{Errc::invalid_argument, "'" + place.interface + "' is no address of this machine"};
    return system_error("cannot listen on TCP port " + port, reason);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  TcpListener listener;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0) listener.port_ = port_of(bound);
  listener.fd_ = std::make_unique<ParentOnlyFd>(std::move(fd));
  return listener;
}

Result<std::unique_ptr<TcpSocket>> TcpListener::accept(std::chrono::milliseconds timeout, std::size_t unsent_bytes) {
  pollfd waiting{fd_->get(), POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(timeout.count())) <= 0) return std::unique_ptr<TcpSocket>();
  UniqueFd fd(::accept4(fd_->get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) return system_error("accept", errno);
    return std::unique_ptr<TcpSocket>();  // the other end has gone already (accept(2), "Error handling")
  }
  return std::make_unique<TcpSocket>(std::move(fd), unsent_bytes);
}

namespace {

/// "fe80::1" without "%eth0" (RFC 4007): there is such an address on every interface, and the kernel does not choose one.
bool wants_interface(const sockaddr* address) noexcept {
  if (address->sa_family != AF_INET6) return false;
  const auto& of = *reinterpret_cast<const sockaddr_in6*>(address);
  return IN6_IS_ADDR_LINKLOCAL(&of.sin6_addr) && of.sin6_scope_id == 0;
}

Result<void> connect_within(int fd, const sockaddr* address, socklen_t size, std::chrono::milliseconds timeout,
                            bool (*stop)(void*), void* context) {
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  if (::connect(fd, address, size) != 0) {
    if (errno == EINVAL && wants_interface(address)) {
      const std::string text = text_of(address, size);
      return Error{Errc::invalid_argument,
                   text + " is an address of one network only; name the interface to that network behind it, as in " +
                       text + "%eth0"};
    }
    if (errno != EINPROGRESS) return system_error("connect", errno);
    const auto end = std::chrono::steady_clock::now() + timeout;
    pollfd waiting{fd, POLLOUT, 0};
    while (::poll(&waiting, 1, static_cast<int>(kAsk.count())) <= 0) {
      if (std::chrono::steady_clock::now() >= end || stop(context)) return Error{Errc::timed_out, "it does not answer"};
    }
    int error = 0;
    socklen_t error_size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
    if (error != 0) return system_error("connect", error);
  }
  ::fcntl(fd, F_SETFL, flags);
  return {};
}

}  // namespace

Result<std::unique_ptr<TcpSocket>> tcp_connect(const std::string& host, std::uint16_t port, const TcpPlace& from,
                                               std::chrono::milliseconds timeout, std::size_t unsent_bytes,
                                               bool (*stop)(void*), void* context,
                                               std::vector<std::string>* addresses) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) return Error{Errc::not_found, "host '" + host + "': " + ::gai_strerror(failed)};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  for (const addrinfo* each = found; addresses != nullptr && each != nullptr; each = each->ai_next)
    addresses->push_back(text_of(each->ai_addr, each->ai_addrlen));
  Error last{Errc::not_found, "host '" + host + "' has no address"};
  for (const addrinfo* each = all.get(); each != nullptr && !stop(context); each = each->ai_next) {
    UniqueFd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) {
      last = system_error("socket", errno);
      continue;
    }
    if (!from.interface.empty()) {
      const Address own = parse(from.interface, 0);
      Result<void> bound;
      if (own.size == 0) {
        bound = bind_to_device(fd.get(), from.interface);
      } else if (own.storage.ss_family != each->ai_family) {
        continue;
      } else if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own.storage), own.size) != 0) {
        bound = system_error("bind to " + from.interface, errno);
      }
      if (!bound) {
        last = bound.error();
        continue;
      }
    }
    if (Result<void> connected = connect_within(fd.get(), each->ai_addr, each->ai_addrlen, timeout, stop, context);
        !connected) {
      last = Error{connected.error().code, host + ": " + connected.error().message};
      continue;
    }
    return std::make_unique<TcpSocket>(std::move(fd), unsent_bytes);
  }
  return last;
}

}  // namespace baton::os
