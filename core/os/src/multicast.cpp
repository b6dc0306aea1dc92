// SPDX-License-Identifier: Apache-2.0
#include "baton/os/multicast.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "baton/os/process.hpp"

namespace baton::os {
namespace {

/// Indexes of the interfaces with an IPv4 address that can multicast, or of the one that is named; `known`: there is such a one.
std::vector<int> interfaces(const std::string& wanted, bool& known) {
  std::vector<int> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, ::freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (wanted == each->ifa_name) known = true;
    if (each->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = {};
    const void* const bytes =
        each->ifa_addr->sa_family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr)
            : &reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
    if (each->ifa_addr->sa_family != AF_INET && each->ifa_addr->sa_family != AF_INET6) continue;
    ::inet_ntop(each->ifa_addr->sa_family, bytes, text, sizeof text);
    const bool named = wanted == each->ifa_name || wanted == text;
    known = known || named;
    if (each->ifa_addr->sa_family != AF_INET || (!wanted.empty() && !named)) continue;
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_MULTICAST) == 0) continue;
    if ((each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int index = static_cast<int>(::if_nametoindex(each->ifa_name));
    if (index != 0 && std::find(out.begin(), out.end(), index) == out.end()) out.push_back(index);
  }
  return out;
}

}  // namespace

Result<Multicast> Multicast::open(const std::string& group, std::uint16_t port, const std::string& interface) {
  Multicast out;
  in_addr address{};
  if (::inet_pton(AF_INET, group.c_str(), &address) != 1 || !IN_MULTICAST(ntohl(address.s_addr)))
    return Error{Errc::invalid_argument, "'" + group + "' is no IPv4 multicast address"};
  out.group_ = address.s_addr;
  out.port_ = port;
  out.interface_ = interface;
  bool known = interface.empty();
  static_cast<void>(interfaces(interface, known));
  if (!known)
    return Error{Errc::invalid_argument, "'" + interface + "' is no network interface and no address of this machine"};
  UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error("socket", errno);
  const int one = 1, zero = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);  // links of several domain directories
  ::setsockopt(fd.get(), IPPROTO_IP, IP_MULTICAST_TTL, &one, sizeof one);
  ::setsockopt(fd.get(), IPPROTO_IP, IP_MULTICAST_LOOP, &zero, sizeof zero);
  // Only what comes over an interface that this socket has joined itself.
  ::setsockopt(fd.get(), IPPROTO_IP, IP_MULTICAST_ALL, &zero, sizeof zero);
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_port = htons(port);
  bound.sin_addr.s_addr = out.group_;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&bound), sizeof bound) != 0)
    return system_error("cannot listen for multicast on UDP port " + std::to_string(port), errno);
  out.fd_ = std::make_unique<ParentOnlyFd>(std::move(fd));
  return out;
}

std::size_t Multicast::refresh() {
  bool known = false;
  const std::vector<int> now = interfaces(interface_, known);
  std::vector<int> joined;
  for (const int index : now) {
    ip_mreqn request{};
    request.imr_multiaddr.s_addr = group_;
    request.imr_ifindex = index;
    // Once more for those that are joined: an interface that has gone and come back has lost it.
    const bool ok = ::setsockopt(fd_->get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) == 0;
    if (ok || errno == EADDRINUSE) joined.push_back(index);
  }
  indexes_ = joined;
  return indexes_.size();
}

void Multicast::send(const std::byte* bytes, std::size_t size) noexcept {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port_);
  to.sin_addr.s_addr = group_;
  for (const int index : indexes_) {
    ip_mreqn from{};
    from.imr_ifindex = index;
    if (::setsockopt(fd_->get(), IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof from) != 0) continue;
    static_cast<void>(
        ::sendto(fd_->get(), bytes, size, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), sizeof to));
  }
}

std::optional<Multicast::Packet> Multicast::receive(std::byte* bytes, std::size_t size,
                                                    std::chrono::milliseconds timeout) {
  pollfd waiting{fd_->get(), POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  sockaddr_in from{};
  socklen_t from_size = sizeof from;
  const ssize_t got = ::recvfrom(fd_->get(), bytes, size, 0, reinterpret_cast<sockaddr*>(&from), &from_size);
  if (got < 0) return std::nullopt;
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &from.sin_addr, text, sizeof text);
  return Packet{text, static_cast<std::size_t>(got)};
}

}  // namespace baton::os
