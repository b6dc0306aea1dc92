// SPDX-License-Identifier: Apache-2.0
#include "host_limits.hpp"

#include <gtest/gtest.h>

namespace baton::link::stream {
namespace {

constexpr std::uint16_t kPort = 22700;

/// As many hosts as find room, of addresses that begin with `begin`.
std::size_t fill(std::vector<KnownHost>& taken, const std::string& begin, std::size_t of_each,
                 const std::set<ListenAddress>& named = {}) {
  const std::size_t before = taken.size();
  for (std::size_t address = 1; address <= 100; ++address) {
    for (std::size_t i = 0; i < of_each; ++i) {
      const ListenAddress place{begin + std::to_string(address), static_cast<std::uint16_t>(kPort + 1 + i)};
      if (why_no_room(taken, place, named) == Refusal::kNone) taken.push_back({place, true, false, {}});
    }
  }
  return taken.size() - before;
}

std::string words(const std::vector<KnownHost>& taken, const ListenAddress& newcomer) {
  return words_of_limit(why_no_room(taken, newcomer, {}), newcomer.first);
}

/// The address of that which gives way; empty: none.
std::string gives_way(const std::vector<KnownHost>& all, const ListenAddress& newcomer,
                      const std::set<ListenAddress>& named = {}) {
  const auto found = who_gives_way(all, newcomer, why_no_room(all, newcomer, named), named);
  return found ? all[*found].place.first : "";
}

TEST(Places, OfAllHostsAndOfOneAddressAreBounded) {
  std::vector<KnownHost> taken;
  EXPECT_EQ(fill(taken, "10.0.0.", 17), kMostHosts);
  EXPECT_EQ(words(taken, {"10.0.0.1", kPort}), "there are 16 hosts of its address already");
  EXPECT_EQ(words(taken, {"10.0.1.1", kPort}), "there are 256 other hosts");
}

TEST(Places, OfOneNetworkOfIPv6AreBounded) {
  std::vector<KnownHost> taken;
  EXPECT_EQ(fill(taken, "fd00:0:0:1::", 1), kMostHostsOfNetwork);
  EXPECT_EQ(words(taken, {"fd00:0:0:1:ffff::1", kPort}), "there are 64 hosts of its network fd00:0:0:1::/64 already");
  EXPECT_EQ(why_no_room(taken, {"fd00:0:0:2::1", kPort}, {}), Refusal::kNone);
  EXPECT_EQ(why_no_room(taken, {"10.0.0.1", kPort}, {}), Refusal::kNone);
}

TEST(Places, OfNamedPeersAreKeptForOneHostEach) {
  const ListenAddress first{"10.0.0.1", kPort}, second{"10.9.9.9", kPort};
  const std::set<ListenAddress> named{first, second};
  std::vector<KnownHost> taken;
  EXPECT_EQ(fill(taken, "10.0.0.", 17, named), kMostHosts) << "whoever comes before them";
  EXPECT_EQ(why_no_room(taken, second, named), Refusal::kNone);
  taken.push_back({second, true, false, {}});
  EXPECT_NE(why_no_room(taken, second, named), Refusal::kNone) << "its place is taken";
  EXPECT_EQ(why_no_room(taken, first, named), Refusal::kNone) << "although its address has as many as it may";
}

TEST(Places, OfHostsWithoutTopicsAreSharedByNetworks) {
  std::vector<KnownHost> taken;
  fill(taken, "10.0.0.", 16);
  ASSERT_EQ(taken.size(), kMostHosts);
  const ListenAddress newcomer{"10.9.9.9", kPort};
  const std::chrono::steady_clock::time_point begin{};
  taken[40].since = begin + std::chrono::seconds(9);  // the newest
  EXPECT_EQ(gives_way(taken, newcomer), taken[40].place.first);
  taken[40].carries = true;
  taken[99].since = begin + std::chrono::seconds(8);
  EXPECT_EQ(gives_way(taken, newcomer), taken[99].place.first) << "a topic travels: it stays";
  EXPECT_EQ(gives_way(taken, newcomer, {taken[99].place}), "") << "a named place is one more, so there is room";
  EXPECT_EQ(gives_way(taken, {"10.0.0.1", kPort}), "")
      << "its own address has as many as it may, and all are connected";
  for (KnownHost& each : taken) each.carries = true;
  EXPECT_EQ(gives_way(taken, newcomer), "");
}

TEST(Places, OfNetworksWithOneHostEachAreTakenFromNobody) {
  std::vector<KnownHost> taken;
  for (std::size_t i = 0; i < kMostHosts; ++i) taken.push_back({{"n" + std::to_string(i), kPort}, true, false, {}});
  const ListenAddress newcomer{"10.9.9.9", kPort};
  EXPECT_EQ(gives_way(taken, newcomer), "");
  taken[7].place.first = taken[8].place.first;
  EXPECT_EQ(gives_way(taken, newcomer), taken[8].place.first);
}

TEST(Places, OfHostsThatAreAwayAndCarryNothingAreFree) {
  std::vector<KnownHost> taken;
  for (std::size_t i = 0; i < kMostHosts; ++i) taken.push_back({{"n" + std::to_string(i), kPort}, true, false, {}});
  const std::chrono::steady_clock::time_point begin{};
  taken[5].connected = taken[6].connected = taken[7].connected = false;
  taken[5].since = begin + std::chrono::seconds(2);
  taken[6].since = begin + std::chrono::seconds(1);
  taken[7].carries = true;  // away longest, and has something to lose
  EXPECT_EQ(gives_way(taken, {"10.9.9.9", kPort}), "n6");
  taken[5].carries = taken[6].carries = true;
  EXPECT_EQ(gives_way(taken, {"10.9.9.9", kPort}), "");
  std::vector<KnownHost> address;
  fill(address, "10.0.0.", 17);
  address[3].connected = false;
  EXPECT_EQ(gives_way(address, {"10.0.0.1", kPort}), "10.0.0.1");
}

}  // namespace
}  // namespace baton::link::stream
