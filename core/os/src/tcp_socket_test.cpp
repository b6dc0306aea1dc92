// SPDX-License-Identifier: Apache-2.0
#include "baton/os/tcp_socket.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace baton::os {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kUnsent = 65536;
constexpr std::chrono::milliseconds kPatience = 60s;  // what is waited for with it is there already
bool goes_on(void*) { return false; }

class Tcp : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<TcpListener> opened = TcpListener::open({"127.0.0.1", 0});
    ASSERT_TRUE(opened) << opened.error().message;
    listener_.emplace(std::move(*opened));
    Result<std::unique_ptr<TcpSocket>> connected =
        tcp_connect("127.0.0.1", listener_->port(), {"127.0.0.1", 0}, kPatience, kUnsent, goes_on, nullptr);
    ASSERT_TRUE(connected) << connected.error().message;
    one_ = std::move(*connected);
    Result<std::unique_ptr<TcpSocket>> accepted = listener_->accept(kPatience, kUnsent);
    ASSERT_TRUE(accepted && *accepted);
    other_ = std::move(*accepted);
  }
  std::optional<TcpListener> listener_;
  std::unique_ptr<TcpSocket> one_, other_;
};

TEST_F(Tcp, PartsArriveAsOneStreamInOrder) {
  std::vector<char> sent(3'000'000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 >> 3);
  std::thread writer([&] {
    IoPart parts[] = {{sent.data(), 5}, {sent.data() + 5, 0}, {sent.data() + 5, sent.size() - 5}};
    EXPECT_TRUE(one_->write(parts, 3));
  });
  std::vector<char> got(sent.size());
  std::size_t have = 0;
  while (have < got.size()) {
    const std::size_t half = (got.size() - have) / 2;
    IoPart parts[] = {{got.data() + have, half}, {got.data() + have + half, got.size() - have - half}};
    const Result<std::size_t> now = other_->read(parts, 2);
    ASSERT_TRUE(now && *now > 0);
    have += *now;
  }
  writer.join();
  EXPECT_EQ(got, sent);
  EXPECT_EQ(other_->address(), "127.0.0.1");
}

TEST_F(Tcp, ASocketKnowsItsOtherEndsPortAndMarksItsPackets) {
  EXPECT_EQ(one_->port(), listener_->port());
  one_->mark(34);
  int octet = 0;
  socklen_t size = sizeof octet;
  ASSERT_EQ(::getsockopt(one_->fd(), IPPROTO_IP, IP_TOS, &octet, &size), 0);
  EXPECT_EQ(octet, 34 << 2);
}

TEST_F(Tcp, AMarkHoldsForBothFamiliesOfAnIPv6Socket) {
  Result<TcpListener> opened = TcpListener::open({"::1", 0});
  if (!opened) GTEST_SKIP() << "no IPv6: " << opened.error().message;
  Result<std::unique_ptr<TcpSocket>> connected =
      tcp_connect("::1", opened->port(), {"::1", 0}, kPatience, kUnsent, goes_on, nullptr);
  ASSERT_TRUE(connected) << connected.error().message;
  (*connected)->mark(32);
  for (const auto& [level, name] : {std::pair(IPPROTO_IP, IP_TOS), std::pair(IPPROTO_IPV6, IPV6_TCLASS)}) {
    int octet = 0;
    socklen_t size = sizeof octet;
    ASSERT_EQ(::getsockopt((*connected)->fd(), level, name, &octet, &size), 0);
    EXPECT_EQ(octet, 32 << 2);
  }
}

TEST_F(Tcp, AShutDownEndsCallsThatWait) {
  std::thread reader([&] {
    char byte = 0;
    const IoPart part{&byte, 1};
    const Result<std::size_t> got = one_->read(&part, 1);
    EXPECT_TRUE(!got || *got == 0);
  });
  std::thread writer([&] {
    std::vector<char> much(1 << 20);
    const IoPart part{much.data(), much.size()};
    while (one_->write(&part, 1)) {
    }
  });
  std::this_thread::sleep_for(50ms);
  one_->shut_down();
  reader.join();
  writer.join();
}

TEST_F(Tcp, TheEndOfTheOtherSideIsReadAsNothing) {
  other_.reset();
  char byte = 0;
  const IoPart part{&byte, 1};
  EXPECT_TRUE(one_->wait_readable(kPatience));
  const Result<std::size_t> got = one_->read(&part, 1);
  EXPECT_TRUE(!got || *got == 0);
}

TEST_F(Tcp, NothingIsReadableBeforeSomethingCame) {
  EXPECT_FALSE(one_->wait_readable(1ms));
  char byte = 7;
  const IoPart part{&byte, 1};
  ASSERT_TRUE(other_->write(&part, 1));
  EXPECT_TRUE(one_->wait_readable(kPatience));
}

TEST_F(Tcp, APortInUseAndPlacesThatAreNoneAreNamed) {
  const auto second = TcpListener::open({"127.0.0.1", listener_->port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::already_exists);
  EXPECT_NE(second.error().message.find(std::to_string(listener_->port())), std::string::npos);
  for (const char* const place : {"nonet0", "203.0.113.7"}) {
    const auto opened = TcpListener::open({place, 0});
    ASSERT_FALSE(opened) << place;
    EXPECT_EQ(opened.error().code, Errc::invalid_argument) << opened.error().message;
    EXPECT_NE(opened.error().message.find(place), std::string::npos);
  }
}

TEST_F(Tcp, AHostThatIsNotThereIsAnError) {
  const std::uint16_t port = listener_->port();
  listener_.reset();
  std::vector<std::string> addresses;
  const auto refused = tcp_connect("127.0.0.1", port, {}, kPatience, kUnsent, goes_on, nullptr, &addresses);
  ASSERT_FALSE(refused);
  EXPECT_EQ(addresses, std::vector<std::string>{"127.0.0.1"});
  EXPECT_NE(refused.error().message.find("127.0.0.1"), std::string::npos);
}

TEST(TcpConnect, AnAddressOfOneNetworkWithoutItsInterfaceIsAnsweredWithTheWayOut) {
  const auto refused = tcp_connect("fe80::1", 22700, {}, kPatience, kUnsent, goes_on, nullptr);
  ASSERT_FALSE(refused);
  if (refused.error().message.find("Address family not supported") != std::string::npos) GTEST_SKIP() << "no IPv6 here";
  EXPECT_NE(refused.error().message.find("fe80::1%eth0"), std::string::npos) << refused.error().message;
}

TEST(TcpListener, WithoutAPlaceItTakesConnectionsOfAllAddresses) {
  Result<TcpListener> listener = TcpListener::open({});
  ASSERT_TRUE(listener) << listener.error().message;
  const auto connected = tcp_connect("127.0.0.1", listener->port(), {}, kPatience, kUnsent, goes_on, nullptr);
  ASSERT_TRUE(connected) << connected.error().message;
  const auto accepted = listener->accept(kPatience, kUnsent);
  ASSERT_TRUE(accepted && *accepted);
  EXPECT_EQ((*accepted)->address(), "127.0.0.1");
}

TEST(TcpNetworks, AreTheFirstHalfOfAnAddressOfIPv6AndAnAddressOfIPv4) {
  EXPECT_EQ(network_of("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(network_of("fd00:1:2:3:4:5:6:7"), "fd00:1:2:3::/64");
  EXPECT_EQ(network_of("fd00:1:2:3::1"), "fd00:1:2:3::/64");
  EXPECT_EQ(network_of("fe80::1%eth0"), "fe80::/64%eth0");
  EXPECT_EQ(network_of("::1"), "::/64");
  EXPECT_EQ(network_of(""), "");
}

TEST(Addresses, OfLoopbackAndOfPrivateNetworksAreOfALocalRange) {
  for (const char* address :
       {"127.0.0.1", "127.255.0.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.3.4",
        "100.64.0.1", "100.127.255.255", "::1", "fe80::1%eth0", "fd00::1", "fc12::1"})
    EXPECT_TRUE(is_local_range(address)) << address;
  for (const char* address : {"8.8.8.8", "172.32.0.1", "172.15.255.255", "192.169.0.1", "100.128.0.1", "11.0.0.1",
                              "203.0.113.1", "2001:db8::1", "ff02::1", "robot.example", ""})
    EXPECT_FALSE(is_local_range(address)) << address;
}

TEST(Addresses, OfThisMachineAreThoseOfAnInterfaceOrOfAll) {
  const auto has = [](const std::vector<std::string>& all) {
    return std::count(all.begin(), all.end(), "127.0.0.1") == 1;
  };
  EXPECT_TRUE(has(own_addresses("")));
  EXPECT_TRUE(has(own_addresses("lo")));
  EXPECT_EQ(own_addresses("127.0.0.1"), std::vector<std::string>{"127.0.0.1"});
  EXPECT_TRUE(own_addresses("no-such-interface").empty());
}

}  // namespace
}  // namespace baton::os
