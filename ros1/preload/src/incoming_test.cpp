// SPDX-License-Identifier: Apache-2.0
// What a publisher can make the subscriber's end of a link keep and do.
#include "incoming.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "baton/memory/window.hpp"
#include "links.hpp"

namespace baton::ros1 {
namespace {

std::vector<std::string> g_said;

}  // namespace

void say(Errc, const std::string& text) { g_said.push_back(text); }

namespace {

constexpr LinkSecret kSecret{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

ros::SerializedMessage frame(std::uint64_t number, const std::string& content = {}) {
  const auto bytes = static_cast<std::uint32_t>(kMarkerBytes + content.size());
  const boost::shared_array<std::uint8_t> framed(new std::uint8_t[kLengthBytes + bytes]);
  put_marker(framed.get(), bytes, kSecret, number);
  std::memcpy(framed.get() + kLengthBytes + kMarkerBytes, content.data(), content.size());
  return {boost::shared_array<std::uint8_t>(framed, framed.get() + kLengthBytes), bytes};
}
ros::SerializedMessage plain(const std::string& content) {
  const boost::shared_array<std::uint8_t> bytes(new std::uint8_t[content.size()]);
  std::memcpy(bytes.get(), content.data(), content.size());
  return {bytes, content.size()};
}

/// A link whose publisher has answered and whose subscription in Baton has no message.
class IncomingTest : public testing::Test {
 protected:
  IncomingTest() {
    g_said.clear();
    link.set_reader(nullptr);
  }
  bool arrive(const ros::SerializedMessage& message) { return link.arrive(message, deliver); }

  std::vector<std::string> delivered;
  Incoming::Deliver deliver = [this](const ros::SerializedMessage& message) {
    delivered.emplace_back(message.buf.get(), message.buf.get() + message.num_bytes);
  };
  Incoming link{"/images", "/viewer", transport::Gid{1}, kSecret};
};

TEST_F(IncomingTest, ManyMarkersWhoseMessagesDoNotComeEndTheLink) {
  std::uint64_t sent = 0;
  while (sent < 1'000'000 && arrive(frame(++sent))) {
  }
  EXPECT_EQ(sent, Incoming::kMostMarkers + 1);
  EXPECT_EQ(link.markers(), Incoming::kMostMarkers + 1);
  for (int again = 0; again < 10; ++again) EXPECT_FALSE(link.look_again(deliver));
  EXPECT_EQ(g_said.size(), 1U) << "one line, although roscpp looks again and again";
  EXPECT_FALSE(link.end(deliver));
  EXPECT_EQ(link.markers(), 0U);
  EXPECT_EQ(link.weight(), 0U);
}

TEST_F(IncomingTest, ARepeatIsSearchedAmongTheMarkersAloneHoweverMuchWaits) {
  ASSERT_TRUE(arrive(frame(7)));
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(arrive(plain("small")));
  EXPECT_EQ(link.markers(), 1U) << "what is searched";
  ASSERT_TRUE(arrive(frame(8, "nobody waits for it")));
  EXPECT_TRUE(delivered.empty());
  ASSERT_TRUE(arrive(frame(7, "late")));
  ASSERT_EQ(delivered.size(), 10'001U);
  EXPECT_EQ(delivered.front(), "late");
  EXPECT_EQ(delivered.back(), "small");
  EXPECT_EQ(link.markers(), 0U);
  EXPECT_EQ(link.weight(), 0U);
  EXPECT_FALSE(link.waits());
}

TEST_F(IncomingTest, EverythingThatWaitsHasAWeight) {
  ASSERT_TRUE(arrive(frame(1)));
  EXPECT_EQ(link.weight(), Incoming::kEntryBytes) << "a marker, too";
  ASSERT_TRUE(arrive(plain("")));
  ASSERT_TRUE(arrive(frame(2)));
  EXPECT_EQ(link.weight(), 3 * Incoming::kEntryBytes);
  ASSERT_TRUE(arrive(plain("12345")));
  ASSERT_TRUE(arrive(frame(2, "123")));
  EXPECT_EQ(link.weight(), 4 * Incoming::kEntryBytes + 5 + 3);
  ASSERT_TRUE(arrive(frame(1, "1")));
  EXPECT_EQ(delivered, (std::vector<std::string>{"1", "", "123", "12345"}));
  EXPECT_EQ(link.weight(), 0U);
}

TEST_F(IncomingTest, TheWeightsOfALinkHaveABound) {
  ASSERT_TRUE(arrive(frame(1)));
  // Messages of a GB that nobody reads here, and so need not exist.
  ros::SerializedMessage large = plain("sixteen bytes or more");
  large.num_bytes = std::size_t{1} << 30;
  ASSERT_TRUE(arrive(large));
  EXPECT_FALSE(arrive(large));
  EXPECT_EQ(g_said.size(), 1U);
}

TEST_F(IncomingTest, MarkersOfOneNumberGetTheirMessagesInTheirOrder) {
  ASSERT_TRUE(arrive(frame(5)));
  ASSERT_TRUE(arrive(frame(9)));
  ASSERT_TRUE(arrive(frame(5)));
  ASSERT_TRUE(arrive(frame(5, "first")));
  EXPECT_EQ(delivered, (std::vector<std::string>{"first"}));
  ASSERT_TRUE(arrive(frame(5, "second")));
  EXPECT_EQ(delivered.size(), 1U) << "behind the one that has not come";
  ASSERT_TRUE(arrive(frame(9, "between")));
  EXPECT_EQ(delivered, (std::vector<std::string>{"first", "between", "second"}));
}

TEST_F(IncomingTest, WhatDoesNotComeIsLeftOutWhenTheConnectionHasEnded) {
  ASSERT_TRUE(arrive(frame(1)));
  ASSERT_TRUE(arrive(plain("behind")));
  ASSERT_TRUE(arrive(frame(2)));
  EXPECT_FALSE(link.end(deliver));
  EXPECT_EQ(delivered, (std::vector<std::string>{"behind"}));
  EXPECT_EQ(link.markers(), 0U);
  EXPECT_EQ(link.weight(), 0U);
}

TEST_F(IncomingTest, AllThatALinkRepeatsAtOnceHasALengthOfThirtyTwoBits) {
  constexpr std::uint64_t kLargest = 1'000'000'000;  // of a message that roscpp receives
  EXPECT_LE(kMostWaitingBytes + kLargest + (kInFlight + 2) * (kLengthBytes + kMarkerBytes), UINT32_MAX);
}

/// A subscription of Baton in a domain of its own, and a publisher.
class IncomingWithReader : public testing::Test {
 protected:
  static constexpr std::uint32_t kDepth = 3 * Incoming::kMostTaken;
  IncomingWithReader() {
    g_said.clear();
    directory_ = (std::filesystem::temp_directory_path() / "baton-test-XXXXXX").string();
    if (::mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    transport::ParticipantOptions options;
    options.domain = 7;
    options.runtime_directory = directory_;
    participant_ = transport::Participant::join(options).or_throw();
    const transport::TypeInfo type{"baton_ros1_tests/Number", {}, "", 8, true};
    reader = participant_->create_reader({"t", "/viewer", type, QoS().keep_all(kDepth).hold(8)}).or_throw();
    writer = participant_->create_writer({"t", "/camera", type, QoS().keep_all(kDepth), {}}).or_throw();
    while (reader->matched() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    publish();  // its segment may be on its way when the message is not
    while (!reader->take().or_throw()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    link.set_reader(reader);
  }
  ~IncomingWithReader() override {
    link.set_reader(nullptr);
    reader.reset();
    writer.reset();
    participant_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  void publish() { ASSERT_TRUE(writer->publish(writer->loan_sized(8).or_throw()).ok()); }

  std::shared_ptr<transport::Reader> reader;
  std::shared_ptr<transport::Writer> writer;
  Incoming link{"/images", "/viewer", transport::Gid{1}, kSecret};
  const Incoming::Deliver nobody = [](const ros::SerializedMessage&) { FAIL() << "no such message was published"; };

 private:
  std::string directory_;
  std::shared_ptr<transport::Participant> participant_;
};

TEST_F(IncomingWithReader, TooMuchBehindAMarkerIsRequestedAsBytesAtOnce) {
  ASSERT_TRUE(link.arrive(frame(5), nobody));
  // Small messages weigh more than their bytes.
  constexpr std::size_t kEach = 1024;
  const ros::SerializedMessage small = plain(std::string(kEach, 'x'));
  const std::size_t many = Incoming::kManyBytes / (kEach + Incoming::kEntryBytes);
  for (std::size_t i = 0; i < many - 1; ++i) ASSERT_TRUE(link.arrive(small, nobody));
  ASSERT_TRUE(link.look_again(nobody));
  EXPECT_TRUE(g_said.empty());
  EXPECT_GT(reader.use_count(), 1) << "the subscription goes on";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(link.arrive(small, nobody));
  ASSERT_TRUE(link.look_again(nobody));
  EXPECT_EQ(g_said.size(), 1U);
  EXPECT_EQ(reader.use_count(), 1) << "the publisher sees the end";
}

TEST_F(IncomingWithReader, AMessageForWhichThereIsNoMemoryIsLostAloneAndTheConnectionGoesOnByTcpros) {
  writer->trim();
  for (int i = 0; i < 2; ++i) publish();  // 2 and 3, in a segment that is not mapped
  memory::Window& window = *memory::Window::instance().value();
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (std::size_t bytes = window.size(); bytes >= window.granule(); bytes /= 2) {
    for (Result<std::byte*> some = window.allocate(bytes); some.ok(); some = window.allocate(bytes))
      taken.emplace_back(*some, bytes);
  }
  std::vector<std::size_t> delivered;  // their sizes
  const Incoming::Deliver deliver = [&](const ros::SerializedMessage& message) {
    delivered.push_back(message.num_bytes);
  };
  EXPECT_TRUE(link.arrive(frame(2), deliver)) << "a new connection would have no memory either";
  EXPECT_TRUE(link.arrive(frame(3), deliver));
  while (g_said.empty() && !HasFailure()) EXPECT_TRUE(link.look_again(deliver));  // its segment may be on its way
  for (const auto& [at, bytes] : taken) window.free(at, bytes);
  EXPECT_NE(g_said.back().find("this connection goes on by TCPROS"), std::string::npos) << g_said.back();
  EXPECT_EQ(reader.use_count(), 1) << "the publisher sees the end";
  EXPECT_TRUE(link.arrive(frame(3, "repeated"), deliver));
  ros::SerializedMessage large = plain("as bytes");
  EXPECT_TRUE(link.arrive(large, deliver));
  EXPECT_TRUE(delivered.empty()) << "behind the one that was lost";
  large.num_bytes = Incoming::kManyBytes;
  EXPECT_TRUE(link.arrive(large, deliver));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(link.look_again(deliver));
  EXPECT_EQ(delivered, (std::vector<std::size_t>{8, 8, Incoming::kManyBytes}));
  EXPECT_FALSE(link.waits());
  EXPECT_EQ(link.weight(), 0U);
  EXPECT_EQ(g_said.size(), 1U) << "one line for a shortage that lasts";
}

TEST_F(IncomingWithReader, ALookTakesAsManyMessagesAsItMayHoweverManyTheQueueHas) {
  for (std::uint32_t i = 0; i < kDepth; ++i) publish();
  // Once for the marker, and once for what waits.
  ASSERT_TRUE(link.arrive(frame(1'000'000), nobody));
  EXPECT_EQ(reader->unread(), kDepth - 2 * Incoming::kMostTaken);
  ASSERT_TRUE(link.look_again(nobody));
  EXPECT_EQ(reader->unread(), kDepth - 3 * Incoming::kMostTaken);
  EXPECT_EQ(link.markers(), 1U);
}

}  // namespace
}  // namespace baton::ros1
