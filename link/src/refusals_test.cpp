// SPDX-License-Identifier: Apache-2.0
#include "refusals.hpp"

#include <gtest/gtest.h>

namespace baton::link {
namespace {

RefusedState of(const std::string& address, const std::string& why, std::int64_t last_ns) {
  RefusedState out;
  out.address = address;
  out.why = why;
  out.last_ns = last_ns;
  return out;
}

TEST(Refusals, AnAddressHasOneEntryWithTheLastReasonAndTheNewestComesFirst) {
  Refusals refusals;
  refusals.add(of("10.0.0.2", "no hello", 1));
  refusals.add(of("10.0.0.3", "no TLS", 2));
  refusals.add(of("10.0.0.2", "another CA", 3));
  const std::vector<RefusedState> all = refusals.all(4);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].address, "10.0.0.2");
  EXPECT_EQ(all[0].why, "another CA");
  EXPECT_EQ(all[0].times, 2U);
  EXPECT_EQ(all[0].last_ns, 3);
  EXPECT_EQ(all[1].address, "10.0.0.3");
  EXPECT_EQ(all[1].times, 1U);
}

TEST(Refusals, AHostThatIsConnectedIsRefusedNoMore) {
  Refusals refusals;
  refusals.add(of("10.0.0.2", "no hello", 1));
  refusals.add(of("10.0.0.3", "no TLS", 2));
  refusals.remove("10.0.0.2");
  refusals.remove("10.0.0.4");
  ASSERT_EQ(refusals.all(3).size(), 1U);
  EXPECT_EQ(refusals.all(3)[0].address, "10.0.0.3");
}

TEST(Refusals, StrangersPushOutTheOldestOnesAndAnHourLaterNoneIsLeft) {
  Refusals refusals;
  for (std::size_t i = 0; i <= Refusals::kMost; ++i)
    refusals.add(of(std::to_string(i), "no hello", static_cast<std::int64_t>(i)));
  const std::vector<RefusedState> all = refusals.all(100);
  ASSERT_EQ(all.size(), Refusals::kMost);
  EXPECT_EQ(all.front().address, std::to_string(Refusals::kMost));
  EXPECT_EQ(all.back().address, "1");
  EXPECT_EQ(refusals.all(Refusals::kKept_ns + 30).size(), Refusals::kMost - 29);
  EXPECT_TRUE(refusals.all(2 * Refusals::kKept_ns).empty());
}

}  // namespace
}  // namespace baton::link
