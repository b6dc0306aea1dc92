// SPDX-License-Identifier: Apache-2.0
#include "live_connections.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

using namespace baton;
using namespace baton::transport;

namespace {

class LiveConnectionsTest : public ::testing::Test {
 protected:
  void add() {
    live_.push_back(std::make_unique<WriterConnection>(os::SharedMapping(), os::SharedMapping(),
                                                       Ring::at(ring_.data(), 1), Layout::at(segment_.data(), 2), 1));
  }
  void expect_the_walk_to_meet_all() {
    std::size_t met = 0;
    for (WriterConnection* each : live_) ASSERT_EQ(each, live_[met++]);
    EXPECT_EQ(met, live_.size());
    EXPECT_EQ(live_.empty(), met == 0);
  }

  alignas(64) std::array<std::byte, 4096> ring_{}, segment_{};
  LiveConnections live_;
};

TEST_F(LiveConnectionsTest, AWalkMeetsAllInTheirOrderWhoeverCameAndWent) {
  std::minstd_rand random(1);
  for (int i = 0; i < 3000; ++i) {
    if (live_.empty() || random() % 2 == 0) {
      add();
    } else {
      const WriterConnection* const gone = live_[random() % live_.size()];
      EXPECT_EQ(live_.remove(*gone).get(), gone);
    }
    expect_the_walk_to_meet_all();
  }
}

TEST_F(LiveConnectionsTest, AfterClearTheFirstThatComesIsTheOnlyOne) {
  for (int i = 0; i < 3; ++i) add();
  live_.clear();
  expect_the_walk_to_meet_all();
  add();
  expect_the_walk_to_meet_all();
  EXPECT_EQ(live_.size(), 1U);
}

}  // namespace
