// SPDX-License-Identifier: Apache-2.0
#include "forwarding_plan.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>

namespace baton::link {
namespace {

HostEndpoint end(bool is_writer, std::uint8_t id, const QoS& qos = QoS(10), const std::string& topic = "/image",
                 const std::string& type = "a/B") {
  HostEndpoint out;
  out.gid.fill(id);
  out.is_writer = is_writer;
  out.topic = topic;
  out.type_name = type;
  out.hash.fill(9);
  out.qos = qos;
  return out;
}
HostAdvertisement host(std::vector<HostEndpoint> endpoints, std::vector<std::string> wants = {}) {
  HostAdvertisement advertisement;
  advertisement.host.fill(static_cast<std::uint8_t>(100 + endpoints.size()));
  advertisement.host_name = "far";
  advertisement.endpoints = std::move(endpoints);
  advertisement.wants = std::move(wants);
  return advertisement;
}

TEST(ForwardingPlan, ATopicThatNobodyAbroadWantsDoesNotTravel) {
  const ForwardingPlan made = make_plan({end(true, 1), end(false, 2)}, {host({end(false, 3)})});
  EXPECT_TRUE(made.sending.empty());
  EXPECT_TRUE(made.receiving.empty());
  EXPECT_TRUE(made.complaints.empty());
}

TEST(ForwardingPlan, AWantedTopicTravelsOnceToEachHostAsItsFarthestReaderWants) {
  const HostEndpoint publisher = end(true, 1);
  const std::string channel = channel_of(publisher);
  const HostAdvertisement one = host({end(false, 3, QoS(4))}, {channel});
  const HostAdvertisement two = host({end(false, 4, QoS(7)), end(false, 5, QoS(20))}, {channel});
  const ForwardingPlan made = make_plan({publisher}, {one, two});
  ASSERT_EQ(made.sending.size(), 2U);
  EXPECT_EQ(made.sending.at({one.host, channel}).request.depth, 4U);
  EXPECT_EQ(made.sending.at({two.host, channel}).request.depth, 20U);
  EXPECT_EQ(made.sending.at({two.host, channel}).publishers.size(), 1U);
}

TEST(ForwardingPlan, AReceiverThatComesAgainHasAFlowOfItsOwn) {
  const HostEndpoint publisher = end(true, 1);
  const std::string first = numbered(channel_of(publisher), 1), again = numbered(channel_of(publisher), 12);
  const HostAdvertisement before = host({end(false, 3, QoS(4))}, {first}),
                          after = host({end(false, 3, QoS(4))}, {again});
  EXPECT_EQ(make_plan({publisher}, {before}).sending.count({before.host, first}), 1U);
  const ForwardingPlan made = make_plan({publisher}, {after});
  ASSERT_EQ(made.sending.size(), 1U);
  EXPECT_EQ(made.sending.at({after.host, again}).request.depth, 4U);
}

TEST(ForwardingPlan, APublisherAbroadIsKnownHereAndItsChannelOpenOnlyForASubscription) {
  HostAdvertisement far = host({end(true, 3)});
  transport::TypeInfo type;
  type.name = "a/B";
  type.hash.fill(9);
  far.types.push_back(std::make_shared<const transport::TypeInfo>(type));
  const ForwardingPlan none = make_plan({}, {far});
  ASSERT_EQ(none.receiving.size(), 1U);
  EXPECT_FALSE(none.receiving.begin()->second.fits);
  EXPECT_EQ(none.receiving.begin()->second.type, far.types[0]);
  EXPECT_TRUE(none.channels.empty());
  const ForwardingPlan one = make_plan({end(false, 1)}, {host({end(true, 3)})});
  ASSERT_EQ(one.receiving.size(), 1U);
  EXPECT_TRUE(one.receiving.begin()->second.fits);
  EXPECT_EQ(one.channels.count(channel_of(end(true, 3))), 1U);
}

TEST(ForwardingPlan, AnIdOfThisHostThatAnotherSaysIsNotReceived) {
  const ForwardingPlan made = make_plan({end(true, 3), end(false, 1)}, {host({end(true, 3)})});
  EXPECT_TRUE(made.receiving.empty());
}

TEST(ForwardingPlan, DifferencesOfTypeAndQosAreComplaints) {
  const ForwardingPlan type = make_plan({end(true, 1)}, {host({end(false, 3, QoS(10), "/image", "a/C")})});
  ASSERT_EQ(type.complaints.size(), 1U);
  EXPECT_NE(type.complaints.begin()->find("a/C"), std::string::npos);
  const ForwardingPlan qos = make_plan({end(true, 1, QoS(1).best_effort())}, {host({end(false, 3)})});
  ASSERT_EQ(qos.complaints.size(), 1U);
  EXPECT_NE(qos.complaints.begin()->find("reliability: offered best_effort, requested reliable"), std::string::npos);
}

TEST(ForwardingPlan, RequestsTravelToTheServerAndResponsesToTheHostsOfTheirClients) {
  const HostEndpoint request = end(true, 1, QoS(1), "/add/_request"), response = end(true, 2, QoS(1), "/add/_response");
  const HostEndpoint server = end(false, 3, QoS(1), "/add/_request"), client = end(false, 4, QoS(1), "/add/_response");
  const HostAdvertisement far = host({response, server}, {channel_of(request)});
  const ForwardingPlan of_client = make_plan({request, client}, {far});
  EXPECT_EQ(of_client.sending.at({far.host, channel_of(request)}).publishers, std::set<Gid>{request.gid});
  EXPECT_TRUE(of_client.receiving.at(response.gid).fits);
  const HostAdvertisement near = host({request, client}, {channel_of(response)});
  const ForwardingPlan of_server = make_plan({response, server}, {near});
  EXPECT_EQ(of_server.sending.at({near.host, channel_of(response)}).clients, std::set<Gid>{client.gid});
  EXPECT_TRUE(of_server.receiving.at(request.gid).fits);
}

TEST(ForwardingPlan, AServerThatNobodyHereCallsIsKnownHereAndAClientThatNobodyHereServesIsNot) {
  const HostEndpoint server = end(true, 2, QoS(1), "/add/_response"), client = end(true, 3, QoS(1), "/sub/_request");
  const ForwardingPlan made = make_plan({}, {host({server, client})});
  ASSERT_EQ(made.receiving.size(), 1U);
  EXPECT_FALSE(made.receiving.at(server.gid).fits) << "no message of it travels";
  EXPECT_TRUE(
      make_plan({end(true, 1, QoS(1), "/a/_baton")}, {host({end(false, 2, QoS(1), "/a/_baton")})}).complaints.empty());
}

TEST(ForwardingPlan, KeepAllTravelsAsKeepAllBetweenReliableEnds) {
  const HostEndpoint publisher = end(true, 1, QoS().reliable().keep_all(50));
  const std::string channel = channel_of(publisher);
  const HostAdvertisement far = host({end(false, 3, QoS().reliable().keep_all(30))}, {channel});
  const ForwardingPlan made = make_plan({publisher}, {far});
  EXPECT_EQ(made.sending.at({far.host, channel}).request.history, History::kKeepAll);
}

TEST(ForwardingPlan, TheLeastLeaseOfPublishersWithManualLivelinessIsKnown) {
  const auto leased = [](int milliseconds, Liveliness liveliness) {
    QoS qos;
    qos.liveliness = liveliness;
    qos.lease = std::chrono::milliseconds(milliseconds);
    return qos;
  };
  const HostEndpoint fast = end(true, 1, leased(20, Liveliness::kAutomatic));
  const HostAdvertisement far = host({end(false, 3)}, {channel_of(fast)});
  const std::pair<Gid, std::string> key{far.host, channel_of(fast)};
  EXPECT_EQ(make_plan({fast}, {far}).sending.at(key).lease, kInfinite);
  const ForwardingPlan made = make_plan({fast, end(true, 4, leased(50, Liveliness::kManualByTopic)),
                                         end(true, 5, leased(90, Liveliness::kManualByTopic))},
                                        {far});
  EXPECT_EQ(made.sending.at(key).lease, std::chrono::milliseconds(50));
}

TEST(ForwardingPlan, AllThatATransientLocalPublisherKeepsTravels) {
  const HostEndpoint publisher = end(true, 1, QoS(50).transient_local());
  const std::string channel = channel_of(publisher);
  const HostAdvertisement far = host({end(false, 3, QoS(1).transient_local())}, {channel});
  EXPECT_EQ(make_plan({publisher}, {far}).sending.at({far.host, channel}).request.depth, 50U);
}

Gid numbered_id(std::uint8_t kind, std::size_t number) {
  Gid out{kind};
  for (std::size_t i = 0; i < 4; ++i) out[i + 1] = static_cast<std::uint8_t>(number >> (8 * i));
  return out;
}
/// `count` publishers of /image.
HostAdvertisement crowd(std::uint8_t number, std::size_t count) {
  HostAdvertisement advertisement;
  advertisement.host.fill(number);
  advertisement.host_name = "crowd" + std::to_string(number);
  for (std::size_t i = 0; i < count; ++i) {
    advertisement.endpoints.push_back(end(true, 0));
    advertisement.endpoints.back().gid = numbered_id(number, i);
  }
  return advertisement;
}

/// Of each process of this host, so many connections to a subscription with this quality of service, and of all together twice as many.
transport::ConnectionBudget room_for(std::size_t count, const QoS& qos = QoS(10)) {
  const transport::ConnectionCost one = transport::connection_cost(qos);
  const auto budget = [&](std::size_t parts) {
    return transport::ConnectionCost{one.bytes * parts * 4 / kQuartersOfBudget,
                                     one.areas * parts * 4 / kQuartersOfBudget, 100'000};
  };
  return {budget(count + 1), budget(2 * (count + 1))};  // one more: parts are rounded up
}

TEST(ForwardingPlan, PublishersAndSubscriptionsOfOneTopicAreFewerThanAProcessMayHave) {
  constexpr std::size_t kMostOfAProcess = 1024;  // core/transport/src/graph.hpp
  EXPECT_LE(kMostPublishersOfTopic + 2 * kMostSubscriptionsOfTopic + kMostLingering, kMostOfAProcess);
  const HostEndpoint publisher = end(true, 1), subscription = end(false, 2);
  std::vector<HostAdvertisement> others{crowd(50, 1000)};
  for (std::uint8_t i = 0; i < 200; ++i) {
    HostAdvertisement wanting;
    wanting.host = numbered_id(60, i);
    wanting.host_name = "wants";
    wanting.endpoints = {end(false, 3)};
    wanting.wants = {numbered(channel_of(publisher), i)};
    others.push_back(wanting);
  }
  const ForwardingPlan made = make_plan({publisher, subscription}, others, {}, room_for(1000));
  EXPECT_EQ(made.receiving.size(), kMostPublishersOfTopic);
  EXPECT_EQ(made.left_out.size(), 1000 - kMostPublishersOfTopic);
  EXPECT_EQ(made.sending.size(), kMostSubscriptionsOfTopic);
  ASSERT_EQ(made.complaints.size(), 2U);
  EXPECT_NE(made.complaints.begin()->find("are left out on '/image'"), std::string::npos) << *made.complaints.begin();
}

TEST(ForwardingPlan, AHostWithManyPublishersLeavesRoomForThoseOfTheOthers) {
  const HostEndpoint subscription = end(false, 2);
  for (const std::vector<HostAdvertisement>& others : {std::vector<HostAdvertisement>{crowd(50, 1000), crowd(51, 3)},
                                                       std::vector<HostAdvertisement>{crowd(51, 3), crowd(50, 1000)}}) {
    const ForwardingPlan made = make_plan({subscription}, others, {}, room_for(1000));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(made.receiving.count(numbered_id(51, i)), 1U) << i;
    EXPECT_EQ(made.receiving.size(), kMostPublishersOfTopic);
  }
}

TEST(ForwardingPlan, HostsWithLongNamesLeaveRoomForThoseOfTheOthers) {
  const std::string name(1000, 'x');
  HostAdvertisement liar;
  liar.host.fill(50);
  liar.host_name = name;
  for (std::size_t i = 0; i < 20'000; ++i) {
    liar.endpoints.push_back(end(true, 0, QoS(10), "/" + std::to_string(i) + name, name));
    liar.endpoints.back().gid = numbered_id(50, i);
    liar.endpoints.back().node = name;
  }
  const ForwardingPlan made = make_plan({}, {liar, crowd(51, 3)});
  std::size_t bytes = 0;
  for (const auto& [gid, wanted] : made.receiving) bytes += announced_bytes_of(wanted);
  EXPECT_LE(bytes, kMostPublisherBytes);
  EXPECT_GT(bytes, kMostPublisherBytes - 5 * name.size());
  EXPECT_LT(made.receiving.size(), kMostPublishers);
  EXPECT_EQ(made.order.size(), made.receiving.size());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(made.receiving.count(numbered_id(51, i)), 1U) << i;
}

TEST(ForwardingPlan, PublishersInAllHaveABoundAndHostsWithFewKeepTheirs) {
  HostAdvertisement many = crowd(50, 0);
  for (std::size_t i = 0; i < 20'000; ++i) {
    many.endpoints.push_back(end(true, 0, QoS(10), "/" + std::to_string(i)));
    many.endpoints.back().gid = numbered_id(50, i);
  }
  const ForwardingPlan made = make_plan({}, {many, crowd(51, 3)});
  EXPECT_EQ(made.receiving.size(), kMostPublishers);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(made.receiving.count(numbered_id(51, i)), 1U) << i;
}

TEST(ForwardingPlan, AHostLeavesTheOthersTheirShareOfTheConnectionsWithAProcess) {
  HostEndpoint subscription = end(false, 2);
  subscription.node = "mapper";
  const transport::ConnectionBudget budget = room_for(100);
  const HostAdvertisement many = crowd(50, 600), few = crowd(51, 30);
  const ForwardingPlan alone = make_plan({subscription}, {many}, {}, budget);
  EXPECT_GE(alone.receiving.size(), 100U) << "nobody else wishes any";
  EXPECT_LE(alone.receiving.size(), 101U);
  ASSERT_EQ(alone.complaints.size(), 1U);
  const std::string& said = *alone.complaints.begin();
  for (const char* advertisement : {"publishers of host crowd50 are left out", "node 'mapper'", "vm.max_map_count"})
    EXPECT_NE(said.find(advertisement), std::string::npos) << said;
  for (const std::vector<HostAdvertisement>& others :
       {std::vector<HostAdvertisement>{many, few}, std::vector<HostAdvertisement>{few, many}}) {
    const ForwardingPlan made = make_plan({subscription}, others, {}, budget);
    for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(made.receiving.count(numbered_id(51, i)), 1U) << i;
    EXPECT_EQ(made.receiving.size(), alone.receiving.size());
    EXPECT_EQ(made.order.size(), made.receiving.size());
    EXPECT_EQ(made.left_out.size(), 630 - made.receiving.size());
    EXPECT_EQ(made.complaints.size(), 1U);
  }
}

TEST(ForwardingPlan, ManyHostsThatWishManyHaveEquallyManyConnections) {
  std::vector<HostAdvertisement> others;
  for (std::uint8_t i = 0; i < 7; ++i) others.push_back(crowd(static_cast<std::uint8_t>(50 + i), 200));
  const ForwardingPlan made = make_plan({end(false, 2)}, others, {}, room_for(100));
  std::map<Gid, std::size_t> counts;
  for (const auto& [gid, wanted] : made.receiving) ++counts[wanted.host];
  ASSERT_EQ(counts.size(), 7U);
  for (const auto& [host, count] : counts) EXPECT_NEAR(static_cast<double>(count), 100.0 / 7, 1.0);
}

TEST(ForwardingPlan, ConnectionsWithAllProcessesHaveABoundToo) {
  std::vector<HostEndpoint> here;
  for (std::uint8_t process = 1; process <= 4; ++process) here.push_back(end(false, process));
  const ForwardingPlan made = make_plan(here, {crowd(50, 90), crowd(51, 5)}, {}, room_for(100));
  EXPECT_NEAR(static_cast<double>(made.receiving.size()), 200.0 / 4, 1.0) << "each publisher has four connections";
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(made.receiving.count(numbered_id(51, i)), 1U) << i;
  ASSERT_EQ(made.complaints.size(), 1U);
  EXPECT_NE(made.complaints.begin()->find("all processes here"), std::string::npos) << *made.complaints.begin();
}

TEST(ForwardingPlan, PublishersThatNoSubscriptionHereWantsTakeNoConnections) {
  EXPECT_EQ(make_plan({end(false, 2, QoS(10), "/other")}, {crowd(50, 600)}, {}, room_for(100)).receiving.size(), 600U);
  const HostEndpoint strict = end(false, 2, QoS(10).transient_local());
  EXPECT_EQ(make_plan({strict}, {crowd(50, 600)}, {}, room_for(100)).receiving.size(), 600U) << "they do not match";
}

TEST(ForwardingPlan, DeepSubscriptionsOfAHostLeaveTheOthersTheirs) {
  std::vector<HostEndpoint> here;
  HostAdvertisement greedy = crowd(50, 0), honest = crowd(60, 0);
  for (std::size_t i = 0; i < 40; ++i) {
    here.push_back(end(true, 1, QoS(10), "/p" + std::to_string(i)));
    here.back().gid[15] = static_cast<std::uint8_t>(i);
    greedy.endpoints.push_back(end(false, 3, QoS(65536), here.back().topic));
    greedy.wants.push_back(channel_of(here.back()));
  }
  honest.endpoints = {end(false, 4, QoS(50), "/p39")};
  honest.wants = {channel_of(here[39])};
  const ForwardingPlan made = make_plan(here, {greedy, honest}, {}, room_for(10, QoS(kMostDepth).hold(kUnderWay)));
  EXPECT_EQ(made.sending.at({honest.host, honest.wants[0]}).request.depth, 50U);
  EXPECT_GE(made.sending.size(), 10U);
  EXPECT_LE(made.sending.size(), 12U);
  for (const auto& [key, sending] : made.sending) EXPECT_LE(sending.request.depth, kMostDepth);
  ASSERT_EQ(made.complaints.size(), 1U);
  EXPECT_NE(made.complaints.begin()->find("subscriptions of host crowd50 are left out"), std::string::npos);
}

TEST(ForwardingPlan, ASingleWishThatWouldTakeAlmostAllComesLast) {
  std::vector<HostEndpoint> here;  // a subscription of /image has 8 connections with their process
  for (std::uint8_t i = 0; i < 9; ++i) {
    here.push_back(end(true, 1, QoS(10), i < 8 ? "/image" : "/small"));
    here.back().gid[15] = i;
  }
  HostAdvertisement greedy = crowd(50, 0), honest = crowd(60, 0);
  greedy.endpoints = {end(false, 3, QoS(2048))};  // 16384, since each of 8 publishers is to have its own history
  greedy.wants = {channel_of(here[0])};
  honest.endpoints = {end(false, 4, QoS(30), "/small")};
  honest.wants = {channel_of(here[8])};
  const std::pair<Gid, std::string> all{greedy.host, greedy.wants[0]}, small{honest.host, honest.wants[0]};
  const QoS deep = QoS(kMostDepth).hold(kUnderWay);
  transport::ConnectionBudget budget = room_for(100, deep);
  budget.of_process.bytes = (8 * transport::connection_cost(deep).bytes + 5000) * 4 / kQuartersOfBudget;
  EXPECT_EQ(make_plan(here, {greedy}, {}, budget).sending.count(all), 1U);
  const ForwardingPlan both = make_plan(here, {greedy, honest}, {}, budget);
  EXPECT_EQ(both.sending.count(small), 1U);
  EXPECT_EQ(both.sending.count(all), 0U);
}

TEST(ForwardingPlan, APublisherBelongsToTheHostThatHadItBefore) {
  const HostEndpoint subscription = end(false, 2);
  HostAdvertisement honest = crowd(90, 1), stranger = crowd(10, 0);
  stranger.endpoints = honest.endpoints;
  const Gid publisher = numbered_id(90, 0);
  const std::map<IdPrefix, Gid> owners{{prefix_of(publisher), honest.host}};
  for (const std::vector<HostAdvertisement>& others :
       {std::vector<HostAdvertisement>{honest, stranger}, std::vector<HostAdvertisement>{stranger, honest}}) {
    const ForwardingPlan made = make_plan({subscription}, others, owners);
    EXPECT_EQ(made.receiving.at(publisher).host, honest.host);
    ASSERT_EQ(made.complaints.size(), 1U);
    EXPECT_NE(made.complaints.begin()->find("1 publishers of host crowd10 are left out"), std::string::npos);
    EXPECT_NE(made.complaints.begin()->find("processes of host crowd90"), std::string::npos);
  }
  EXPECT_EQ(make_plan({subscription}, {stranger}, owners).receiving.at(publisher).host, stranger.host)
      << "its host is gone: a link that was started again";
}

/// An endpoint of a process, by both numbers.
HostEndpoint end_of(std::uint8_t process, std::uint8_t number, bool is_writer = true) {
  HostEndpoint out = end(is_writer, process);
  out.gid[12] = number;
  return out;
}
HostAdvertisement says(std::uint8_t number, std::vector<HostEndpoint> endpoints, std::vector<std::string> wants = {}) {
  HostAdvertisement advertisement = crowd(number, 0);
  advertisement.endpoints = std::move(endpoints);
  advertisement.wants = std::move(wants);
  return advertisement;
}

TEST(ForwardingPlan, TheIdsThatAProcessOfThisHostWillGiveAreNoOtherHosts) {
  const HostEndpoint own = end_of(1, 1);
  const std::vector<HostAdvertisement> liar{says(50, {end_of(1, 2), end_of(1, 3), end_of(2, 1)})};
  const ForwardingPlan made = make_plan({own, end(false, 9)}, liar);
  EXPECT_EQ(made.receiving.size(), 1U);
  EXPECT_EQ(made.receiving.count(end_of(2, 1).gid), 1U);
  ASSERT_EQ(made.complaints.size(), 1U);
  EXPECT_EQ(made.left_out,
            (std::set<std::pair<Gid, Gid>>{{liar[0].host, end_of(1, 2).gid}, {liar[0].host, end_of(1, 3).gid}}))
      << "or messages of them would hold up those of others";
  EXPECT_EQ(made.advertised->size(), 3U);
  EXPECT_NE(made.complaints.begin()->find("2 publishers of host crowd50 are left out"), std::string::npos);
  EXPECT_NE(made.complaints.begin()->find("this host: it is not what it says"), std::string::npos);
  EXPECT_EQ(make_plan({own, end(false, 9)}, liar, made.owners).receiving.size(), 1U);
}

TEST(ForwardingPlan, TheIdsThatAProcessOfAnotherHostWillGiveAreThatHosts) {
  const HostAdvertisement honest = says(90, {end_of(1, 1, false)}), liar = says(10, {end_of(1, 2)});
  const std::map<IdPrefix, Gid> before = make_plan({end(false, 9)}, {honest}).owners;
  const HostAdvertisement more = says(90, {end_of(1, 1, false), end_of(1, 2)});
  for (const std::vector<HostAdvertisement>& others :
       {std::vector<HostAdvertisement>{honest, liar}, std::vector<HostAdvertisement>{liar, honest}}) {
    const ForwardingPlan made = make_plan({end(false, 9)}, others, before);
    EXPECT_TRUE(made.receiving.empty());
    EXPECT_EQ(made.complaints.size(), 1U);
    const ForwardingPlan next = make_plan({end(false, 9)}, {liar, more}, made.owners);
    EXPECT_EQ(next.receiving.at(end_of(1, 2).gid).host, honest.host);
  }
  EXPECT_EQ(make_plan({end(false, 9)}, {liar, says(90, {})}, before).receiving.size(), 1U)
      << "it says the process no more";
}

TEST(ForwardingPlan, WhatALinkThatWasStartedAgainSendsIsNotRefusedBecauseItsFormerRunIsKnown) {
  const HostAdvertisement former = says(90, {end_of(1, 1)});
  HostAdvertisement again = says(10, {end_of(1, 1)});
  const std::pair<Gid, Gid> sent{again.host, end_of(1, 1).gid};
  const std::map<IdPrefix, Gid> owners = make_plan({}, {former}).owners;
  EXPECT_EQ(make_plan({}, {former, again}, owners).left_out.count(sent), 1U) << "another host";
  again.host_name = former.host_name;
  const ForwardingPlan made = make_plan({}, {former, again}, owners);
  EXPECT_EQ(made.left_out.count(sent), 0U);
  EXPECT_EQ(made.receiving.at(sent.second).host, former.host);
  EXPECT_EQ(made.advertised->count(sent.second), 1U) << "so it waits";
  EXPECT_EQ(make_plan({}, {again}, made.owners).receiving.at(sent.second).host, again.host);
}

TEST(ForwardingPlan, AProcessOfThisHostThatAnnouncesIdsOfAnotherHostsProcessTakesNoneFromIt) {
  const HostAdvertisement honest = says(90, {end_of(1, 1)});
  const ForwardingPlan before = make_plan({}, {honest});
  const ForwardingPlan made = make_plan({end_of(1, 7)}, {honest}, before.owners);
  EXPECT_EQ(made.receiving.count(end_of(1, 1).gid), 1U);
  EXPECT_TRUE(made.complaints.empty());
}

/// `count` endpoints of a process.
std::vector<HostEndpoint> many_of(std::uint8_t process, std::size_t count, bool is_writer, const QoS& qos,
                                  const std::string& topic = "/image") {
  std::vector<HostEndpoint> out(count, end(is_writer, process, qos, topic));
  for (std::size_t i = 0; i < count; ++i) {
    out[i].gid[12] = static_cast<std::uint8_t>(i);
    out[i].gid[13] = static_cast<std::uint8_t>(i >> 8);
  }
  return out;
}
void append(std::vector<HostEndpoint>& to, const std::vector<HostEndpoint>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

constexpr std::size_t kMebi = std::size_t{1} << 20;
/// As core/transport/src/budgets.hpp grants, with 65,536 memory areas and `files` descriptors.
transport::ConnectionBudget usual(std::size_t files = 100'000) {
  return {{256 * kMebi, 8192, files / 2}, {1024 * kMebi, 16384, files / 4 * 3}};
}

TEST(ForwardingPlan, APublisherHasItsOwnHistoryButOneProcessNotAllOfIt) {
  struct Case {
    std::vector<std::size_t> processes;  // their publishers
    std::uint32_t wanted, depth;
  };
  for (const Case& each : {Case{{1}, 10, 10}, Case{{3}, 10, 40}, Case{{1, 1, 1, 1, 1}, 10, 80}, Case{{600}, 10, 80},
                           Case{{600, 1}, 10, 160}, Case{{120, 1}, 1000, 16000}, Case{{120, 1}, 2000, kMostDepth},
                           Case{{1}, 65536, kMostDepth}, Case{{2}, 10000, kMostDepth}}) {
    std::vector<HostEndpoint> here;
    for (std::size_t i = 0; i < each.processes.size(); ++i)
      append(here, many_of(static_cast<std::uint8_t>(i + 1), each.processes[i], true, QoS(10)));
    const HostAdvertisement far = says(50, {end(false, 99, QoS(each.wanted))}, {channel_of(here[0])});
    const ForwardingPlan made = make_plan(here, {far}, {}, usual());
    ASSERT_EQ(made.sending.size(), 1U);
    EXPECT_EQ(made.sending.begin()->second.request.depth, each.depth) << each.wanted;
    EXPECT_EQ(made.sending.begin()->second.publishers.size(), here.size());
  }
}

TEST(ForwardingPlan, AProcessWithManyPublishersOrDeepSubscriptionsSilencesNoOtherOnItsTopics) {
  struct Case {
    std::size_t topics, publishers;  // of the stranger
    std::size_t subscriptions;
    std::uint32_t depth;  // of these, and of the subscriptions abroad
  };
  for (const Case& each :
       {Case{1, 600, 0, 10}, Case{1, 120, 0, 1000}, Case{1, 1000, 0, 65536}, Case{60, 50, 0, 1000}, Case{300, 8, 0, 10},
        Case{1, 0, 120, 65536}, Case{1, 0, 1000, 10}, Case{100, 0, 10, 65536}, Case{400, 0, 8, 1000}}) {
    std::vector<HostEndpoint> here;
    std::vector<HostEndpoint> abroad;
    std::vector<std::string> wants;
    for (std::size_t i = 0; i < each.topics; ++i) {
      const std::string topic = "/t" + std::to_string(i);
      here.push_back(end(true, 1, QoS(10), topic));
      here.back().gid[12] = static_cast<std::uint8_t>(i);
      here.back().gid[13] = static_cast<std::uint8_t>(i >> 8);
      wants.push_back(channel_of(here.back()));
      here.push_back(here.back());
      here.back().gid.fill(2);
      here.back().is_writer = false;
      for (HostEndpoint& idle : many_of(3, each.publishers, true, QoS(10), topic)) {
        idle.gid[14] = static_cast<std::uint8_t>(i);
        idle.gid[15] = static_cast<std::uint8_t>(i >> 8);
        here.push_back(idle);
      }
      for (HostEndpoint& deep : many_of(3, each.subscriptions, false, QoS(each.depth), topic)) {
        deep.gid[14] = static_cast<std::uint8_t>(i);
        deep.gid[15] = static_cast<std::uint8_t>(i >> 8);
        here.push_back(deep);
      }
      abroad.push_back(end(true, 40, QoS(10), topic));
      abroad.back().gid[12] = static_cast<std::uint8_t>(i);
      abroad.back().gid[13] = static_cast<std::uint8_t>(i >> 8);
      abroad.push_back(end(false, 41, QoS(each.depth), topic));
    }
    const ForwardingPlan made = make_plan(here, {says(50, abroad, wants)}, {}, usual());
    EXPECT_EQ(made.sending.size(), each.topics) << each.publishers << " " << each.depth;
    EXPECT_EQ(made.receiving.size(), each.topics) << each.subscriptions << " " << each.depth;
    std::size_t bytes = 0;
    for (const auto& [key, sending] : made.sending)
      bytes += transport::connection_cost(sending.request).bytes * each.publishers;
    EXPECT_LE(bytes, 256 * kMebi) << "what the stranger's process grants the link";
  }
}

TEST(ForwardingPlan, AProcessIsOneWhateverIdsItsEndpointsHave) {
  std::vector<HostEndpoint> here = {end(true, 1), end(true, 2)};
  here[0].process = 11;
  for (std::size_t i = 0; i < 900; ++i) {
    here.push_back(end(true, 3));
    here.back().gid = numbered_id(30, i);
    here.back().process = 12;
  }
  const HostAdvertisement far = says(50, {end(false, 99, QoS(1000))}, {channel_of(here[0])});
  const ForwardingPlan made = make_plan(here, {far}, {}, usual());
  ASSERT_EQ(made.sending.size(), 1U);
  EXPECT_EQ(made.sending.begin()->second.publishers.size(), here.size());
  EXPECT_LE(transport::connection_cost(made.sending.begin()->second.request).bytes * 900, 256 * kMebi);
}

TEST(ForwardingPlan, AHostWithMoreWishesThanAProcessHasEndpointsIsTheOneThatIsLeftOut) {
  // The process 1 has more subscriptions than the process 2, but the host has far more publishers than either.
  std::vector<HostEndpoint> here = many_of(1, 10, false, QoS(10));
  here.push_back(end(false, 2));
  const ForwardingPlan made = make_plan(here, {crowd(50, 600), crowd(51, 3)}, {}, room_for(500));
  EXPECT_NEAR(static_cast<double>(made.receiving.size()), 50.0, 2.0);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(made.receiving.count(numbered_id(51, i)), 1U) << i;
}

TEST(ForwardingPlan, PublishersLeaveDescriptorsToTheirSubscriptionsProcessesAndToTheLink) {
  const HostEndpoint victim = end(false, 2);
  std::vector<HostEndpoint> other = {victim, end(false, 3, QoS(10), "/other")};
  HostAdvertisement many = crowd(50, 640), few = crowd(51, 3);
  for (std::size_t i = 0; i < 600; ++i) {
    many.endpoints.push_back(end(true, 0, QoS(10), "/other"));
    many.endpoints.back().gid = numbered_id(50, 1000 + i);
  }
  const ForwardingPlan one = make_plan({victim}, {many, few}, {}, usual(1024));
  std::size_t on_image = 0;
  for (const auto& [gid, wanted] : one.receiving) on_image += wanted.publisher.topic == "/image" ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(on_image), 512 * 3 / 4, 1.0) << "three quarters of half";
  const ForwardingPlan both = make_plan(other, {many, few}, {}, usual(1024));
  EXPECT_NEAR(static_cast<double>(both.receiving.size()), 768 * 3 / 4, 1.0) << "of the link's own three quarters";
  for (const ForwardingPlan& made : {one, both}) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(made.receiving.count(numbered_id(51, i)), 1U) << i;
    ASSERT_FALSE(made.complaints.empty());
    EXPECT_NE(made.complaints.begin()->find("RLIMIT_NOFILE"), std::string::npos) << *made.complaints.begin();
  }
}

std::int64_t cpu_time_of_a_plan(const HostAdvertisement& advertisement) {
  const auto now = [] {
    ::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  std::int64_t least = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = now();
    static_cast<void>(make_plan({}, {advertisement}));
    least = std::min(least, now() - before);
  }
  return least;
}

TEST(ForwardingPlan, TheTypesOfAHostAreNotSearchedForEachOfItsPublishers) {
  HostAdvertisement far = host({});
  for (std::size_t i = 0; i < 4000; ++i) {
    far.endpoints.push_back(end(true, 3, QoS(10), "/t" + std::to_string(i % 10)));
    far.endpoints.back().gid[12] = static_cast<std::uint8_t>(i);
    far.endpoints.back().gid[13] = static_cast<std::uint8_t>(i >> 8);
  }
  const std::int64_t without = cpu_time_of_a_plan(far);
  for (std::size_t i = 0; i < kMostTypes; ++i) {
    transport::TypeInfo type;
    type.hash[0] = static_cast<std::uint8_t>(i);
    type.hash[1] = static_cast<std::uint8_t>(i >> 8);
    far.types.push_back(std::make_shared<const transport::TypeInfo>(type));
  }
  EXPECT_LT(2 * cpu_time_of_a_plan(far), 5 * without);
}

TEST(ForwardingPlan, AHostThatFitsNothingMakesFewComplaints) {
  std::vector<HostEndpoint> here;
  HostAdvertisement liar;
  liar.host.fill(50);
  for (std::uint8_t i = 0; i < 100; ++i) {
    here.push_back(end(true, i));
    liar.endpoints.push_back(end(false, 0, QoS(10), "/image", "a/C" + std::to_string(i)));
  }
  EXPECT_EQ(make_plan(here, {liar}).complaints.size(), kMostComplaintsOfHost);
}

TEST(ForwardingPlan, AProcessWithManyPublishersLeavesRoomForThoseOfTheOthersOfItsHost) {
  std::vector<HostEndpoint> endpoints;
  for (std::uint8_t process : {std::uint8_t{7}, std::uint8_t{1}, std::uint8_t{9}}) {
    for (std::size_t number = 0; number < (process == 7 ? 1000 : 3); ++number) {
      endpoints.push_back(end(true, process));
      endpoints.back().gid[12] = static_cast<std::uint8_t>(number);
      endpoints.back().gid[13] = static_cast<std::uint8_t>(number >> 8);
    }
  }
  const ForwardingPlan made = make_plan({end(false, 2)}, {says(50, endpoints)}, {}, room_for(1000));
  EXPECT_EQ(made.receiving.size(), kMostPublishersOfTopic);
  for (const HostEndpoint& each : endpoints) {
    if (each.gid[0] == 7) continue;
    EXPECT_EQ(made.receiving.count(each.gid), 1U);
  }
}

}  // namespace
}  // namespace baton::link
