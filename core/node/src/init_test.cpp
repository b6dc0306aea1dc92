// SPDX-License-Identifier: Apache-2.0
#include "baton/node/init.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#ifdef BATON_HAS_RAPIDCHECK
#include <rapidcheck/gtest.h>
#endif

using baton::Arguments;
using baton::ParameterType;
using baton::parse_arguments;
using Line = std::vector<std::string>;

namespace {

/// The text of the error that a command line makes; empty: none.
std::string refused(const Line& line) {
  try {
    parse_arguments(line);
  } catch (const baton::Exception& error) {
    return error.what();
  }
  return "";
}

TEST(ArgumentsTest, WhatIsNotForRosIsLeftInItsOrder) {
  const Arguments found = parse_arguments({"program", "--rate", "5", "--ros-args", "-r", "a:=b", "--", "file", "--x:=1",
                                           "--ros-args", "--log-level", "info"});
  EXPECT_EQ(found.rest, (Line{"program", "--rate", "5", "file", "--x:=1"}));
  EXPECT_EQ(found.remappings.size(), 1U);
  EXPECT_EQ(found.log_levels.size(), 1U);
  EXPECT_EQ(parse_arguments({"program", "--", "a"}).rest, (Line{"program", "--", "a"})) << "not behind --ros-args";
}

TEST(ArgumentsTest, TheGrammarOfRos2) {
  const Arguments found =
      parse_arguments({"--ros-args", "-r", "image:=/photo", "--remap", "camera:~/a:=b", "-r", "__ns:=/left", "-r",
                       "camera:__node:=viewer", "-p", "rate:=10", "--param", "camera:name:=x", "--log-level", "DEBUG",
                       "--log-level", "camera.driver:=warn", "-r", "rosservice://s:=t"});
  using Applies = baton::Remapping::Applies;
  ASSERT_EQ(found.remappings.size(), 5U);
  EXPECT_EQ(found.remappings[0].from, "image");
  EXPECT_EQ(found.remappings[0].to, "/photo");
  EXPECT_EQ(found.remappings[0].applies, Applies::kTopicsAndServices);
  EXPECT_EQ(found.remappings[1].node, "camera");
  EXPECT_EQ(found.remappings[1].from, "~/a");
  EXPECT_EQ(found.remappings[2].applies, Applies::kNamespace);
  EXPECT_EQ(found.remappings[2].to, "/left");
  EXPECT_EQ(found.remappings[3].applies, Applies::kNodeName);
  EXPECT_EQ(found.remappings[3].node, "camera");
  EXPECT_EQ(found.remappings[4].applies, Applies::kServices);
  EXPECT_EQ(found.remappings[4].from, "s");
  ASSERT_EQ(found.parameters.size(), 2U);
  EXPECT_EQ(found.parameters[0].node, "/**");
  EXPECT_EQ(found.parameters[0].name, "rate");
  EXPECT_EQ(found.parameters[0].value, baton::ParameterValue(10));
  EXPECT_EQ(found.parameters[1].node, "/**/camera");
  EXPECT_EQ(found.parameters[1].value, baton::ParameterValue("x"));
  ASSERT_EQ(found.log_levels.size(), 2U);
  EXPECT_EQ(found.log_levels[0].logger, "");
  EXPECT_EQ(found.log_levels[0].level, "debug");
  EXPECT_EQ(found.log_levels[1].logger, "camera.driver");
  EXPECT_EQ(found.log_levels[1].level, "warn");
}

TEST(ArgumentsTest, TheGrammarOfRos1) {
  const Arguments found = parse_arguments(
      {"program", "image:=/photo", "__ns:=left", "__name:=viewer", "_rate:=0.5", "__log:=/tmp/x.log", "other"});
  using Applies = baton::Remapping::Applies;
  ASSERT_EQ(found.remappings.size(), 3U);
  EXPECT_EQ(found.remappings[0].from, "image");
  EXPECT_EQ(found.remappings[1].to, "/left");
  EXPECT_EQ(found.remappings[2].applies, Applies::kNodeName);
  ASSERT_EQ(found.parameters.size(), 1U);
  EXPECT_EQ(found.parameters[0].name, "rate");
  EXPECT_EQ(found.parameters[0].value, baton::ParameterValue(0.5));
  EXPECT_EQ(found.rest, (Line{"program", "other"}));
}

TEST(ArgumentsTest, AFaultIsRefusedWithTheArgumentInTheText) {
  struct Row {
    Line line;
    const char* says;
  };
  for (const Row& row : {
           Row{{"--ros-args", "--nonsense"}, "'--nonsense' behind --ros-args is unknown"},
           Row{{"--ros-args", "file"}, "'file' behind --ros-args is unknown"},
           Row{{"--ros-args", "-r"}, "'-r': its value is missing"},
           Row{{"--ros-args", "-r", "--"}, "'-r': its value is missing"},
           Row{{"--ros-args", "-r", "image"}, "has the form from:=to"},
           Row{{"--ros-args", "-r", "a b:=c"}, "'a b' is no name"},
           Row{{"--ros-args", "-r", "a:=c d"}, "'c d' is no name"},
           Row{{"--ros-args", "-r", ":=a"}, "argument ':=a'"},
           Row{{"--ros-args", "-r", "a:="}, "argument 'a:='"},
           Row{{"--ros-args", "-r", "a:b:c:=d"}, "argument 'a:b:c:=d'"},
           Row{{"--ros-args", "-r", "1x:a:=b"}, "'1x' is no name of a node"},
           Row{{"--ros-args", "-r", "__node:=a/b"}, "'a/b' is no name of a node"},
           Row{{"--ros-args", "-r", "__ns:=a b"}, "'a b' is no namespace"},
           Row{{"--ros-args", "-r", "__nodes:=a"}, "unknown word '__nodes'"},
           Row{{"--ros-args", "-r", "rostopic://a:=rosservice://b"}, "same kind"},
           Row{{"--ros-args", "-p", "rate"}, "has the form name:=value"},
           Row{{"--ros-args", "-p", "rate:="}, "there is no value"},
           Row{{"--ros-args", "-p", ":=5"}, "name is empty"},
           Row{{"--ros-args", "--params-file", "/does/not/exist.yaml"},
               "'/does/not/exist.yaml' cannot be read: No such file or directory"},
           Row{{"--ros-args", "--params-file", "/"}, "'/' cannot be read: Is a directory"},
           Row{{"--ros-args", "--log-level", "loud"}, "the levels are debug"},
           Row{{"--ros-args", "--log-level", ":=info"}, "name is empty"},
           Row{{"a b:=c"}, "'a b' is no name"},
           Row{{"_x:="}, "there is no value"},
       }) {
    const std::string text = refused(row.line);
    EXPECT_NE(text.find(row.says), std::string::npos) << row.line.back() << ": " << text;
  }
}

#ifdef BATON_HAS_LIBYAML
TEST(ArgumentsTest, FilesAndSingleParametersKeepTheirOrder) {
  const std::string path = ::testing::TempDir() + "baton_arguments.yaml";
  std::ofstream(path) << "camera:\n  ros__parameters:\n    rate: 5\n";
  const Arguments found = parse_arguments({"--ros-args", "-p", "rate:=1", "--params-file", path, "-p", "list:=[1, 2]"});
  std::filesystem::remove(path);
  ASSERT_EQ(found.parameters.size(), 3U);
  EXPECT_EQ(found.parameters[1].node, "/camera");
  EXPECT_EQ(found.parameters[1].where, path + ":3");
  EXPECT_EQ(found.parameters[2].value, baton::ParameterValue(std::vector<int>{1, 2}));
  EXPECT_NE(refused({"--ros-args", "-p", "x:=[1, a]"}).find("argument 'x:=[1, a]'"), std::string::npos);
}
#endif

TEST(ArgumentsTest, InitKeepsTheArgumentsForTheWholeProcess) {
  const char* argv[] = {"program", "--ros-args", "-r", "a:=b", "--", "rest"};
  EXPECT_EQ(baton::init(6, argv), (Line{"program", "rest"}));
  EXPECT_EQ(baton::arguments()->remappings.size(), 1U);
  EXPECT_THROW(baton::init({"program", "--ros-args", "--wrong"}), baton::Exception);
  EXPECT_EQ(baton::arguments()->remappings.size(), 1U) << "a refused command line changes nothing";
  baton::init({"program"});
  EXPECT_TRUE(baton::arguments()->remappings.empty());
}

#ifdef BATON_HAS_RAPIDCHECK
RC_GTEST_PROP(ArgumentsTest, AnyCommandLineIsReadOrRefused, ()) {
  const auto word = rc::gen::oneOf(
      rc::gen::element<std::string>("--ros-args", "--", "-r", "-p", "--log-level", "__ns", "a:=b", "n:a:=b",
                                    ":=", "_p:=[", "_p:={a: b", "__node:=", "~:=~", "rostopic://", "info", "-r:=-p"),
      rc::gen::arbitrary<std::string>());
  const auto line = *rc::gen::container<Line>(word);
  try {
    const Arguments found = parse_arguments(line);
    RC_ASSERT(found.rest.size() <= line.size());
  } catch (const baton::Exception& error) {
    RC_ASSERT(std::string(error.what()).size() > 20U);
  }
}
#endif

}  // namespace
