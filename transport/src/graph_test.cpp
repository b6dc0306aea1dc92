// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

#include <gtest/gtest.h>

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

TEST(Graph, FindsAnEndpointByItsIdAndForgetsItsTopicWithTheLastOne) {
  Graph graph;
  ASSERT_NE(graph.add_endpoint(1, endpoint(1, "a")), nullptr);
  ASSERT_NE(graph.add_endpoint(2, endpoint(2, "a", false)), nullptr);
  EXPECT_EQ(graph.topic("a")->endpoints.size(), 2U);
  EXPECT_EQ(graph.find(gid(2)).second->peer, 2U);
  EXPECT_TRUE(graph.remove_endpoint(1, gid(1)));
  EXPECT_NE(graph.topic("a"), nullptr);
  EXPECT_TRUE(graph.remove_endpoint(2, gid(2)));
  EXPECT_EQ(graph.topic("a"), nullptr);
  EXPECT_EQ(graph.find(gid(2)).second, nullptr);
}

TEST(Graph, RefusesAnIdThatIsKnownAndARemovalByAnotherPeer) {
  Graph graph;
  ASSERT_NE(graph.add_endpoint(1, endpoint(1, "a")), nullptr);
  EXPECT_EQ(graph.add_endpoint(2, endpoint(1, "b")), nullptr);
  EXPECT_EQ(graph.topic("b"), nullptr);
  EXPECT_FALSE(graph.remove_endpoint(2, gid(1)));
  EXPECT_FALSE(graph.remove_endpoint(1, gid(9)));
}

TEST(Graph, ForgetsEverythingOfAPeerAtOnce) {
  Graph graph;
  graph.add_endpoint(1, endpoint(1, "a"));
  graph.add_endpoint(1, endpoint(2, "b", false));
  graph.add_endpoint(2, endpoint(3, "b"));
  graph.add_node(1, "n1");
  graph.add_node(2, "n2");
  EXPECT_EQ(graph.remove_peer(1).size(), 2U);
  EXPECT_EQ(graph.topic("a"), nullptr);
  EXPECT_EQ(graph.topic("b")->endpoints.size(), 1U);
  std::vector<std::string> nodes;
  graph.for_each_node([&](PeerId, const std::string& name) { nodes.push_back(name); });
  EXPECT_EQ(nodes, std::vector<std::string>{"n2"});
}

TEST(Graph, LimitsWhatOnePeerMayAnnounce) {
  Graph graph;
  AnnounceFrame frame = endpoint(0, "a");
  for (std::size_t i = 0; i < kMaxAnnouncedPerPeer; ++i) {
    frame.gid[1] = static_cast<std::uint8_t>(i);
    frame.gid[2] = static_cast<std::uint8_t>(i >> 8);
    frame.topic = "t" + std::to_string(i % 1000);
    ASSERT_NE(graph.add_endpoint(1, frame), nullptr);
  }
  frame.gid[3] = 1;
  EXPECT_EQ(graph.add_endpoint(1, frame), nullptr);
  EXPECT_NE(graph.add_endpoint(2, frame), nullptr);
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
