// SPDX-License-Identifier: Apache-2.0
#include "selection.hpp"

#include <gtest/gtest.h>

namespace baton::record {
namespace {

Selection selection(const SelectionOptions& options) { return Selection::make(options).or_throw(); }

TEST(Selection, AnExpressionMatchesTheWholeNameAndAnExclusionWins) {
  SelectionOptions options;
  options.topics = {"named", "/_hidden/also"};
  options.patterns = {"/camera/.*", "/x"};
  options.types = {"std_msgs/msg/Bool", "nav_msgs/Path"};
  options.excluded = {".*/secret", "/camera/off"};
  Selection chosen = selection(options);
  const auto has = [&](const char* topic, const char* type = "std_msgs/String") { return chosen.has(topic, type); };
  EXPECT_TRUE(has("/named") && has("/_hidden/also") && has("/camera/image") && has("/x"));
  EXPECT_TRUE(has("/any", "std_msgs/Bool") && has("/any", "nav_msgs/Path"));
  EXPECT_FALSE(has("/other") || has("/named/more") || has("/xy") || has("/a/x") || has("/camera/off"));
  EXPECT_FALSE(has("/camera/secret") || has("/a/secret", "std_msgs/Bool") || has("/a/_hidden", "std_msgs/Bool"));
}

TEST(Selection, AllHasNoHiddenTopics) {
  SelectionOptions options;
  options.all = true;
  EXPECT_TRUE(selection(options).has("/a", "t/T"));
  EXPECT_FALSE(selection(options).has("/a/_action/feedback", "t/T"));
}

TEST(Selection, AllServicesAreTheirEvents) {
  SelectionOptions options;
  options.all_services = true;
  options.excluded = {"/secret/.*"};
  EXPECT_TRUE(selection(options).has("/arm/move/_service_event", "t/T"));
  EXPECT_FALSE(selection(options).has("/arm/move/_request", "t/T") || selection(options).has("/a", "t/T"));
  EXPECT_FALSE(selection(options).has("/a/_action/cancel_goal/_service_event", "t/T"));
  EXPECT_FALSE(selection(options).has("/secret/_service_event", "t/T"));
}

TEST(Selection, ALongNameIsMatchedByNoExpression) {
  SelectionOptions options;
  options.patterns = {"/(a|a)*"};
  EXPECT_TRUE(selection(options).has("/aaa", "t/T"));
  EXPECT_FALSE(selection(options).has("/" + std::string(100'000, 'a'), "t/T"));
}

TEST(Selection, NoNameMakesAMatchLong) {
  SelectionOptions options;
  options.patterns = {"(.*/)*image", "(/a|/a)*b"};
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "/a";
  EXPECT_TRUE(selection(options).has(deep + "/image", "t/T"));
  EXPECT_TRUE(selection(options).has(deep + "b", "t/T"));
  EXPECT_FALSE(selection(options).has(deep + "/x", "t/T"));
}

TEST(Selection, ANameThatIsNoTextIsNotSelected) {
  SelectionOptions options;
  options.all = true;
  options.topics = {"/a\xFF"};
  EXPECT_FALSE(selection(options).has("/a\xFF", "t/T"));
  EXPECT_FALSE(selection(options).has("/a\n", "t/T"));
}

TEST(Selection, NamesTheMistake) {
  SelectionOptions options;
  EXPECT_EQ(Selection::make(options).error().message, "no topic is selected: name some, or all");
  options.patterns = {"(["};
  EXPECT_EQ(Selection::make(options).error().message, "'([' is no regular expression");
  options.patterns = {R"((a)\1)"};
  EXPECT_EQ(Selection::make(options).error().message, R"('(a)\1' has a back reference, or is too long)");
}

}  // namespace
}  // namespace baton::record
