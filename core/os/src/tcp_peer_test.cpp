// SPDX-License-Identifier: Apache-2.0
#include "baton/os/tcp_peer.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "baton/os/process.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {
namespace {

/// A listening socket of the loopback device and its port; of both families if `v6`.
struct Listener {
  explicit Listener(bool v6) : fd(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (v6) {
      const int off = 0;
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      sockaddr_in6 any{};
      any.sin6_family = AF_INET6;
      any.sin6_addr = in6addr_any;
      socklen_t bytes = sizeof any;
      good = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), bytes) == 0 && ::listen(fd.get(), 4) == 0 &&
             ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&any), &bytes) == 0;
      port = any.sin6_port;
    } else {
      sockaddr_in loopback{};
      loopback.sin_family = AF_INET;
      loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t bytes = sizeof loopback;
      good = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&loopback), bytes) == 0 && ::listen(fd.get(), 4) == 0 &&
             ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&loopback), &bytes) == 0;
      port = loopback.sin_port;
    }
  }
  /// In network byte order.
  static UniqueFd connect_to(std::uint16_t port) {
    UniqueFd out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    loopback.sin_port = port;
    if (::connect(out.get(), reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) != 0) out.reset();
    return out;
  }
  UniqueFd accept() const { return UniqueFd(::accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

  UniqueFd fd;
  bool good = false;
  std::uint16_t port = 0;
};

class TcpPeerTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Families, TcpPeerTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "IPv6Listener" : "IPv4"; });

TEST_P(TcpPeerTest, TheProcessThatHasTheOtherEndIsFoundAndNoOtherOne) {
  const Listener listener(GetParam());
  if (!listener.good) GTEST_SKIP() << "this machine has no such sockets";
  const pid_t child = ::fork();
  if (child == 0) {
    const UniqueFd mine = Listener::connect_to(listener.port);
    ::pause();
    ::_exit(0);
  }
  const UniqueFd accepted = listener.accept();
  ASSERT_TRUE(accepted);
  const TcpPeer peer(accepted.get());
  EXPECT_TRUE(peer.was_connected());
  EXPECT_EQ(peer.is(child), true);
  EXPECT_EQ(peer.is(process_id()), false);
  EXPECT_EQ(peer.is(0), std::nullopt);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(peer.is(child), false) << "it has ended";
}

TEST_P(TcpPeerTest, TheEndThatConnectedFindsTheOneThatAccepted) {
  const Listener listener(GetParam());
  if (!listener.good) GTEST_SKIP() << "this machine has no such sockets";
  const UniqueFd connected = Listener::connect_to(listener.port);
  const UniqueFd accepted = listener.accept();
  ASSERT_TRUE(connected && accepted);
  EXPECT_EQ(TcpPeer(connected.get()).is(process_id()), true);
  EXPECT_EQ(TcpPeer(connected.get()).is(::getppid()), false);
}

TEST_P(TcpPeerTest, NoTableOfAllSocketsIsReadWhereTheKernelAnswersForOne) {
  const pid_t child = ::fork();
  if (child == 0) {  // in which the tables are empty
    const bool hidden = ::unshare(CLONE_NEWNS) == 0 &&
                        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        ::mount("/dev/null", "/proc/self/net/tcp", nullptr, MS_BIND, nullptr) == 0 &&
                        ::mount("/dev/null", "/proc/self/net/tcp6", nullptr, MS_BIND, nullptr) == 0;
    if (!hidden) ::_exit(77);
    const Listener listener(GetParam());
    const UniqueFd near = Listener::connect_to(listener.port), far = listener.accept();
    if (!near || !far) ::_exit(77);
    const bool found = TcpPeer(far.get()).is(::getpid()) == true && TcpPeer(near.get()).is(::getpid()) == true;
    ::_exit(found ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs root and such sockets";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(TcpPeerOfOtherDescriptorsTest, NothingIsKnown) {
  const Listener listener(false);
  EXPECT_FALSE(TcpPeer(listener.fd.get()).was_connected());
  EXPECT_EQ(TcpPeer(listener.fd.get()).is(process_id()), std::nullopt) << "not connected";
  EXPECT_EQ(TcpPeer(-1).is(process_id()), std::nullopt);
  EXPECT_EQ(TcpPeer().is(process_id()), std::nullopt);
}

}  // namespace
}  // namespace baton::os
