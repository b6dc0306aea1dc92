// SPDX-License-Identifier: Apache-2.0
#include "parameter_yaml.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#ifdef BATON_HAS_RAPIDCHECK
#include <rapidcheck/gtest.h>
#endif

using baton::ParameterAssignment;
using baton::ParameterValue;
using baton::parse_parameter_value;
using baton::detail::parse_parameters;
using baton::detail::plain_scalar;

namespace {

TEST(ParameterYaml, PlainScalarsHaveTheTypesOfRos2) {
  for (const char* yes : {"true", "True", "yes", "on", "y", "ON"}) EXPECT_EQ(plain_scalar(yes), ParameterValue(true));
  for (const char* no : {"false", "FALSE", "no", "off", "n"}) EXPECT_EQ(plain_scalar(no), ParameterValue(false));
  for (const auto& [text, value] : {std::pair{"0", 0L},
                                    {"-7", -7L},
                                    {"+7", 7L},
                                    {"0x1F", 31L},
                                    {"-0x10", -16L},
                                    {"010", 8L},
                                    {"9223372036854775807", INT64_MAX},
                                    {"-9223372036854775808", INT64_MIN}})
    EXPECT_EQ(plain_scalar(text), ParameterValue(value)) << text;
  for (const auto& [text, value] : {std::pair{"1.0", 1.0},
                                    {".5", 0.5},
                                    {"-1e3", -1000.0},
                                    {"1E-2", 0.01},
                                    {"5.", 5.0},
                                    {".inf", HUGE_VAL},
                                    {"-.inf", -HUGE_VAL},
                                    {"089", 89.0}})
    EXPECT_EQ(plain_scalar(text), ParameterValue(value)) << text;
  EXPECT_TRUE(std::isnan(plain_scalar(".nan").get<double>()));
  for (const char* text : {"a", "inf", "nan", "1a", "0x", "--1", "1.2.3", "e5", "-", ".", "1_000", "truE", "0xg"})
    EXPECT_EQ(plain_scalar(text), ParameterValue(text)) << text;
  for (const char* none : {"", "~", "null"}) EXPECT_FALSE(plain_scalar(none).is_set()) << none;
  EXPECT_THROW(plain_scalar("9223372036854775808"), baton::Exception);
  EXPECT_THROW(plain_scalar("0x10000000000000000"), baton::Exception);
  EXPECT_THROW(plain_scalar("1e999"), baton::Exception);
}

#ifdef BATON_HAS_LIBYAML

std::string refused(const std::string& yaml) {
  try {
    parse_parameters(yaml, "f.yaml");
  } catch (const baton::Exception& error) {
    return error.what();
  }
  return "";
}

TEST(ParameterYaml, AFileInTheFormOfRos2) {
  const auto found = parse_parameters(R"(# a comment
/**:
  ros__parameters:
    use_sim_time: false
left:
  camera:
    ros__parameters:
      rate: 30.0
      roi: {width: 640, height: 480}
      nested:
        deep:
          names: [a, "b c", 'd']
/right/camera:
  ros__parameters:
    "quoted": "1"
    tagged: !!str 1
    empty: []
/*/lidar:
  ros__parameters: {gain: [1.0, 2.5]}
silent:
  ros__parameters:
)",
                                      "f.yaml");
  struct Row {
    const char *node, *name;
    ParameterValue value;
    const char* where;
  };
  const std::vector<Row> rows = {
      {"/**", "use_sim_time", false, "f.yaml:4"},
      {"/left/camera", "rate", 30.0, "f.yaml:8"},
      {"/left/camera", "roi.width", 640, "f.yaml:9"},
      {"/left/camera", "roi.height", 480, "f.yaml:9"},
      {"/left/camera", "nested.deep.names", std::vector<std::string>{"a", "b c", "d"}, "f.yaml:12"},
      {"/right/camera", "quoted", "1", "f.yaml:15"},
      {"/right/camera", "tagged", "1", "f.yaml:16"},
      {"/right/camera", "empty", std::vector<std::string>{}, "f.yaml:17"},
      {"/*/lidar", "gain", std::vector<double>{1.0, 2.5}, "f.yaml:19"},
  };
  ASSERT_EQ(found.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found[i].node, rows[i].node) << i;
    EXPECT_EQ(found[i].name, rows[i].name) << i;
    EXPECT_EQ(found[i].value, rows[i].value) << i;
    EXPECT_EQ(found[i].where, rows[i].where) << i;
  }
  EXPECT_TRUE(parse_parameters("", "f.yaml").empty());
  EXPECT_TRUE(parse_parameters("# nothing\n", "f.yaml").empty());
}

TEST(ParameterYaml, AFaultIsRefusedWithFileAndLine) {
  struct Row {
    const char *yaml, *says;
  };
  for (const Row& row : {
           Row{"rate: 5\n", "f.yaml:1: 'rate' is not below 'ros__parameters'"},
           Row{"camera:\n  rate: 5\n", "f.yaml:2: 'rate' is not below 'ros__parameters'"},
           Row{"ros__parameters:\n  rate: 5\n", "f.yaml:1: 'ros__parameters' stands below a node's name"},
           Row{"a:\n  ros__parameters: 5\n", "f.yaml:2: below 'ros__parameters'"},
           Row{"a:\n  ros__parameters:\n    x:\n", "f.yaml:3: parameter 'x': there is no value"},
           Row{"a:\n  ros__parameters:\n    x: ~\n", "f.yaml:3: parameter 'x': there is no value"},
           Row{"a:\n  ros__parameters:\n    x: [1, 2.0]\n", "f.yaml:3: parameter 'x': all values of a list"},
           Row{"a:\n  ros__parameters:\n    x: [[1]]\n", "f.yaml:3: parameter 'x': a list of lists"},
           Row{"a:\n  ros__parameters:\n    x: 1\n    x: 2\n",
               "f.yaml:4: 'x' stands there a second time, first in line 3"},
           Row{"a:\n  ros__parameters:\n    x: &one 1\n    y: *one\n", "f.yaml:4: aliases"},
           Row{"a:\n  ros__parameters:\n    x: !!float 1\n", "f.yaml:3: the tag"},
           Row{"a:\n  ros__parameters:\n    x: 99999999999999999999\n", "f.yaml:3: parameter 'x'"},
           Row{"a:\n  ros__parameters:\n    '': 1\n", "f.yaml:3: a parameter's name is empty"},
           Row{"a:\n\tros__parameters:\n", "f.yaml:2: no YAML"},
           Row{"a: {b\n", "f.yaml:2: no YAML"},
           Row{"a: {}\n---\nb: {}\n", "f.yaml:2: there is a second document"},
           Row{"[1, 2]\n", "f.yaml:1: a file of parameters has the form"},
           Row{"? [a]\n: b\n", "f.yaml:1: a list or a mapping is no name"},
           Row{"a//b:\n  ros__parameters: {x: 1}\n", "'a//b' is no name of a node"},
           Row{"a: \"\xff\"\n", "f.yaml:1: no YAML"},
       }) {
    const std::string text = refused(row.yaml);
    EXPECT_NE(text.find(row.says), std::string::npos) << row.yaml << text;
  }
  EXPECT_NE(refused(std::string(1'000'000, '[')).find("nested more than"), std::string::npos);
  EXPECT_NE(refused("a: " + std::string(100'000, '{')).find("nested more than"), std::string::npos);
}

TEST(ParameterYaml, AValueOfACommandLineIsAScalarOrAList) {
  EXPECT_EQ(parse_parameter_value("[1, 2]", "x"), ParameterValue(std::vector<int>{1, 2}));
  EXPECT_EQ(parse_parameter_value("'1'", "x"), ParameterValue("1"));
  EXPECT_EQ(parse_parameter_value("a b", "x"), ParameterValue("a b"));
  EXPECT_EQ(parse_parameter_value("/dev/video0", "x"), ParameterValue("/dev/video0"));
  for (const char* text : {"", "{a: b}", "[1", "[1, [2]]", "a: b", "*x", "--- 1\n--- 2"})
    EXPECT_THROW(parse_parameter_value(text, "x"), baton::Exception) << text;
}

TEST(ParameterYaml, AFileMayHaveVeryManyParameters) {
  // Each name compared with all before it would take longer than the test's time limit.
  std::string yaml = "/**:\n  ros__parameters:\n";
  for (int i = 0; i < 500'000; ++i) yaml += "    p" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(baton::detail::parse_parameters(yaml, "f.yaml").size(), 500'000U);
}

TEST(ParameterYaml, AFileBeyondItsLimitIsRefused) {
  const std::string path = ::testing::TempDir() + "baton_large.yaml";
  std::ofstream(path) << "# " << std::string(17 << 20, 'x') << "\n";
  EXPECT_THROW(baton::read_parameter_file(path), baton::Exception);
  std::filesystem::remove(path);
}

#ifdef BATON_HAS_RAPIDCHECK
RC_GTEST_PROP(ParameterYaml, AnyTextIsReadOrRefusedWithAPlace, ()) {
  const auto piece =
      rc::gen::oneOf(rc::gen::element<std::string>("a:", "\n", "  ", "ros__parameters:", "[", "]", "{", "}", "- ", "? ",
                                                   ": ", "'", "\"", "&a ", "*a", "!!str ", "!x ", "1", "2.5", "true",
                                                   "~", "/**:", "#", "---\n", "|\n", ">\n", "\t"),
                     rc::gen::arbitrary<std::string>());
  std::string text;
  for (const std::string& one : *rc::gen::container<std::vector<std::string>>(piece)) text += one;
  try {
    for (const ParameterAssignment& found : parse_parameters(text, "f.yaml")) {
      RC_ASSERT(found.value.is_set());
      RC_ASSERT(found.node.front() == '/');
    }
  } catch (const baton::Exception& error) {
    RC_ASSERT(std::string(error.what()).find("f.yaml:") != std::string::npos);
  }
}
#endif

#endif

}  // namespace
