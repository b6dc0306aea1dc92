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

TEST(Plan, AWantedTopicTravelsOnceToEachHostAsItsFarthestReaderWants) {
  const End publisher = end(true, 1);
  const std::string channel = channel_of(publisher);
  const Words one = host({end(false, 3, QoS(4))}, {channel});
  const Words two = host({end(false, 4, QoS(7)), end(false, 5, QoS(20))}, {channel});
  const Plan made = plan({publisher}, {one, two});
  ASSERT_EQ(made.sending.size(), 2U);
  EXPECT_EQ(made.sending.at({one.host, channel}).request.depth, 4U);
  EXPECT_EQ(made.sending.at({two.host, channel}).request.depth, 20U);
  EXPECT_EQ(made.sending.at({two.host, channel}).publishers.size(), 1U);
}

TEST(Plan, AReceiverThatComesAgainHasAFlowOfItsOwn) {
  const End publisher = end(true, 1);
  const std::string first = numbered(channel_of(publisher), 1), again = numbered(channel_of(publisher), 12);
  const Words before = host({end(false, 3, QoS(4))}, {first}), after = host({end(false, 3, QoS(4))}, {again});
  EXPECT_EQ(plan({publisher}, {before}).sending.count({before.host, first}), 1U);
  const Plan made = plan({publisher}, {after});
  ASSERT_EQ(made.sending.size(), 1U);
  EXPECT_EQ(made.sending.at({after.host, again}).request.depth, 4U);
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

TEST(Plan, RequestsTravelToTheServerAndResponsesToTheHostsOfTheirClients) {
  const End request = end(true, 1, QoS(1), "/add/_request"), response = end(true, 2, QoS(1), "/add/_response");
  const End server = end(false, 3, QoS(1), "/add/_request"), client = end(false, 4, QoS(1), "/add/_response");
  const Words far = host({response, server}, {channel_of(request)});
  const Plan of_client = plan({request, client}, {far});
  EXPECT_EQ(of_client.sending.at({far.host, channel_of(request)}).publishers, std::set<Gid>{request.gid});
  EXPECT_TRUE(of_client.receiving.at(response.gid).fits);
  const Words near = host({request, client}, {channel_of(response)});
  const Plan of_server = plan({response, server}, {near});
  EXPECT_EQ(of_server.sending.at({near.host, channel_of(response)}).clients, std::set<Gid>{client.gid});
  EXPECT_TRUE(of_server.receiving.at(request.gid).fits);
}

TEST(Plan, AServiceThatNobodyHereCallsIsNotKnownHere) {
  EXPECT_TRUE(plan({}, {host({end(true, 2, QoS(1), "/add/_response")})}).receiving.empty());
  EXPECT_TRUE(
      plan({end(true, 1, QoS(1), "/a/_baton")}, {host({end(false, 2, QoS(1), "/a/_baton")})}).complaints.empty());
}

TEST(Plan, KeepAllTravelsAsKeepAllBetweenReliableEnds) {
  const End publisher = end(true, 1, QoS().reliable().keep_all(50));
  const std::string channel = channel_of(publisher);
  const Words far = host({end(false, 3, QoS().reliable().keep_all(30))}, {channel});
  const Plan made = plan({publisher}, {far});
  EXPECT_EQ(made.sending.at({far.host, channel}).request.history, History::kKeepAll);
}

TEST(Plan, TheLeastLeaseOfPublishersWithManualLivelinessIsKnown) {
  const auto leased = [](int milliseconds, Liveliness liveliness) {
    QoS qos;
    qos.liveliness = liveliness;
    qos.lease = std::chrono::milliseconds(milliseconds);
    return qos;
  };
  const End fast = end(true, 1, leased(20, Liveliness::kAutomatic));
  const Words far = host({end(false, 3)}, {channel_of(fast)});
  const std::pair<Gid, std::string> key{far.host, channel_of(fast)};
  EXPECT_EQ(plan({fast}, {far}).sending.at(key).lease, kInfinite);
  const Plan made = plan({fast, end(true, 4, leased(50, Liveliness::kManualByTopic)),
                          end(true, 5, leased(90, Liveliness::kManualByTopic))},
                         {far});
  EXPECT_EQ(made.sending.at(key).lease, std::chrono::milliseconds(50));
}

TEST(Plan, AllThatATransientLocalPublisherKeepsTravels) {
  const End publisher = end(true, 1, QoS(50).transient_local());
  const std::string channel = channel_of(publisher);
  const Words far = host({end(false, 3, QoS(1).transient_local())}, {channel});
  EXPECT_EQ(plan({publisher}, {far}).sending.at({far.host, channel}).request.depth, 50U);
}

}  // namespace
}  // namespace baton::link
