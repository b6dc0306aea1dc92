// SPDX-License-Identifier: Apache-2.0
#include "wake_descriptor.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "baton/os/process.hpp"
#include "baton/os/wake_socket.hpp"

namespace baton::transport {
namespace {

bool readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

class WakeDescriptorTest : public ::testing::Test {
 protected:
  Notifier notifier(PeerId peer) const { return {participant_, peer}; }
  /// The end of a process, as that process has it.
  os::UniqueFd socket_of(PeerId peer) {
    return os::duplicate(wake_->socket_for(notifier(peer), peer, pairs_).or_throw()->get());
  }
  /// Drains; the processes that broke the rules.
  std::vector<PeerId> drain() {
    std::vector<PeerId> out;
    wake_->drain([&](const Notifier& broke) { out.push_back(broke.peer); });
    return out;
  }

  // Only its identity counts.
  const std::shared_ptr<Participant::Impl> participant_{std::make_shared<int>(), nullptr};
  WakePairs pairs_;
  const std::unique_ptr<WakeDescriptor> wake_ = WakeDescriptor::create().or_throw();
};

TEST_F(WakeDescriptorTest, IsReadableFromANotificationUntilItIsDrained) {
  const os::UniqueFd one = socket_of(1), other = socket_of(2), again = socket_of(1);
  EXPECT_EQ(os::file_identity(one.get()), os::file_identity(again.get()));
  EXPECT_NE(os::file_identity(one.get()), os::file_identity(other.get()));
  EXPECT_FALSE(readable(wake_->fd()));
  for (const int end : {one.get(), other.get(), -1}) {
    for (int times = 0; times < 3; ++times) end < 0 ? wake_->notify() : static_cast<void>(os::notify(end));
    EXPECT_TRUE(readable(wake_->fd()));
    EXPECT_TRUE(drain().empty());
    EXPECT_FALSE(readable(wake_->fd()));
  }
}

TEST_F(WakeDescriptorTest, WakesAnEpollOfTheApplicationAgainAndAgain) {
  const os::UniqueFd one = socket_of(1);
  const os::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake_->fd(), &event), 0);
  for (int times = 0; times < 5; ++times) {
    EXPECT_EQ(::epoll_wait(epoll.get(), &event, 1, 0), 0);
    os::notify(one.get());
    EXPECT_EQ(::epoll_wait(epoll.get(), &event, 1, 0), 1);
    EXPECT_TRUE(drain().empty());
  }
}

TEST_F(WakeDescriptorTest, ASocketThatNobodyDrainedForLongIsNoMisuse) {
  const os::UniqueFd one = socket_of(1);
  while (::send(one.get(), "x", 1, MSG_DONTWAIT) == 1) {
  }
  EXPECT_TRUE(os::notify(one.get())) << "readable already";
  EXPECT_TRUE(drain().empty());
  EXPECT_FALSE(readable(wake_->fd()));
}

TEST_F(WakeDescriptorTest, AProcessThatClosesItsSocketIsNotHeardOfAgain) {
  os::UniqueFd one = socket_of(1);
  one.reset();
  EXPECT_FALSE(readable(wake_->fd()));
  EXPECT_TRUE(drain().empty());
}

struct Misuse {
  const char* name;
  void (*act)(int socket);
};
void PrintTo(const Misuse& value, std::ostream* out) { *out << value.name; }

class WakeDescriptorMisuse : public WakeDescriptorTest, public ::testing::WithParamInterface<Misuse> {};

TEST_P(WakeDescriptorMisuse, EndsTheSocketOfThatProcessOnly) {
  const os::UniqueFd hostile = socket_of(1), honest = socket_of(2);
  GetParam().act(hostile.get());
  ASSERT_TRUE(readable(wake_->fd()));
  EXPECT_EQ(drain(), std::vector<PeerId>{1});
  GetParam().act(hostile.get());
  EXPECT_FALSE(readable(wake_->fd()));
  EXPECT_TRUE(drain().empty());
  os::notify(honest.get());
  EXPECT_TRUE(readable(wake_->fd()));
  EXPECT_TRUE(drain().empty());
  EXPECT_FALSE(readable(wake_->fd()));
}

void send_descriptor(int socket) {
  char byte = 1;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = STDERR_FILENO;
  *reinterpret_cast<int*>(CMSG_DATA(header)) = fd;
  static_cast<void>(::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

const Misuse kMisuses[] = {
    {"ShutsItDown", [](int socket) { ::shutdown(socket, SHUT_RDWR); }},
    {"ShutsItsDirectionDown", [](int socket) { ::shutdown(socket, SHUT_WR); }},
    {"FloodsIt",
     [](int socket) {
       const std::string bytes(4096, 'x');
       while (::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
       }
     }},
    {"SendsDescriptors", send_descriptor},
    {"SendsUrgentData",
     [](int socket) { static_cast<void>(::send(socket, "x", 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL)); }},
};

INSTANTIATE_TEST_SUITE_P(Hostile, WakeDescriptorMisuse, ::testing::ValuesIn(kMisuses),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(WakeDescriptorTest, IsCalledAgainForAMisuseThatCouldNotBeReported) {
  const os::UniqueFd one = socket_of(1);
  ::shutdown(one.get(), SHUT_RDWR);
  EXPECT_THROW(wake_->drain([](const Notifier&) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(drain(), std::vector<PeerId>{1});
}

TEST_F(WakeDescriptorTest, TheSocketsOfOneProcessAreBoundedAndThoseThatWentCountNoMore) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{400, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(WakePairs::limit(), 25U);
  for (PeerId connection = 1; connection <= WakePairs::limit(); ++connection) {
    EXPECT_TRUE(wake_->socket_for(notifier(connection), 7, pairs_)) << connection;
  }
  const auto refused = wake_->socket_for(notifier(100), 7, pairs_);
  EXPECT_TRUE(wake_->socket_for(notifier(1), 7, pairs_)) << "is there already";
  EXPECT_TRUE(wake_->socket_for(notifier(101), 8, pairs_)) << "another process has its own bound";
  wake_->forget_unless([](const Notifier& known) { return known.peer != 1; });
  EXPECT_TRUE(wake_->socket_for(notifier(100), 7, pairs_));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::limit_reached);
}

}  // namespace
}  // namespace baton::transport
