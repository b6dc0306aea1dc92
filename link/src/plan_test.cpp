// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <gtest/gtest.h>

namespace baton::link {
namespace {

End end(bool is_writer, std::uint8_t id, const QoS& qos = QoS(10), const std::string& topic = "/image",
        const std::string& type = "a/B") {
  End out;
  out.gid.fill(id);
  out.is_writer = is_writer;
  out.topic = topic;
  out.type_name = type;
  out.hash.fill(9);
  out.qos = qos;
  return out;
}
Words host(std::vector<End> ends, std::vector<std::string> wants = {}) {
  Words words;
  words.host.fill(static_cast<std::uint8_t>(100 + ends.size()));
  words.host_name = "far";
  words.ends = std::move(ends);
  words.wants = std::move(wants);
  return words;
}

TEST(Plan, ATopicThatNobodyAbroadWantsDoesNotTravel) {
  const Plan made = plan({end(true, 1), end(false, 2)}, {host({end(false, 3)})});
  EXPECT_TRUE(made.sending.empty());
  EXPECT_TRUE(made.receiving.empty());
  EXPECT_TRUE(made.complaints.empty());
}

TEST(Plan, AWantedTopicTravelsOnceForAllHosts) {
  const End publisher = end(true, 1);
  const std::string channel = channel_of(publisher);
  const Plan made = plan(
      {publisher}, {host({end(false, 3, QoS(4))}, {channel}), host({end(false, 4, QoS(7)), end(false, 5)}, {channel})});
  ASSERT_EQ(made.sending.size(), 1U);
  const Sending& sending = made.sending.at(channel);
  EXPECT_EQ(sending.hosts, 2U);
  EXPECT_EQ(sending.publishers.size(), 1U);
  EXPECT_EQ(sending.request.depth, 10U);
}

TEST(Plan, APublisherAbroadIsKnownHereAndItsChannelOpenOnlyForASubscription) {
  Words far = host({end(true, 3)});
  transport::TypeInfo type;
  type.name = "a/B";
  type.hash.fill(9);
  far.types.push_back(std::make_shared<const transport::TypeInfo>(type));
  const Plan none = plan({}, {far});
  ASSERT_EQ(none.receiving.size(), 1U);
  EXPECT_FALSE(none.receiving.begin()->second.fits);
  EXPECT_EQ(none.receiving.begin()->second.type, far.types[0]);
  EXPECT_TRUE(none.channels.empty());
  const Plan one = plan({end(false, 1)}, {host({end(true, 3)})});
  ASSERT_EQ(one.receiving.size(), 1U);
  EXPECT_TRUE(one.receiving.begin()->second.fits);
  EXPECT_EQ(one.channels.count(channel_of(end(true, 3))), 1U);
}

TEST(Plan, AnIdOfThisHostThatAnotherSaysIsNotReceived) {
  const Plan made = plan({end(true, 3), end(false, 1)}, {host({end(true, 3)})});
  EXPECT_TRUE(made.receiving.empty());
}

TEST(Plan, DifferencesOfTypeAndQosAreComplaints) {
  const Plan type = plan({end(true, 1)}, {host({end(false, 3, QoS(10), "/image", "a/C")})});
  ASSERT_EQ(type.complaints.size(), 1U);
  EXPECT_NE(type.complaints.begin()->find("a/C"), std::string::npos);
  const Plan qos = plan({end(true, 1, QoS(1).best_effort())}, {host({end(false, 3)})});
  ASSERT_EQ(qos.complaints.size(), 1U);
  EXPECT_NE(qos.complaints.begin()->find("reliability: offered best_effort, requested reliable"), std::string::npos);
}

TEST(Plan, AServiceOfAnotherHostThatHasAClientHereIsAComplaint) {
  const Plan made = plan({end(true, 1, QoS(1), "/add/_request")}, {host({end(false, 3, QoS(1), "/add/_request")})});
  ASSERT_EQ(made.complaints.size(), 1U);
  EXPECT_NE(made.complaints.begin()->find("service '/add'"), std::string::npos);
  EXPECT_TRUE(made.sending.empty());
}

TEST(Plan, KeepAllTravelsAsKeepAllBetweenReliableEnds) {
  const End publisher = end(true, 1, QoS().reliable().keep_all(50));
  const std::string channel = channel_of(publisher);
  const Plan made = plan({publisher}, {host({end(false, 3, QoS().reliable().keep_all(30))}, {channel})});
  EXPECT_EQ(made.sending.at(channel).request.history, History::kKeepAll);
  EXPECT_TRUE(made.sending.at(channel).qos.keep_all);
}

}  // namespace
}  // namespace baton::link
