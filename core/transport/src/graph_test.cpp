// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

#include <gtest/gtest.h>

#include <random>

#include "baton/os/process.hpp"
#include "definition_difference.hpp"

namespace baton::transport {
namespace {

AnnounceFrame endpoint(std::uint8_t id, const std::string& topic, bool is_writer = true) {
  AnnounceFrame frame;
  frame.gid[0] = id;
  frame.is_writer = is_writer;
  frame.topic = topic;
  frame.node = "node";
  frame.type_name = "test/Type";
  frame.skeleton_bytes = 8;
  return frame;
}

Gid gid(std::uint8_t id) { return endpoint(id, "").gid; }

std::size_t size(const Graph& graph) {
  std::size_t count = 0;
  std::optional<Gid> after;
  graph.visit_endpoints(after, SIZE_MAX, [&](const EndpointRecord&) { ++count; });
  return count;
}

std::vector<std::string> nodes(const Graph& graph) {
  std::vector<std::string> out;
  Graph::NodePosition after{kSelf, nullptr};
  graph.visit_nodes(after, SIZE_MAX, [&](PeerId, const NodeName& node) { out.push_back(node.name + node.enclave); });
  return out;
}

void forget_all(Graph& graph) {
  while (graph.forget_some(100, [](const EndpointRecord&) {})) {
  }
}

Gid numbered(std::size_t number) {
  Gid id{};
  for (int i = 0; i < 4; ++i) id[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(number >> (8 * i));
  return id;
}

TEST(Graph, FindsAnEndpointByItsIdAndForgetsItsTopicWithTheLastOne) {
  Graph graph;
  ASSERT_TRUE(graph.add_endpoint(1, endpoint(1, "a")).ok());
  ASSERT_TRUE(graph.add_endpoint(2, endpoint(2, "a", false)).ok());
  EXPECT_EQ(graph.topic("a")->foreign.size(), 2U);
  EXPECT_EQ(graph.find(gid(2))->peer(), 2U);
  graph.remove_endpoint(*graph.find(gid(1)));
  EXPECT_NE(graph.topic("a"), nullptr);
  graph.remove_endpoint(*graph.find(gid(2)));
  EXPECT_EQ(graph.topic("a"), nullptr);
  EXPECT_EQ(graph.find(gid(2)), nullptr);
}

TEST(Graph, RefusesAnIdThatIsKnown) {
  Graph graph;
  ASSERT_TRUE(graph.add_endpoint(1, endpoint(1, "a")).ok());
  EXPECT_EQ(graph.add_endpoint(2, endpoint(1, "b")).error().code, Errc::already_exists);
  EXPECT_EQ(graph.topic("b"), nullptr);
  EXPECT_EQ(graph.find(gid(1))->peer(), 1U);
}

TEST(Graph, AnIdIsTakenUntilItsEndpointIsRemoved) {
  Graph graph;
  EXPECT_FALSE(graph.is_taken(gid(1)));
  ASSERT_TRUE(graph.add_endpoint(1, endpoint(1, "a")).ok());
  graph.leave(1);
  EXPECT_EQ(graph.find(gid(1)), nullptr);
  EXPECT_TRUE(graph.is_taken(gid(1))) << "its endpoint is not forgotten yet";
  forget_all(graph);
  EXPECT_FALSE(graph.is_taken(gid(1)));
}

TEST(Graph, ForgetsEverythingOfAPeerThatLeft) {
  Graph graph;
  ASSERT_TRUE(graph.add_endpoint(1, endpoint(1, "a")).ok());
  ASSERT_TRUE(graph.add_endpoint(1, endpoint(2, "b", false)).ok());
  ASSERT_TRUE(graph.add_endpoint(2, endpoint(3, "b")).ok());
  ASSERT_TRUE(graph.add_node(1, {"n1", ""}).ok());
  ASSERT_TRUE(graph.add_node(2, {"n2", "/e"}).ok());
  graph.leave(1);
  EXPECT_EQ(graph.find(gid(1)), nullptr) << "at once, although nothing is forgotten yet";
  EXPECT_EQ(size(graph), 1U);
  EXPECT_EQ(nodes(graph), std::vector<std::string>{"n2/e"});
  forget_all(graph);
  EXPECT_EQ(graph.topic("a"), nullptr);
  EXPECT_EQ(graph.topic("b")->foreign.size(), 1U);
}

TEST(Graph, ForgetsAPeerInSlicesAndLeavesTheRestForTheNextCall) {
  Graph graph;
  for (std::size_t i = 0; i < 1000; ++i) {
    AnnounceFrame frame = endpoint(0, "t");
    frame.gid = numbered(i);
    ASSERT_TRUE(graph.add_endpoint(1, frame).ok());
    ASSERT_TRUE(graph.add_node(1, {"node" + std::to_string(i), ""}).ok());
  }
  graph.leave(1);
  std::size_t gone = 0, calls = 1;
  for (; graph.forget_some(100, [&](const EndpointRecord&) { ++gone; }); ++calls) EXPECT_LE(gone, calls * 100);
  EXPECT_EQ(gone, 1000U);
  EXPECT_GE(calls, 20U);
  EXPECT_EQ(graph.topic("t"), nullptr);
}

TEST(Graph, AProcessThatComesBackBeforeItsPastIsForgottenMayTakeItsIdsAgain) {
  Graph graph;
  ASSERT_TRUE(graph.add_endpoint(1, endpoint(1, "a")).ok());
  graph.leave(1);
  EXPECT_FALSE(graph.add_endpoint(2, endpoint(1, "a")).ok());
  ASSERT_NE(graph.find_left(gid(1)), nullptr);
  graph.remove_endpoint(*graph.find_left(gid(1)));
  ASSERT_TRUE(graph.add_endpoint(2, endpoint(1, "a")).ok());
  forget_all(graph);
  EXPECT_EQ(graph.find(gid(1))->peer(), 2U);
}

TEST(Graph, LimitsTheNumberOfEndpointsOfOnePeer) {
  Graph graph;
  AnnounceFrame frame = endpoint(0, "a");
  for (std::size_t i = 0; i < kMaxAnnouncedPerPeer; ++i) {
    frame.gid = numbered(i);
    frame.topic = "t" + std::to_string(i % 1000);
    ASSERT_TRUE(graph.add_endpoint(1, frame).ok());
  }
  frame.gid = numbered(kMaxAnnouncedPerPeer);
  frame.topic = "one more";
  EXPECT_EQ(graph.add_endpoint(1, frame).error().code, Errc::limit_reached);
  EXPECT_EQ(graph.topic("one more"), nullptr);
  EXPECT_TRUE(graph.add_endpoint(2, frame).ok());
}

TEST(Graph, LimitsTheNumberOfEndpointsOfOnePeerOnOneTopic) {
  Graph graph;
  AnnounceFrame frame = endpoint(0, "a");
  for (std::size_t i = 0; i < kMaxAnnouncedPerTopic; ++i) {
    frame.gid = numbered(i);
    ASSERT_TRUE(graph.add_endpoint(1, frame).ok());
  }
  frame.gid = numbered(kMaxAnnouncedPerTopic);
  const Result<EndpointRecord*> refused = graph.add_endpoint(1, frame);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find(std::to_string(kMaxAnnouncedPerTopic)), std::string::npos);
  EXPECT_TRUE(graph.add_endpoint(2, frame).ok());
}

TEST(Graph, LimitsItsOwnEndpointsOnOneTopicAsItsPeersDo) {
  Graph graph;
  AnnounceFrame frame = endpoint(0, "a");
  for (std::size_t i = 0; i < kMaxAnnouncedPerTopic; ++i) {
    frame.gid = numbered(i);
    ASSERT_TRUE(graph.add_endpoint(kSelf, frame).ok());
  }
  frame.gid = numbered(kMaxAnnouncedPerTopic);
  EXPECT_EQ(graph.add_endpoint(kSelf, frame).error().code, Errc::limit_reached);
  graph.remove_endpoint(*graph.find(numbered(0)));
  EXPECT_TRUE(graph.add_endpoint(kSelf, frame).ok());
}

/// Work is counted, not timed: records that were looked at.
TEST(Graph, LooksAtAFewRecordsPerChangeHoweverManyAreOnTheTopic) {
  Graph graph;
  constexpr std::size_t kPeers = 60, kEach = 1000;
  const auto announce_all = [&] {
    for (PeerId peer = 1; peer <= kPeers; ++peer) {
      for (std::size_t i = 0; i < kEach; ++i) {
        AnnounceFrame frame = endpoint(0, "t", i % 2 == 0);
        frame.gid = numbered(peer * kEach + i);
        ASSERT_TRUE(graph.add_endpoint(peer, frame).ok());
      }
    }
  };
  announce_all();
  EXPECT_LE(graph.visits(), 2 * kPeers * kEach);
  for (PeerId peer = 1; peer <= kPeers; ++peer) {
    for (std::size_t i = 0; i < kEach; ++i) graph.remove_endpoint(*graph.find(numbered(peer * kEach + i)));
  }
  EXPECT_LE(graph.visits(), 6 * kPeers * kEach);
  announce_all();
  const std::uint64_t before = graph.visits();
  graph.leave(7);
  forget_all(graph);
  EXPECT_LE(graph.visits() - before, 2 * kEach) << "only its own endpoints";
  EXPECT_EQ(size(graph), (kPeers - 1) * kEach);
}

TEST(Graph, ComparesAFewIdsForEachEndpointThatAProcessAnnouncesInTheirOrder) {
  Graph graph;
  constexpr std::size_t kPeers = 200, kEach = 30;
  for (PeerId peer = 1; peer <= kPeers; ++peer) {
    for (std::size_t i = 1; i <= kEach; ++i) {
      AnnounceFrame frame = endpoint(0, "t" + std::to_string(i), true);
      frame.gid = Gid{};
      frame.gid[0] = static_cast<std::uint8_t>(peer * 37);  // in no order
      frame.gid[12] = static_cast<std::uint8_t>(i);
      EXPECT_EQ(graph.find(frame.gid), nullptr);
      ASSERT_TRUE(graph.add_endpoint(peer, frame).ok());
      EXPECT_NE(graph.find(frame.gid), nullptr);
    }
  }
  EXPECT_LE(graph.comparisons(), 16 * kPeers * kEach) << "a search among all takes 12, and there are four";
}

TEST(Graph, KeepsTheOrderOfATopicThroughAnyMixOfAdditionsAndRemovals) {
  Graph graph;
  std::vector<std::size_t> model;  // in the order of their announcements
  std::mt19937 random(20261123);
  std::size_t next = 0;
  for (int step = 0; step < 20000; ++step) {
    const bool grow = (step / 2000) % 2 == 0;  // long runs of both, so that gaps collect and room is given back
    if (model.empty() || random() % 10 < (grow ? 8U : 2U)) {
      AnnounceFrame frame = endpoint(0, "t", next % 3 != 0);
      frame.gid = numbered(next);
      ASSERT_TRUE(graph.add_endpoint(1 + next % 5, frame).ok());
      model.push_back(next++);
    } else {
      const auto gone = model.begin() + static_cast<std::ptrdiff_t>(random() % model.size());
      graph.remove_endpoint(*graph.find(numbered(*gone)));
      model.erase(gone);
    }
    if (step % 100 != 0 || model.empty()) continue;
    for (const bool writers : {false, true}) {
      std::vector<Gid> expected, seen;
      for (const std::size_t number : model)
        if ((number % 3 != 0) == writers) expected.push_back(numbered(number));
      graph.visit(graph.topic("t")->foreign, writers, 0, kAllSerials, SIZE_MAX,
                  [&](const EndpointRecord& record) { seen.push_back(record.gid); });
      ASSERT_EQ(seen, expected) << "after " << step << " steps";
    }
    ASSERT_EQ(graph.topic("t")->foreign.size(), model.size());
  }
}

TEST(Graph, CountsThePartOfATopicAlsoOfEndpointsThatCameBeforeItCounted) {
  Graph graph;
  AnnounceFrame frame = endpoint(0, "a");
  std::size_t number = 0;
  const auto add = [&](const char* topic) {
    frame.gid = numbered(number++);
    frame.topic = topic;
    return graph.add_endpoint(1, frame).ok();
  };
  for (std::size_t i = 0; i < kMaxAnnouncedPerTopic - 1; ++i) ASSERT_TRUE(add("a"));
  for (std::size_t i = 0; i < kMaxAnnouncedPerTopic; ++i) ASSERT_TRUE(add("b"));
  EXPECT_TRUE(add("a"));
  EXPECT_FALSE(add("a"));
  EXPECT_FALSE(add("b"));
  EXPECT_TRUE(add("c"));
  graph.remove_endpoint(*graph.find(numbered(0)));
  EXPECT_TRUE(add("a"));
  EXPECT_FALSE(add("a"));
}

TEST(Graph, VisitsTheEndpointsOfATopicInSlicesWithoutThoseThatCameLater) {
  Graph graph;
  AnnounceFrame frame = endpoint(0, "t");
  for (std::size_t i = 0; i < 100; ++i) {
    frame.gid = numbered(i);
    ASSERT_TRUE(graph.add_endpoint(1 + i % 2, frame).ok());
  }
  const std::uint64_t end = graph.next_serial();
  std::size_t count = 0, rounds = 0;
  for (std::uint64_t next = 0; next < end; ++rounds) {
    next = graph.visit(graph.topic("t")->foreign, true, next, end, 10, [&](const EndpointRecord&) { ++count; });
    frame.gid = numbered(1000 + rounds);
    ASSERT_TRUE(graph.add_endpoint(1, frame).ok());
    if (rounds == 2) graph.remove_endpoint(*graph.find(numbered(30)));  // where the next slice would begin
  }
  EXPECT_EQ(count, 99U);
  EXPECT_GE(rounds, 10U);
}

// --- budgets ---

TEST(Budgets, EndAPeerThatAnnouncesMoreThanItsBytesAndNameTheNumbers) {
  BudgetLimits limits;
  limits.per_process[0] = 10 * kEndpointBytes;
  Budgets budgets(nullptr, limits);
  budgets.add_peer(1, 101, 1000);
  budgets.add_peer(2, 102, 1000);
  Graph graph(&budgets);
  std::size_t added = 0;
  AnnounceFrame frame = endpoint(0, "topic");
  for (;; ++added) {
    frame.gid = numbered(added);
    const Result<EndpointRecord*> result = graph.add_endpoint(1, frame);
    if (result) continue;
    EXPECT_EQ(result.error().code, Errc::limit_reached);
    EXPECT_NE(result.error().message.find(std::to_string(limits.per_process[0])), std::string::npos)
        << result.error().message;
    break;
  }
  EXPECT_EQ(added, 9U);
  EXPECT_EQ(graph.add_node(1, {std::string(1024, 'n'), ""}).error().code, Errc::limit_reached);
  EXPECT_TRUE(graph.add_endpoint(2, frame).ok()) << "others have their own";
  frame.gid = numbered(999);
  EXPECT_TRUE(graph.add_endpoint(kSelf, frame).ok()) << "the process itself is not counted";
  graph.leave(1);
  forget_all(graph);
  EXPECT_EQ(budgets.kept(1, Keep::kAnnouncements), 0U);
}

TEST(Budgets, TenThousandEndpointsWithTheLongestNamesFit) {
  Budgets budgets;
  budgets.add_peer(1, 101, 1000);
  Graph graph(&budgets);
  AnnounceFrame frame = endpoint(0, "");
  const std::string longest(kMaxNameBytes - 5, 'x');
  for (std::size_t i = 0; i < 10000; ++i) {
    const std::string number = std::to_string(10000 + i);
    frame.gid = numbered(i);
    frame.topic = longest + number;
    frame.node = longest + number;
    frame.type_name = longest + number;
    const Result<EndpointRecord*> added = graph.add_endpoint(1, frame);
    ASSERT_TRUE(added.ok()) << i << ": " << added.error().message;
    ASSERT_TRUE(graph.add_node(1, {frame.node, ""}).ok());
  }
}

TEST(Budgets, EveryRemovalGivesBackWhatItsAnnouncementTook) {
  Budgets budgets;
  budgets.add_peer(1, 101, 1000);
  Graph graph(&budgets);
  const auto kept = [&] { return budgets.kept(1, Keep::kAnnouncements); };
  ASSERT_TRUE(graph.add_endpoint(1, endpoint(1, "topic")).ok());
  const std::size_t one = kept();
  EXPECT_EQ(one, kEndpointBytes + std::string("topicnodetest/Type").size());
  ASSERT_TRUE(graph.add_endpoint(1, endpoint(2, "other topic")).ok());
  EXPECT_FALSE(graph.add_endpoint(1, endpoint(1, "again")).ok());
  ASSERT_TRUE(graph.add_node(1, {"name", "/enclave"}).ok());
  ASSERT_TRUE(graph.add_node(1, {"name", "/enclave"}).ok());
  EXPECT_EQ(kept(), 2 * one + 6 + kNodeBytes + 12);
  graph.remove_node(1, {"name", "/another"});
  graph.remove_node(1, {"name", "/enclave"});
  graph.remove_endpoint(*graph.find(gid(2)));
  EXPECT_EQ(kept(), one + kNodeBytes + 12);
  graph.remove_node(1, {"name", "/enclave"});
  EXPECT_EQ(kept(), one);
  graph.remove_endpoint(*graph.find(gid(1)));
  EXPECT_EQ(kept(), 0U);
}

TEST(Budgets, WhenAUserKeepsTooMuchTheProcessThatKeepsMostIsEnded) {
  BudgetLimits limits;
  limits.per_process[0] = 1000;
  limits.per_user[0] = 1500;
  std::vector<PeerId> ended;
  Budgets budgets(
      [&](PeerId peer, const Error& error) {
        ended.push_back(peer);
        EXPECT_NE(error.message.find("1500"), std::string::npos) << error.message;
      },
      limits);
  for (const PeerId peer : {PeerId{1}, PeerId{2}, PeerId{3}}) budgets.add_peer(peer, 100 + peer, 7);
  budgets.add_peer(4, 104, 8);
  std::vector<Charge> charges;
  const auto charge = [&](PeerId peer, std::size_t bytes) {
    Result<Charge> granted = budgets.charge(peer, Keep::kAnnouncements, bytes);
    if (granted) charges.push_back(std::move(*granted));
    return granted.ok();
  };
  EXPECT_TRUE(charge(1, 900));
  EXPECT_TRUE(charge(2, 500));
  EXPECT_TRUE(charge(3, 200)) << "the greedy one goes, not the last one";
  EXPECT_EQ(ended, std::vector<PeerId>{1});
  EXPECT_FALSE(charge(1, 1)) << "it is on its way out";
  EXPECT_TRUE(charge(2, 100)) << "what the other one keeps does not count any more";
  EXPECT_EQ(ended.size(), 1U);
  EXPECT_TRUE(charge(4, 1000)) << "another user";
  EXPECT_FALSE(charge(2, 900)) << "beyond its own budget";
  charges.clear();
  EXPECT_EQ(budgets.kept_of_user(7, Keep::kAnnouncements), 0U);
  EXPECT_EQ(budgets.returned(true), 2700U);
}

BudgetLimits for_connections(std::size_t per_process, std::size_t per_user) {
  BudgetLimits limits;
  limits.per_process[static_cast<std::size_t>(Keep::kConnections)] = per_process;
  limits.per_user[static_cast<std::size_t>(Keep::kConnections)] = per_user;
  return limits;
}

TEST(Budgets, ConnectionsCountTheirMemoryAreas) {
  BudgetLimits limits;
  limits.per_process[static_cast<std::size_t>(Keep::kAreas)] = 30;
  limits.per_user[static_cast<std::size_t>(Keep::kAreas)] = 40;
  Budgets budgets(nullptr, limits);
  budgets.add_peer(1, 555, 7);
  budgets.add_peer(2, 666, 7);
  std::vector<Charge> kept;
  const auto connect = [&](PeerId peer) {
    Result<Charge> charge = budgets.charge(peer, Keep::kConnections, 1, kAreasOfConnection);
    if (charge) kept.push_back(std::move(*charge));
    return charge ? Error{} : charge.error();
  };
  for (int i = 0; i < 10; ++i) ASSERT_EQ(connect(1).message, "");
  const Error refused = connect(1);
  EXPECT_EQ(refused.code, Errc::limit_reached);
  for (const char* word : {"33 memory areas", "30", "vm.max_map_count"})
    EXPECT_NE(refused.message.find(word), std::string::npos) << refused.message;
  EXPECT_EQ(budgets.kept(1, Keep::kConnections), 10U) << "nothing was charged";
  for (int i = 0; i < 3; ++i) ASSERT_EQ(connect(2).message, "");
  EXPECT_EQ(connect(2).message, "") << "beyond the user's budget the process with most is ended";
  EXPECT_EQ(connect(1).message, "it is being disconnected");
  kept.clear();
  EXPECT_EQ(budgets.kept(1, Keep::kAreas), 0U);
  EXPECT_EQ(budgets.kept_of_user(7, Keep::kAreas), 0U);
  EXPECT_LE(BudgetLimits().of_process(Keep::kAreas) * 8, os::most_memory_areas());
  EXPECT_LE(BudgetLimits().of_user(Keep::kAreas) * 4, os::most_memory_areas());
}

TEST(Budgets, WhatOutlivesItsConnectionStillCountsForItsProcessThatConnectsAgain) {
  std::vector<PeerId> ended;
  Budgets budgets([&](PeerId peer, const Error&) { ended.push_back(peer); }, for_connections(1000, 1500));
  std::vector<Charge> draining;
  for (PeerId connection = 1; connection <= 20;
       ++connection) {  // the samples of each connection are still held when it ends
    budgets.add_peer(connection, 555, 7);
    if (Result<Charge> kept = budgets.charge(connection, Keep::kConnections, 100)) draining.push_back(std::move(*kept));
    budgets.remove_peer(connection);
  }
  EXPECT_EQ(draining.size(), 10U);
  EXPECT_EQ(budgets.kept_of_user(7, Keep::kConnections), 1000U);
  budgets.add_peer(30, 666, 7);
  EXPECT_TRUE(budgets.charge(30, Keep::kConnections, 400).ok()) << "another process of this user";
  EXPECT_FALSE(budgets.charge(30, Keep::kConnections, 600).ok());
  EXPECT_TRUE(ended.empty()) << "a process without a connection cannot be ended";
  budgets.add_peer(31, 555, 7);
  EXPECT_EQ(budgets.kept(31, Keep::kConnections), 1000U);
  draining.clear();
  EXPECT_EQ(budgets.kept(31, Keep::kConnections), 0U);
  EXPECT_TRUE(budgets.charge(31, Keep::kConnections, 1000).ok());
}

TEST(Budgets, WhatProcessesHoldThatLeftEndsNoProcessThatTakesLittle) {
  std::vector<PeerId> ended;
  Budgets budgets([&](PeerId peer, const Error&) { ended.push_back(peer); }, for_connections(1000, 1500));
  budgets.add_peer(1, 555, 7);
  const Result<Charge> held = budgets.charge(1, Keep::kConnections, 1000);
  budgets.remove_peer(1);  // its process lives, and holds them
  budgets.add_peer(2, 666, 7);
  budgets.add_peer(3, 777, 7);
  const Result<Charge> honest = budgets.charge(2, Keep::kConnections, 400);
  ASSERT_TRUE(held.ok() && honest.ok());
  const Result<Charge> refused = budgets.charge(3, Keep::kConnections, 200);
  EXPECT_TRUE(ended.empty()) << "it gets nothing back for the others";
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("processes of that user that left still hold 1000 bytes"), std::string::npos)
      << refused.error().message;
}

TEST(Budgets, TheProcessThatWasEndedMayComeBackWithWhatItHasLeft) {
  std::vector<PeerId> ended;
  Budgets budgets([&](PeerId peer, const Error&) { ended.push_back(peer); }, for_connections(1000, 1500));
  budgets.add_peer(1, 555, 7);
  budgets.add_peer(2, 666, 7);
  std::vector<Charge> kept;
  for (const auto& [peer, bytes] : {std::pair{1, 600}, {1, 300}, {2, 500}, {2, 300}}) {
    Result<Charge> charge =
        budgets.charge(static_cast<PeerId>(peer), Keep::kConnections, static_cast<std::size_t>(bytes));
    ASSERT_TRUE(charge.ok()) << charge.error().message;
    kept.push_back(std::move(*charge));
  }
  EXPECT_EQ(ended, std::vector<PeerId>{1});
  kept.erase(kept.begin());  // 300 bytes stay pinned
  budgets.remove_peer(1);
  budgets.add_peer(3, 555, 7);
  EXPECT_EQ(budgets.kept(3, Keep::kConnections), 300U);
  EXPECT_TRUE(budgets.charge(3, Keep::kConnections, 400).ok());
}

TEST(Budgets, DataSegmentsOfAProcessTakeHalfOfTheDescriptorsAtMostAndTheErrorNamesTheWayOut) {
  Budgets budgets;
  budgets.add_peer(1, 555, 7);
  const std::size_t half = os::descriptor_limit() / 2;
  const Result<Charge> all = budgets.charge(1, Keep::kSegments, half);
  ASSERT_TRUE(all.ok());
  const Result<Charge> further = budgets.charge(1, Keep::kSegments, 1);
  ASSERT_FALSE(further.ok());
  EXPECT_EQ(further.error().code, Errc::limit_reached);
  EXPECT_EQ(further.error().message, "its data segments would take " + std::to_string(half + 1) +
                                         " descriptors in this process; one process may take " + std::to_string(half) +
                                         " descriptors; raise RLIMIT_NOFILE (ulimit -n)");
  budgets.add_peer(2, 666, 7);
  EXPECT_TRUE(budgets.charge(2, Keep::kSegments, half / 2).ok()) << "another process of this user";
  EXPECT_EQ(budgets.returned(true), 0U) << "descriptors are no bytes";
}

TEST(Budgets, ConnectionsOfUnknownProcessesCountEachAlone) {
  BudgetLimits limits;
  limits.per_process[1] = 1000;
  Budgets budgets(nullptr, limits);
  budgets.add_peer(1, 0, 7);
  budgets.add_peer(2, 0, 7);
  const Result<Charge> first = budgets.charge(1, Keep::kConnections, 1000);
  const Result<Charge> second = budgets.charge(2, Keep::kConnections, 1000);
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(budgets.kept_of_user(7, Keep::kConnections), 2000U);
}

TEST(DefinitionDifference, ShowsTheLinesThatDifferAndFromWhichSideTheyCome) {
  EXPECT_EQ(definition_difference("uint8 a\nuint8 b\nuint8 c\n", "uint8 a\nuint16 b\nuint8 c\nuint8 d\n"),
            "- here:  uint8 b\n- there: uint16 b\n- there: uint8 d\n");
  EXPECT_EQ(definition_difference("a", ""), "(one side gave no definition)");
}

TEST(DefinitionDifference, IsShortAndPrintableWhateverThePeerSent) {
  std::string noise;
  for (int i = 0; i < 5000; ++i) noise += "\x01\xff" + std::to_string(i) + "\n";
  const std::string text = definition_difference("uint8 a\n", noise);
  EXPECT_LT(text.size(), 10000U);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7E));
}

}  // namespace
}  // namespace baton::transport
