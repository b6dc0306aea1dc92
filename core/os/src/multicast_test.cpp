// SPDX-License-Identifier: Apache-2.0
// What needs no network; hosts that find each other are in link/tests/multicast_test.py.
#include "baton/os/multicast.hpp"

#include <gtest/gtest.h>

#include <array>

namespace baton::os {
namespace {

using namespace std::chrono_literals;

TEST(Multicast, AnAddressThatIsNoGroupIsRefused) {
  for (const char* const group : {"", "10.0.0.1", "224.0.0", "ff02::1"}) {
    const auto opened = Multicast::open(group, 0, "");
    ASSERT_FALSE(opened) << group;
    EXPECT_EQ(opened.error().code, Errc::invalid_argument);
  }
}

TEST(Multicast, AnInterfaceThatIsNoneIsRefusedByItsName) {
  for (const char* const interface : {"nonet0", "203.0.113.7"}) {
    const auto opened = Multicast::open("239.255.66.84", 0, interface);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::invalid_argument);
    EXPECT_NE(opened.error().message.find(interface), std::string::npos);
  }
}

TEST(Multicast, TheLoopbackInterfaceIsLeftOut) {
  for (const char* const interface : {"lo", "127.0.0.1"}) {
    auto opened = Multicast::open("239.255.66.84", 0, interface);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->refresh(), 0U);
    std::array<std::byte, 8> bytes{};
    opened->send(bytes.data(), bytes.size());
    EXPECT_FALSE(opened->receive(bytes.data(), bytes.size(), 1ms));
  }
}

}  // namespace
}  // namespace baton::os
