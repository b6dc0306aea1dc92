// SPDX-License-Identifier: Apache-2.0
#include "baton/node/parameter.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "parameter_yaml.hpp"

#ifdef BATON_HAS_RAPIDCHECK
#include <rapidcheck/gtest.h>
#endif

using baton::Parameter;
using baton::ParameterType;
using baton::ParameterValue;

namespace {

TEST(ParameterTest, EachTypeOfTheLanguageHasItsTypeOfParameter) {
  EXPECT_EQ(ParameterValue().type(), ParameterType::kNotSet);
  EXPECT_EQ(ParameterValue(true).type(), ParameterType::kBool);
  EXPECT_EQ(ParameterValue(1).type(), ParameterType::kInteger);
  EXPECT_EQ(ParameterValue(std::uint16_t{1}).type(), ParameterType::kInteger);
  EXPECT_EQ(ParameterValue(1.0F).type(), ParameterType::kDouble);
  EXPECT_EQ(ParameterValue("text").type(), ParameterType::kString);
  EXPECT_EQ(ParameterValue(std::string("text")).type(), ParameterType::kString);
  EXPECT_EQ(ParameterValue(std::vector<std::uint8_t>{1}).type(), ParameterType::kByteArray);
  EXPECT_EQ(ParameterValue(std::vector<bool>{true}).type(), ParameterType::kBoolArray);
  EXPECT_EQ(ParameterValue(std::vector<int>{1}).type(), ParameterType::kIntegerArray);
  EXPECT_EQ(ParameterValue(std::vector<float>{1}).type(), ParameterType::kDoubleArray);
  EXPECT_EQ(ParameterValue(std::vector<std::string>{"a"}).type(), ParameterType::kStringArray);
  EXPECT_EQ(ParameterValue(std::vector<const char*>{"a"}).get<std::vector<std::string>>().at(0), "a");
}

TEST(ParameterTest, AValueIsReadAsItsTypeAndAsNothingElse) {
  EXPECT_EQ(ParameterValue(7).get<std::uint8_t>(), 7U);
  EXPECT_EQ(ParameterValue(std::vector<int>{1, -2}).get<std::vector<std::int16_t>>(),
            (std::vector<std::int16_t>{1, -2}));
  EXPECT_THROW(ParameterValue(300).get<std::uint8_t>(), baton::Exception);
  EXPECT_THROW(ParameterValue(-1).get<std::uint64_t>(), baton::Exception);
  EXPECT_THROW(ParameterValue(std::uint64_t{1} << 63), baton::Exception);
  EXPECT_THROW(ParameterValue(1).get<double>(), baton::Exception);
  EXPECT_THROW(ParameterValue(1).get<bool>(), baton::Exception);
  EXPECT_THROW(ParameterValue().get<std::string>(), baton::Exception);
  const Parameter parameter("rate", 2.5);
  EXPECT_EQ(parameter.as_double(), 2.5);
  EXPECT_THROW(parameter.as_int(), baton::Exception);
}

TEST(ParameterTest, TheYamlOfAValueIsReadBackAsTheSameValue) {
#ifndef BATON_HAS_LIBYAML
  GTEST_SKIP() << "built without libyaml";
#else
  const std::vector<std::string> texts = {"",
                                          "a b",
                                          "1",
                                          "true",
                                          "~",
                                          "it's",
                                          "-",
                                          "a: b",
                                          "#x",
                                          "[",
                                          "1.5",
                                          "\n",
                                          "\x01",
                                          "\"\n",
                                          "\xc3\xa9",
                                          ".inf",
                                          "/left/camera",
                                          "0x10",
                                          "- a",
                                          "null",
                                          "a\tb",
                                          "\\n",
                                          "!!str",
                                          "*a",
                                          "back\\slash\n"};
  for (const std::string& text : texts)
    EXPECT_EQ(baton::parse_parameter_value(ParameterValue(text).to_yaml(), "test"), ParameterValue(text)) << text;
  EXPECT_EQ(baton::parse_parameter_value(ParameterValue(texts).to_yaml(), "test"), ParameterValue(texts));
  for (const double number : {0.0, -1.0, 0.1, 1e300, 5e-324, 1e21, 123456789.0, HUGE_VAL, -HUGE_VAL})
    EXPECT_EQ(baton::parse_parameter_value(ParameterValue(number).to_yaml(), "test"), ParameterValue(number));
  EXPECT_EQ(ParameterValue("\xc2\x9b[31m\x1b[2J\xff").to_yaml(), "\"\\x9b[31m\\x1b[2J\xEF\xBF\xBD\"")
      << "harmless on a terminal";
  EXPECT_EQ(ParameterValue(std::vector<bool>{true, false}).to_yaml(), "[true, false]");
  EXPECT_EQ(ParameterValue(1.0).to_yaml(), "1.0");
  EXPECT_EQ(ParameterValue(std::nan("")).to_yaml(), ".nan");
#endif
}

#if defined(BATON_HAS_RAPIDCHECK) && defined(BATON_HAS_LIBYAML)
RC_GTEST_PROP(ParameterTest, AnyAsciiStringSurvivesItsYaml, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  RC_ASSERT(baton::parse_parameter_value(ParameterValue(text).to_yaml(), "test") == ParameterValue(text));
}
RC_GTEST_PROP(ParameterTest, AnyNumberSurvivesItsYaml, (double number, std::int64_t whole)) {
  RC_ASSERT(baton::parse_parameter_value(ParameterValue(number).to_yaml(), "test") == ParameterValue(number));
  RC_ASSERT(baton::parse_parameter_value(ParameterValue(whole).to_yaml(), "test") == ParameterValue(whole));
}
#endif

}  // namespace
