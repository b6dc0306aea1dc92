// SPDX-License-Identifier: Apache-2.0
#include "baton/os/wake_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "baton/os/unix_socket.hpp"

namespace baton::os {
namespace {

TEST(WakeSocket, IsReadableFromANotificationUntilItIsDrained) {
  const WakeSocket socket = WakeSocket::create().or_throw();
  EXPECT_FALSE(wait_readable(socket.wait_end.get(), 0));
  EXPECT_FALSE(drain(socket.wait_end.get())) << "nothing to take back";
  EXPECT_TRUE(notify(socket.notify_end.get()));
  EXPECT_TRUE(notify(socket.notify_end.get()));
  EXPECT_TRUE(wait_readable(socket.wait_end.get(), 0));
  EXPECT_TRUE(drain(socket.wait_end.get()));
  EXPECT_FALSE(wait_readable(socket.wait_end.get(), 0));
}

TEST(WakeSocket, DrainingClosesNoDescriptorThatTheOtherEndSent) {
  const WakeSocket socket = WakeSocket::create().or_throw();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const int fd = writing.get();
  ASSERT_EQ(send_packet(socket.notify_end.get(), "", 1, nullptr, 0, &fd, 1), IoStatus::kDone);
  writing.reset();
  EXPECT_FALSE(drain(socket.wait_end.get()));
  char byte = 0;
  EXPECT_EQ(::read(reading.get(), &byte, 1), -1) << "no end of file: the other end still lies in the socket";
  EXPECT_EQ(errno, EAGAIN);
}

TEST(WakeSocket, DrainingASocketThatWasShutDownOrFloodedFails) {
  const WakeSocket down = WakeSocket::create().or_throw(), flooded = WakeSocket::create().or_throw();
  ::shutdown(down.notify_end.get(), SHUT_RDWR);
  EXPECT_FALSE(drain(down.wait_end.get()));
  const std::array<char, 4096> bytes{};
  ASSERT_EQ(::send(flooded.notify_end.get(), bytes.data(), bytes.size(), 0), 4096);
  EXPECT_FALSE(drain(flooded.wait_end.get()));
}

}  // namespace
}  // namespace baton::os
