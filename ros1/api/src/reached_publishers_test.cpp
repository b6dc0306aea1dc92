// SPDX-License-Identifier: Apache-2.0
#include "reached_publishers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace baton::ros1::detail {
namespace {

using transport::Gid;

TEST(ReachedPublishersTest, KeepsThosePublishersOfTheGraphOfWhichAMessageCame) {
  const auto end = [](std::uint8_t gid, const std::string& node, bool is_writer) {
    transport::EndpointInfo out{};
    out.gid = Gid{gid};
    out.node = node;
    out.is_writer = is_writer;
    return out;
  };
  const RoscppPeer one("/one", os::TcpPeer()), two("/two", os::TcpPeer()), three("/three", os::TcpPeer());
  std::vector<transport::EndpointInfo> graph{end(1, "one", true), end(2, "two", true), end(3, "three", false)};
  int asked = 0;
  const auto endpoints = [&] {
    ++asked;
    return graph;
  };
  ReachedPublishers reached;
  EXPECT_FALSE(reached.any_in(one));
  reached.note(Gid{1}, 7, endpoints);
  reached.note(Gid{1}, 7, endpoints);
  EXPECT_EQ(asked, 1) << "nothing was new";
  EXPECT_TRUE(reached.any_in(one));
  EXPECT_FALSE(reached.any_in(two)) << "none of its messages came";
  reached.note(Gid{2}, 7, endpoints);
  EXPECT_TRUE(reached.any_in(one));
  EXPECT_TRUE(reached.any_in(two));
  reached.note(Gid{3}, 7, endpoints);
  EXPECT_FALSE(reached.any_in(three)) << "it is a subscription";
  graph.erase(graph.begin());
  reached.note(Gid{2}, 8, endpoints);
  EXPECT_FALSE(reached.any_in(one)) << "it has gone";
  EXPECT_EQ(reached.size(), 1U);
}

}  // namespace
}  // namespace baton::ros1::detail
