// SPDX-License-Identifier: Apache-2.0
#include "host_limits.hpp"

#include <gtest/gtest.h>

namespace baton::link::stream {
namespace {

constexpr std::uint16_t kPort = 22700;

/// As many hosts as find room, of addresses that begin with `begin`.
std::size_t fill(std::vector<ListenAddress>& taken, const std::string& begin, std::size_t of_each,
                 const std::set<ListenAddress>& named = {}) {
  const std::size_t before = taken.size();
  for (std::size_t address = 1; address <= 100; ++address) {
    for (std::size_t i = 0; i < of_each; ++i) {
      const ListenAddress place{begin + std::to_string(address), static_cast<std::uint16_t>(kPort + 1 + i)};
      if (why_no_room(taken, place, named).empty()) taken.push_back(place);
    }
  }
  return taken.size() - before;
}

TEST(Places, OfAllHostsAndOfOneAddressAreBounded) {
  std::vector<ListenAddress> taken;
  EXPECT_EQ(fill(taken, "10.0.0.", 17), kMostHosts);
  EXPECT_EQ(why_no_room(taken, {"10.0.0.1", kPort}, {}), "there are 16 hosts of its address already");
  EXPECT_EQ(why_no_room(taken, {"10.0.1.1", kPort}, {}), "there are 256 other hosts");
}

TEST(Places, OfOneNetworkOfIPv6AreBounded) {
  std::vector<ListenAddress> taken;
  EXPECT_EQ(fill(taken, "fd00:0:0:1::", 1), kMostHostsOfNetwork);
  EXPECT_EQ(why_no_room(taken, {"fd00:0:0:1:ffff::1", kPort}, {}),
            "there are 64 hosts of its network fd00:0:0:1::/64 already");
  EXPECT_EQ(why_no_room(taken, {"fd00:0:0:2::1", kPort}, {}), "");
  EXPECT_EQ(why_no_room(taken, {"10.0.0.1", kPort}, {}), "");
}

TEST(Places, OfNamedPeersAreKeptForOneHostEach) {
  const ListenAddress first{"10.0.0.1", kPort}, second{"10.9.9.9", kPort};
  const std::set<ListenAddress> named{first, second};
  std::vector<ListenAddress> taken;
  EXPECT_EQ(fill(taken, "10.0.0.", 17, named), kMostHosts) << "whoever comes before them";
  EXPECT_EQ(why_no_room(taken, second, named), "");
  taken.push_back(second);
  EXPECT_NE(why_no_room(taken, second, named), "") << "its place is taken";
  EXPECT_EQ(why_no_room(taken, first, named), "") << "although its address has as many as it may";
}

}  // namespace
}  // namespace baton::link::stream
