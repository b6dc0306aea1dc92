// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <gtest/gtest.h>

#include "baton/msg/std_msgs/u_int64.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"
#include "node_test_support.hpp"

#ifdef BATON_HAS_RAPIDCHECK
#include <rapidcheck/gtest.h>
#endif

using namespace std::chrono_literals;
using baton::Arguments;
using baton::detail::matches;
using baton::detail::NodeNames;
using Number = baton::msg::std_msgs::UInt64;
using SetBool = baton::srv::std_srvs::SetBool;

namespace {

NodeNames names(const std::string& ns, const std::vector<std::string>& rules) {
  std::vector<std::string> line = {"--ros-args"};
  for (const std::string& rule : rules) line.insert(line.end(), {"-r", rule});
  return NodeNames("camera", ns, baton::parse_arguments(line).remappings);
}

std::string topic(const NodeNames& of, const std::string& name) { return of.resolve(name, NodeNames::Kind::kTopic); }
std::string service(const NodeNames& of, const std::string& name) {
  return of.resolve(name, NodeNames::Kind::kService);
}

TEST(Names, RelativePrivateAndAbsoluteNamesAreResolvedInTheNamespace) {
  struct Row {
    const char *ns, *name, *resolved;
  };
  for (const Row& row : {
           Row{"", "image", "/image"},
           Row{"/", "image", "/image"},
           Row{"left", "image", "/left/image"},
           Row{"/left/arm", "a/b", "/left/arm/a/b"},
           Row{"/left", "/image", "/image"},
           Row{"/left", "~/image", "/left/camera/image"},
           Row{"/left", "~image", "/left/camera/image"},
           Row{"", "~/image", "/camera/image"},
           Row{"/left", "~", "/left/camera"},
           Row{"/left", "/rosout", "/rosout"},
       }) {
    EXPECT_EQ(topic(names(row.ns, {}), row.name), row.resolved) << row.ns << " " << row.name;
    EXPECT_EQ(service(names(row.ns, {}), row.name), row.resolved) << row.ns << " " << row.name;
  }
}

TEST(Names, WhatIsNoNameIsRefusedInWords) {
  for (const char* name : {"", "/", "a b", "a//b", "a/", "~/", "~//a", "a~b", "/~/a", "a-b", "\xc3\xa9"}) {
    EXPECT_THROW(topic(names("/left", {}), name), baton::Exception) << name;
  }
  for (const char* ns : {"a b", "/a//b", "//", "/a/", "a-b", "~"})
    EXPECT_THROW(NodeNames("camera", ns, {}), baton::Exception) << ns;
}

TEST(Names, TheFirstRuleThatMatchesTheResolvedNameRenamesIt) {
  struct Row {
    std::vector<std::string> rules;
    const char *name, *resolved;
  };
  for (const Row& row : {
           Row{{"image:=photo"}, "image", "/left/photo"},
           Row{{"image:=/photo"}, "/left/image", "/photo"},
           Row{{"/image:=photo"}, "image", "/left/image"},
           Row{{"/left/image:=photo"}, "image", "/left/photo"},
           Row{{"image:=a", "image:=b"}, "image", "/left/a"},
           Row{{"image:=a", "a:=b"}, "image", "/left/a"},
           Row{{"~/image:=~/photo"}, "~/image", "/left/camera/photo"},
           Row{{"camera:image:=a", "image:=b"}, "image", "/left/a"},
           Row{{"viewer:image:=a", "image:=b"}, "image", "/left/b"},
           Row{{"image:=a"}, "image/raw", "/left/image/raw"},
       })
    EXPECT_EQ(topic(names("/left", row.rules), row.name), row.resolved) << row.rules.front() << " " << row.name;
}

TEST(Names, ARuleMayBeForTopicsOrForServicesAlone) {
  const NodeNames of = names("", {"rostopic://x:=topic", "rosservice://x:=service"});
  EXPECT_EQ(topic(of, "x"), "/topic");
  EXPECT_EQ(service(of, "x"), "/service");
}

TEST(Names, NodeNameAndNamespaceAreReplacedAndRulesKnowTheNewName) {
  const NodeNames of =
      names("/left", {"viewer:image:=photo", "__node:=viewer", "viewer:__ns:=/right", "other:__ns:=/up"});
  EXPECT_EQ(of.name(), "viewer");
  EXPECT_EQ(of.ns(), "/right");
  EXPECT_EQ(of.fully_qualified(), "/right/viewer");
  EXPECT_EQ(topic(of, "image"), "/right/photo");
  EXPECT_EQ(topic(of, "~/image"), "/right/viewer/image");
  EXPECT_EQ(names("/left", {"other:__node:=viewer"}).name(), "camera");
}

TEST(Names, PatternsOfNodesMatchWholeParts) {
  struct Row {
    const char *pattern, *name;
    bool matched;
  };
  for (const Row& row : {
           Row{"/**", "/a", true},
           Row{"/**", "/a/b/c", true},
           Row{"/*", "/a", true},
           Row{"/*", "/a/b", false},
           Row{"/a/*", "/a/b", true},
           Row{"/a/**", "/a/b/c", true},
           Row{"/**/c", "/a/b/c", true},
           Row{"/**/c", "/c", true},
           Row{"/**/c", "/a/b", false},
           Row{"/*/b", "/a/b", true},
           Row{"/a", "/a", true},
           Row{"/a", "/ab", false},
           Row{"/a*", "/ab", false},
           Row{"/a/**/d/*", "/a/b/c/d/e", true},
       })
    EXPECT_EQ(matches(row.pattern, row.name), row.matched) << row.pattern << " " << row.name;
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "/**";
  std::string name;
  for (int i = 0; i < 1000; ++i) name += "/a";
  EXPECT_TRUE(matches(many, name));
  EXPECT_FALSE(matches(many + "/b", name)) << "a hostile pattern costs no more than its length times the name's";
}

#ifdef BATON_HAS_RAPIDCHECK
RC_GTEST_PROP(Names, EveryResolvedNameIsAbsoluteAndIsItsOwnResolution, ()) {
  const auto name = *rc::gen::container<std::string>(rc::gen::element('a', 'B', '_', '0', '/', '~'));
  const NodeNames of = names("/left", {});
  std::string resolved;
  try {
    resolved = topic(of, name);
  } catch (const baton::Exception&) {
    return;
  }
  RC_ASSERT(resolved.front() == '/');
  RC_ASSERT(topic(of, resolved) == resolved);
}
#endif

class NamesOfNodes : public baton::test::DomainTest {};

TEST_F(NamesOfNodes, ANodeInANamespaceIsInTheGraphUnderItsFullName) {
  baton::Node node("camera", "left");
  EXPECT_EQ(node.name(), "camera");
  EXPECT_EQ(node.ns(), "/left");
  EXPECT_EQ(node.fully_qualified_name(), "/left/camera");
  auto publisher = node.advertise<Number>("image");
  EXPECT_EQ(publisher.topic(), "/left/image");
  ASSERT_EQ(node.nodes().size(), 1U);
  EXPECT_EQ(node.nodes()[0].first, "/left/camera");
  EXPECT_EQ(node.endpoints().at(0).node, "/left/camera");
  EXPECT_EQ(node.count_publishers("image"), 1U);
  EXPECT_EQ(node.count_publishers("/image"), 0U);
}

TEST_F(NamesOfNodes, EveryKindOfEndpointFollowsTheRulesOfItsNode) {
  baton::NodeOptions options;
  options.arguments = {"--ros-args", "-r", "image:=photo", "-r", "switch:=toggle"};
  baton::Node node("camera", options);
  auto publisher = node.advertise<Number>("image");
  auto polled = node.subscribe<Number>("image");
  auto called = node.subscribe<Number>("image", 4, [](const Number&) {});
  EXPECT_EQ(publisher.topic(), "/photo");
  EXPECT_EQ(polled.topic(), "/photo");
  EXPECT_EQ(called.topic(), "/photo");
  auto service = node.serve<SetBool>("switch", [](const SetBool::Request&, SetBool::Response&) {});
  EXPECT_EQ(service.name(), "/toggle");
  EXPECT_EQ(node.client<SetBool>("switch").core()->name(), "/toggle");
  EXPECT_EQ(node.count_subscriptions("/toggle/_request"), 1U);
}

TEST_F(NamesOfNodes, AServiceIsRenamedOnceAndItsTopicsNever) {
  baton::NodeOptions options;
  options.arguments = {"--ros-args", "-r", "a:=b", "-r", "b:=c", "-r", "/b/_request:=/elsewhere"};
  baton::Node node("n", options);
  auto service = node.serve<SetBool>("a", [](const SetBool::Request&, SetBool::Response&) {});
  auto client = node.client<SetBool>("a");
  EXPECT_EQ(service.name(), "/b");
  EXPECT_TRUE(client.wait_for_service(60s));
  EXPECT_EQ(node.count_publishers("/b/_response"), 1U);
}

TEST_F(NamesOfNodes, ANodeMayRefuseTheArgumentsOfTheProcess) {
  baton::init({"program", "image:=photo", "__ns:=/left"});
  baton::NodeOptions own;
  own.use_global_arguments = false;
  EXPECT_EQ(baton::Node("camera", own).resolve_topic_name("image"), "/image");
  EXPECT_EQ(baton::Node("camera").resolve_topic_name("image"), "/left/photo");
  baton::NodeOptions first;
  first.arguments = {"image:=mine", "__ns:=right"};
  EXPECT_EQ(baton::Node("camera", first).resolve_topic_name("image"), "/right/mine");
  baton::init({"program"});
  EXPECT_EQ(baton::Node("camera").resolve_topic_name("image"), "/image");
}

}  // namespace
