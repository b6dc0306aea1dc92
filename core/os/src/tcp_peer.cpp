// SPDX-License-Identifier: Apache-2.0
#include "baton/os/tcp_peer.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "baton/os/unique_fd.hpp"

namespace baton::os {
namespace {

/// An address as IPv6 has it, also one of IPv4 (RFC 4291, 2.5.5.2): the two ends may have sockets of different families.
struct AddressAsIpv6 {
  std::array<std::uint32_t, 4> words{};
  std::uint16_t port = 0;

  bool is_v4() const { return words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff); }
  /// As /proc/net/tcp and tcp6 write it: words of 32 bits in the machine's byte order.
  std::string text(bool v4) const {
    std::string out;
    std::array<char, 9> digits{};
    for (std::size_t i = v4 ? 3 : 0; i < words.size(); ++i) {
      std::snprintf(digits.data(), digits.size(), "%08X", words[i]);
      out += digits.data();
    }
    std::snprintf(digits.data(), digits.size(), ":%04X", port);
    return out + digits.data();
  }
};

std::optional<AddressAsIpv6> address_of(const sockaddr_storage& socket) {
  AddressAsIpv6 out;
  if (socket.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &socket, sizeof v4);
    out.words = {0, 0, htonl(0xffff), v4.sin_addr.s_addr};
    out.port = ntohs(v4.sin_port);
  } else if (socket.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &socket, sizeof v6);
    std::memcpy(out.words.data(), v6.sin6_addr.s6_addr, sizeof out.words);
    out.port = ntohs(v6.sin6_port);
  } else {
    return std::nullopt;
  }
  return out;
}

/// The kernel's answer about the socket with these two addresses (sock_diag(7)): its inode, 0 for one that no process has any more. Empty: there
/// is none, or the kernel does not answer such questions.
std::optional<std::uint64_t> ask_kernel(const UniqueFd& netlink, const AddressAsIpv6& local,
                                        const AddressAsIpv6& remote) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 question;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  inet_diag_req_v2& question = request.question;
  const bool v4 = local.is_v4();
  question.sdiag_family = v4 ? AF_INET : AF_INET6;
  question.sdiag_protocol = IPPROTO_TCP;
  question.idiag_states = ~0U;
  question.id.idiag_sport = htons(local.port);
  question.id.idiag_dport = htons(remote.port);
  for (std::size_t from = v4 ? 3 : 0, to = 0; from < local.words.size(); ++from, ++to) {
    question.id.idiag_src[to] = local.words[from];
    question.id.idiag_dst[to] = remote.words[from];
  }
  question.id.idiag_cookie[0] = question.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(netlink.get(), &request, sizeof request, 0) != sizeof request) return std::nullopt;
  alignas(nlmsghdr) std::array<char, 1024> answer{};
  const ssize_t got =
      ::recv(netlink.get(), answer.data(), answer.size(), MSG_DONTWAIT);  // answered before send() returned
  nlmsghdr header{};
  inet_diag_msg found{};
  if (got < static_cast<ssize_t>(sizeof header + sizeof found)) return std::nullopt;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  std::memcpy(&found, answer.data() + sizeof header, sizeof found);
  return found.idiag_inode;
}

/// In the kernel's tables, which other processes can make long. The inode of the socket with these two addresses; 0: there is none.
std::uint64_t find_socket(const char* table, const std::string& local, const std::string& remote) {
  std::ifstream file(table);
  const std::string wanted = " " + local + " " + remote + " ";
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(wanted);
    if (at == std::string::npos) continue;
    // st, tx_queue:rx_queue, tr:tm->when, retrnsmt, uid, timeout, inode
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str() + at + wanted.size(), "%*s %*s %*s %*s %*s %*s %llu", &inode) == 1) return inode;
  }
  return 0;
}

std::string link_target(const std::string& path) {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

TcpPeer::TcpPeer(int fd) {
  sockaddr_storage own{}, other{};
  socklen_t own_bytes = sizeof own, other_bytes = sizeof other;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_bytes) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_bytes) != 0) {
    return;
  }
  const std::optional<AddressAsIpv6> here = address_of(own), there = address_of(other);
  if (!here || !there) return;
  connected_ = true;
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (netlink) {
    const std::optional<std::uint64_t> found = ask_kernel(netlink, *there, *here);
    socket_ = found.value_or(0);
    // A kernel that knows this end answers: the other end is not one of this network namespace, or is gone.
    if (found || ask_kernel(netlink, *here, *there)) return;
  }
  // The kernel's tables may leave a line out while others are removed: look twice.
  for (int i = 0; i < 2 && socket_ == 0; ++i) {
    if (here->is_v4()) socket_ = find_socket("/proc/net/tcp", there->text(true), here->text(true));
    if (socket_ == 0) socket_ = find_socket("/proc/net/tcp6", there->text(false), here->text(false));
  }
}

std::optional<bool> TcpPeer::is(std::int32_t pid) const {
  if (!connected_ || pid <= 0) return std::nullopt;
  const std::string process = "/proc/" + std::to_string(pid);
  if (socket_ == 0) {
    const std::string theirs = link_target(process + "/ns/net");
    if (theirs.empty() || theirs != link_target("/proc/self/ns/net")) return std::nullopt;
    return false;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir((process + "/fd").c_str()), ::closedir);
  if (!folder) {
    if (errno == ENOENT) return false;  // it has ended, and its sockets with it
    return std::nullopt;
  }
  const std::string wanted = "socket:[" + std::to_string(socket_) + "]";
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] == '.') continue;
    if (link_target(process + "/fd/" + entry->d_name) == wanted) return true;
  }
  return false;
}

}  // namespace baton::os
