// SPDX-License-Identifier: Apache-2.0
#include "wake_sockets.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <vector>

namespace baton::transport {
namespace {

struct Pair {
  os::UniqueFd wait_end, notify_end;
  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    wait_end = os::UniqueFd(ends[0]);
    notify_end = os::UniqueFd(ends[1]);
  }
  os::ReceivedFd received() const { return os::ReceivedFd(os::duplicate(notify_end.get())); }
};

TEST(WakeSockets, ThatAreTheSameShareOneDescriptor) {
  const Pair pair, other;
  WakeSockets sockets;
  const WakeSocketRef first = sockets.keep(1, pair.received()).or_throw();
  const WakeSocketRef again = sockets.keep(1, pair.received()).or_throw();
  EXPECT_EQ(first, again);
  EXPECT_NE(first, sockets.keep(1, other.received()).or_throw());
  EXPECT_NE(first, sockets.keep(2, pair.received()).or_throw()) << "another process's is its own";
}

TEST(WakeSockets, OfOneProcessAreBoundedAndThoseThatWentCountNoMore) {
  WakeSockets sockets;
  std::vector<WakeSocketRef> kept;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{400, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::size_t most = WakeSockets::limit();
  EXPECT_EQ(most, 50U);
  for (std::size_t i = 0; i < most; ++i) kept.push_back(sockets.keep(1, Pair().received()).or_throw());
  const Pair one_more;
  const auto refused = sockets.keep(1, one_more.received());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::limit_reached);
  EXPECT_NE(refused.error().message.find(std::to_string(WakeSockets::limit())), std::string::npos);
  EXPECT_TRUE(sockets.keep(2, one_more.received())) << "another process has its own bound";
  kept.pop_back();
  EXPECT_TRUE(sockets.keep(1, one_more.received()));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(WakeSockets, OfThisProcessAreNotBounded) {
  WakeSockets sockets;
  std::vector<WakeSocketRef> kept;
  for (std::size_t i = 0; i < WakeSockets::limit() + 5; ++i) {
    auto socket = sockets.keep(0, Pair().received());
    if (!socket) GTEST_FAIL() << socket.error().message;
    kept.push_back(std::move(*socket));
    if (kept.size() == 300) return;  // enough, where descriptors are many
  }
}

}  // namespace
}  // namespace baton::transport
