// SPDX-License-Identifier: Apache-2.0
#include "strangers.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace baton::link::stream {
namespace {

struct Connection {
  std::string network;
};
using All = Strangers<Connection>;

/// One more of `network`; the network of that which gives way, empty: none.
std::string come(All& all, const std::string& network, bool known = false) {
  const auto gone = all.add(std::make_shared<Connection>(Connection{network}), network, known);
  return gone ? gone->network : "";
}

TEST(Strangers, OfOneNetworkAreBoundedAndTheOldestOfItGives) {
  All all;
  std::vector<std::shared_ptr<Connection>> made;
  for (std::size_t i = 0; i <= kMostStrangersOfNetwork; ++i) made.push_back(std::make_shared<Connection>());
  for (std::size_t i = 0; i < kMostStrangersOfNetwork; ++i) EXPECT_FALSE(all.add(made[i], "10.0.0.1", false));
  EXPECT_EQ(come(all, "10.0.0.2"), "");
  EXPECT_EQ(all.add(made.back(), "10.0.0.1", true), made[0]) << "a known host's address has no more either";
  all.remove(made[1]);
  EXPECT_EQ(come(all, "10.0.0.1"), "");
}

TEST(Strangers, OfAllNetworksAreBoundedAndTheNetworkWithMostGives) {
  All all;
  for (std::size_t i = 0; i < kMostStrangers - 2; ++i) EXPECT_EQ(come(all, "n" + std::to_string(i)), "");
  EXPECT_EQ(come(all, "many"), "");
  EXPECT_EQ(come(all, "many"), "");
  EXPECT_EQ(come(all, "other"), "many");
  EXPECT_EQ(come(all, "another"), "n0") << "all have one: the oldest";
  EXPECT_EQ(all.size(), kMostStrangers);
}

TEST(Strangers, AKnownHostsAddressGivesWayToNoStranger) {
  All all;
  EXPECT_EQ(come(all, "known", true), "");
  EXPECT_EQ(come(all, "known", true), "");
  std::set<std::string> gone;
  for (int i = 0; i < 1000; ++i) gone.insert(come(all, "n" + std::to_string(i)));
  EXPECT_EQ(gone.count("known"), 0U);
  for (std::size_t i = 0; i < kMostStrangers - 2; ++i) come(all, "k" + std::to_string(i), true);
  EXPECT_EQ(come(all, "stranger"), "stranger") << "no room beside known hosts";
  EXPECT_EQ(come(all, "one more", true), "known") << "of known hosts, the one with most";
  EXPECT_EQ(all.size(), kMostStrangers);
}

TEST(Strangers, AKnownHostGivesWayToNoStrangerOfItsOwnNetwork) {
  All all;
  const auto known = std::make_shared<Connection>();
  EXPECT_FALSE(all.add(known, "fe80::/64", true));
  for (std::size_t i = 1; i < kMostStrangersOfNetwork; ++i) EXPECT_EQ(come(all, "fe80::/64"), "");
  for (std::size_t i = 0; i < kMostStrangersOfNetwork; ++i) {
    const auto gone = all.add(std::make_shared<Connection>(), "fe80::/64", false);
    EXPECT_TRUE(gone);
    EXPECT_NE(gone, known);
  }
  for (std::size_t i = 1; i < kMostStrangersOfNetwork; ++i)
    EXPECT_NE(all.add(std::make_shared<Connection>(), "fe80::/64", true), known);
  EXPECT_EQ(all.add(std::make_shared<Connection>(), "fe80::/64", true), known) << "all of the network are known";
}

TEST(Arrivals, OfOneNetworkAreBoundedInTimeAndDoNotCountForAnother) {
  Arrivals arrivals(7);
  const auto now = os::Allowance::Clock::now();
  for (unsigned i = 0; i < kMostArrivals; ++i) EXPECT_TRUE(arrivals.admit("10.0.0.1", now));
  EXPECT_FALSE(arrivals.admit("10.0.0.1", now));
  EXPECT_TRUE(arrivals.admit("10.0.0.2", now));
  EXPECT_TRUE(arrivals.admit("10.0.0.1", now + 2 * kArrivalWindow));
}

}  // namespace
}  // namespace baton::link::stream
