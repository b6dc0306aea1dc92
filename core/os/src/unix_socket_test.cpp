// SPDX-License-Identifier: Apache-2.0
#include "baton/os/unix_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "baton/os/directory.hpp"
#include "baton/os/process.hpp"

namespace baton::os {
namespace {

class UnixSocket : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/baton-socket-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    directory_ = std::move(open_directory(-1, path_).fd);
    ASSERT_TRUE(directory_);
    ASSERT_EQ(listen_at(directory_.get(), path_, "s", 0640, ~0U, listener_), IoStatus::kDone);
    ASSERT_EQ(connect_at(directory_.get(), path_, "s", client_), IoStatus::kDone);
    ASSERT_EQ(accept_one(listener_.get(), server_), IoStatus::kDone);
  }
  void TearDown() override {
    (void)remove_name(directory_.get(), "s");
    ::rmdir(path_.c_str());
  }
  IoStatus receive(ReceivedPacket& packet, std::size_t max_fds = 2) {
    return receive_packet(server_.get(), buffer_.data(), buffer_.size(), max_fds, packet);
  }

  std::string path_;
  UniqueFd directory_, listener_, client_, server_;
  std::array<char, 64> buffer_{};
};

TEST_F(UnixSocket, TakesTheModeItIsGivenWhateverTheUmask) {
  struct stat status {};
  ASSERT_EQ(::fstatat(directory_.get(), "s", &status, 0), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(UnixSocket, KnowsItsPeer) {
  const PeerCredentials credentials = peer_credentials(server_.get());
  EXPECT_EQ(credentials.pid, ::getpid());
  EXPECT_EQ(credentials.uid, ::geteuid());
}

TEST_F(UnixSocket, CarriesBothPartsOfAPacketAndItsDescriptorsClosedOnExec) {
  const UniqueFd carried = reserve_descriptor();
  const int fd = carried.get();
  ASSERT_EQ(send_packet(client_.get(), "ab", 2, "cd", 2, &fd, 1), IoStatus::kDone);
  ReceivedPacket packet;
  ASSERT_EQ(receive(packet), IoStatus::kDone);
  EXPECT_EQ(std::string(buffer_.data(), packet.size_bytes), "abcd");
  ASSERT_EQ(packet.fds.size(), 1U);
  EXPECT_NE(packet.fds[0].get(), fd);
  EXPECT_EQ(::fcntl(packet.fds[0].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(receive(packet), IoStatus::kWouldBlock);
}

#ifndef BATON_EMULATED  // qemu-user hands the kernel a larger buffer and forgets MSG_CTRUNC
TEST_F(UnixSocket, SaysWhenDescriptorsOrBytesDidNotFit) {
  const std::array<int, 3> fds{STDIN_FILENO, STDIN_FILENO, STDIN_FILENO};
  const std::string large(100, 'x');
  ASSERT_EQ(send_packet(client_.get(), large.data(), large.size(), nullptr, 0, fds.data(), fds.size()),
            IoStatus::kDone);
  ReceivedPacket packet;
  ASSERT_EQ(receive(packet), IoStatus::kDone);
  EXPECT_TRUE(packet.truncated);
  EXPECT_TRUE(packet.fds_lost);
  EXPECT_EQ(packet.fds.size(), 2U);
}
#endif

TEST_F(UnixSocket, SendingToOneThatIsGoneIsAStatusAndNoSignal) {
  server_.reset();
  EXPECT_EQ(send_packet(client_.get(), "x", 1, nullptr, 0, nullptr, 0), IoStatus::kClosed);
}

TEST_F(UnixSocket, WhatWasSentBeforeTheEndIsReadBeforeTheEnd) {
  ASSERT_EQ(send_packet(client_.get(), "x", 1, nullptr, 0, nullptr, 0), IoStatus::kDone);
  ASSERT_EQ(send_packet(server_.get(), "unread", 6, nullptr, 0, nullptr, 0), IoStatus::kDone);
  client_.reset();  // without reading: the other side is told once that something was lost
  ReceivedPacket packet;
  EXPECT_EQ(receive(packet), IoStatus::kReset);
  ASSERT_EQ(receive(packet), IoStatus::kDone);
  EXPECT_EQ(packet.size_bytes, 1U);
  ASSERT_EQ(receive(packet), IoStatus::kDone);
  EXPECT_EQ(packet.size_bytes, 0U);
}

TEST_F(UnixSocket, RefusesAndIsAbsent) {
  UniqueFd socket;
  listener_.reset();
  EXPECT_EQ(connect_at(directory_.get(), path_, "s", socket), IoStatus::kRefused);
  EXPECT_EQ(connect_at(directory_.get(), path_, "nobody", socket), IoStatus::kAbsent);
  EXPECT_FALSE(socket);
}

TEST_F(UnixSocket, ASlowReaderFillsItUntilItWouldBlock) {
  const std::string packet(10000, 'x');
  IoStatus status = IoStatus::kDone;
  for (int i = 0; i < 1000 && status == IoStatus::kDone; ++i) {
    status = send_packet(client_.get(), packet.data(), packet.size(), nullptr, 0, nullptr, 0);
  }
  EXPECT_EQ(status, IoStatus::kWouldBlock);
  EXPECT_TRUE(readable_now(server_.get()));
  EXPECT_FALSE(readable_now(client_.get()));
}

}  // namespace
}  // namespace baton::os
