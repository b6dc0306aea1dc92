// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "baton/link/state.hpp"
#include "leader_lock.hpp"
#include "support/temporary_directory.hpp"

namespace baton::link {
namespace {

LinkState whole_state() {
  LinkState state;
  state.phase = LinkPhase::kWorking;
  state.host_name = "robot";
  state.id.fill(0x1a);
  state.domain = 3;
  state.port = 22703;
  state.secured = true;
  state.sent = 120;
  state.received = 7;
  state.refused = 1;
  HostState& near = state.hosts.emplace_back();
  near.name = "base station";
  near.address = "192.168.1.10:22703";
  near.id.fill(0x2b);
  near.connected = true;
  near.connected_since_ns = 5'000'000'000;
  near.encrypted = true;
  near.certificate = "CN=/base";
  near.bulk_missing_since_ns = 60'000'000'000;
  near.bulk_missing_why = "it does not answer";
  near.round_trip_ns = 420'000;
  near.sent_messages = 120;
  near.sent_bytes = 737'280'000;
  near.received_messages = 8;
  near.received_bytes = 4'096;
  near.sent_again = 2;
  near.dropped = 3;
  near.dropped_why = "it is slow";
  near.waiting_messages = 1;
  near.waiting_bytes = 6'144'000;
  HostState& far = state.hosts.emplace_back();
  far.name = "laptop";
  far.address = "10.0.0.3:22703";
  far.absent_since_ns = 64'000'000'000;
  far.absence_percent = 2;
  state.peers.push_back({"192.168.1.11:22750", 6'000'000'000, "192.168.1.11: it does not answer"});
  RefusedState& foreign = state.refused_hosts.emplace_back();
  foreign.address = "192.168.1.12";
  foreign.name = "toaster";
  foreign.why = "it is the link of domain 4";
  foreign.times = 9;
  foreign.last_ns = 64'000'000'000;
  TopicState& image = state.topics.emplace_back();
  image.topic = "/image";
  image.type_name = "sensor_msgs/Image";
  image.sending = true;
  image.hosts = {"base station"};
  image.messages = 120;
  image.bytes = 737'280'000;
  image.dropped = 3;
  image.dropped_why = "it is slow";
  TopicState& command = state.topics.emplace_back();
  command.topic = "/cmd_vel";
  command.type_name = "geometry_msgs/Twist";
  command.hosts = {"base station", "laptop"};
  command.messages = 7;
  command.bytes = 336;
  state.notes = {"a\tb\nc"};
  return state;
}

TEST(State, TheFileIsAsItsFormatSays) {
  std::ifstream file(BATON_LINK_STATE_GOLDEN);
  const std::string golden((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(golden.empty());
  EXPECT_EQ(format_state(whole_state(), 4711, 65'000'000'000, 1'700'000'000'000'000'000), golden);
}

TEST(State, WhatIsNotKnownHasNoField) {
  LinkState state;
  state.hosts.emplace_back();
  const std::string text = format_state(state, 1, 2, 3);
  EXPECT_NE(text.find("host\tconnected=0\tsent_messages=0\t"), std::string::npos) << text;
  EXPECT_EQ(text.find("round_trip_ns"), std::string::npos);
  EXPECT_EQ(text.find("port="), std::string::npos);
  EXPECT_EQ(text.find("encrypted="), std::string::npos) << "a host without a connection";
}

class SavedStates : public ::testing::Test {
 protected:
  SavedState read() const {
    Result<SavedState> saved = read_state(0, path_);
    EXPECT_TRUE(saved) << saved.error().message;
    return saved ? *saved : SavedState{};
  }
  ::baton::test::TemporaryDirectory temporary_;
  const std::string& path_ = temporary_.path();
};

TEST_F(SavedStates, WithoutALinkThereIsNoneAndReadingMakesNoFile) {
  const SavedState saved = read();
  EXPECT_FALSE(saved.alive);
  EXPECT_FALSE(saved.text.has_value());
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(saved.path).parent_path()));
}

TEST_F(SavedStates, TheTextOfADeadLinkIsKnownFromThatOfALivingOne) {
  {
    Result<LeaderLock> leader_lock = LeaderLock::open(0, path_);
    ASSERT_TRUE(leader_lock);
    ASSERT_TRUE(leader_lock->try_take());
    ASSERT_TRUE(leader_lock->write_state("one\n"));
    EXPECT_TRUE(read().alive);
    EXPECT_EQ(read().text, "one\n");
  }  // the descriptors close, as at any death
  EXPECT_FALSE(read().alive);
  EXPECT_EQ(read().text, "one\n");
}

TEST_F(SavedStates, ALinkThatEndsInOrderLeavesNoText) {
  Result<LeaderLock> leader_lock = LeaderLock::open(0, path_);
  ASSERT_TRUE(leader_lock);
  ASSERT_TRUE(leader_lock->try_take());
  ASSERT_TRUE(leader_lock->write_state("one\n"));
  leader_lock->remove_state();
  EXPECT_FALSE(read().text.has_value());
}

}  // namespace
}  // namespace baton::link
