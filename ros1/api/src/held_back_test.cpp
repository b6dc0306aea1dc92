// SPDX-License-Identifier: Apache-2.0
#include "held_back.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace baton::ros1::detail {
namespace {

using transport::Gid;

/// Moved as a sample is: what it was moved from has nothing.
struct Sample {
  Sample(std::uint8_t writer, std::string own_name, std::uint64_t number = 0)
      : gid{writer}, name(std::move(own_name)), after(number) {}
  const Gid& publisher() const { return gid; }
  Gid gid;
  std::string name;
  std::uint64_t after;
};
std::uint64_t follows(const Sample& sample) { return sample.after; }

class HeldBackTest : public testing::Test {
 protected:
  bool hold(std::uint8_t writer, const std::string& name, std::uint64_t number = 0) {
    Sample sample(writer, name, number);
    return held.hold(sample, now);
  }
  bool release() {
    return held.release(now, [this](Sample&& sample) {
      delivered.push_back(sample.name);
      return true;
    });
  }
  HeldBack<Sample> held;
  HeldBack<Sample>::Time now{};
  std::vector<std::string> delivered;
};

TEST_F(HeldBackTest, MessagesWaitForTheOneThatTheyFollowAndThoseOfOthersDoNot) {
  EXPECT_FALSE(hold(1, "follows none"));
  EXPECT_TRUE(hold(1, "a", 1));
  EXPECT_TRUE(hold(1, "b")) << "behind a";
  EXPECT_FALSE(hold(2, "of another publisher"));
  EXPECT_TRUE(release());
  EXPECT_TRUE(delivered.empty());
  held.came({Gid{1}, 1}, now);
  EXPECT_TRUE(release());
  EXPECT_EQ(delivered, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(held.empty());
  EXPECT_FALSE(hold(1, "c", 1)) << "it has come";
}

TEST_F(HeldBackTest, ACallbackThatSpinsGetsTheNextMessageAfterItHasReturned) {
  for (const char* const name : {"a", "b", "c"}) ASSERT_TRUE(hold(1, name, 1));
  for (const char* const name : {"x", "y"}) ASSERT_TRUE(hold(2, name, 1));
  held.came({Gid{1}, 1}, now);
  held.came({Gid{2}, 1}, now);
  int depth = 0;
  const std::function<bool(Sample &&)> deliver = [&](Sample&& sample) {
    EXPECT_EQ(++depth, 1) << sample.name << " was delivered inside another message's callback";
    held.came({Gid{1}, 2}, now);  // ros::spinOnce()
    EXPECT_TRUE(held.release(now, deliver));
    if (sample.name == "b") {
      EXPECT_TRUE(hold(1, "d", 2)) << "a message that came meanwhile";
    }
    delivered.push_back(sample.name);
    --depth;
    return true;
  };
  EXPECT_TRUE(held.release(now, deliver));
  EXPECT_EQ(delivered, (std::vector<std::string>{"a", "b", "c", "d", "x", "y"}));
  EXPECT_TRUE(held.empty());
}

TEST_F(HeldBackTest, ACallbackThatThrowsOrEndsTheSubscriptionLeavesTheRest) {
  for (const char* const name : {"a", "b", "c"}) ASSERT_TRUE(hold(1, name, 1));
  held.came({Gid{1}, 1}, now);
  EXPECT_THROW(held.release(now, [](Sample&&) -> bool { throw std::runtime_error("of the program"); }),
               std::runtime_error);
  EXPECT_FALSE(held.release(now, [](Sample&&) { return false; }));
  EXPECT_TRUE(release());
  EXPECT_EQ(delivered, (std::vector<std::string>{"c"}));
}

TEST_F(HeldBackTest, WhatIsLateAtTwoLooksAndTooManyOfOneAreDelivered) {
  ASSERT_TRUE(hold(1, "a", 1));
  now += HeldBack<Sample>::kPatience;
  EXPECT_TRUE(release());
  EXPECT_TRUE(delivered.empty()) << "the callback queue may have it";
  EXPECT_TRUE(release());
  EXPECT_EQ(delivered, (std::vector<std::string>{"a"}));
  delivered.clear();
  for (std::size_t i = 0; i <= HeldBack<Sample>::kMostOfOneHeldBack; ++i) ASSERT_TRUE(hold(1, "many", 2));
  EXPECT_TRUE(release());
  EXPECT_EQ(delivered.size(), HeldBack<Sample>::kMostOfOneHeldBack + 1);
  for (std::size_t i = 0; i < HeldBack<Sample>::kMostHeldBack; ++i)
    ASSERT_TRUE(hold(static_cast<std::uint8_t>(i), "of many publishers", 3));
  EXPECT_FALSE(hold(255, "of one more", 3));
}

}  // namespace
}  // namespace baton::ros1::detail
