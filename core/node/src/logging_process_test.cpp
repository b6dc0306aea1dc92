// SPDX-License-Identifier: Apache-2.0
// Lines of processes of their own: what the environment says, and what happens at the end.
#include <gtest/gtest.h>

#include <cstdlib>

#include "baton/baton.hpp"
#include "node_test_support.hpp"

namespace {

class LoggingDeathTest : public baton::test::DomainTest {
 protected:
  void SetUp() override {
    DomainTest::SetUp();
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // a fresh process
  }
  const baton::Logger a_ = baton::get_logger("a");
};

TEST_F(LoggingDeathTest, TheEnvironmentSetsTheProgramsLevel) {
  ::setenv("BATON_LOG_LEVEL", "error", 1);
  EXPECT_EXIT(
      {
        BATON_WARN(a_, "no");
        BATON_ERROR(a_, "yes");
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "^\\[ERROR\\] [^\n]*: yes\n$");
  ::setenv("BATON_LOG_LEVEL", "loud", 1);
  EXPECT_EXIT(
      {
        BATON_INFO(a_, "yes");
        std::exit(0);
      },
      ::testing::ExitedWithCode(0),
      "^\\[WARN\\] [^\n]* \\[baton\\]: BATON_LOG_LEVEL is 'loud'; [^\n]*\n\\[INFO\\] [^\n]*: yes\n$");
  ::unsetenv("BATON_LOG_LEVEL");
}

struct AtEnd {
  ~AtEnd() {
    if (logger != nullptr) BATON_INFO(*logger, "at the end");
  }
  const baton::Logger* logger = nullptr;
};
AtEnd g_at_end;

TEST_F(LoggingDeathTest, StaticObjectsMayLogWhenTheyEnd) {
  EXPECT_EXIT(
      {
        g_at_end.logger = new baton::Logger(baton::get_logger("late"));
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "\\[late\\]: at the end\n$");
}

TEST_F(LoggingDeathTest, WithoutMemoryForMessagesLinesStayOnStderrAndThatIsSaidOnce) {
  ::setenv("BATON_PROCESS_MEMORY_LIMIT", "1", 1);
  EXPECT_EXIT(
      {
        baton::Node node("camera");
        BATON_INFO(node, "first");
        BATON_INFO(node, "second");
        std::exit(0);
      },
      ::testing::ExitedWithCode(0),
      // The transport's own line of the dropped message comes from another thread, before the end or not at all.
      "^\\[INFO\\] [^\n]*: first\n(\\[WARN\\] [^\n]*publisher of '/rosout' dropped a message[^\n]*\n)?"
      "\\[WARN\\] [^\n]* \\[baton\\]: lines of node 'camera' do not reach '/rosout' now: "
      "[^\n]*\n(\\[WARN\\] [^\n]*publisher of '/rosout' dropped a message[^\n]*\n)?\\[INFO\\] [^\n]*: second\n"
      "(\\[WARN\\] [^\n]*publisher of '/rosout' dropped a message[^\n]*\n)?$");
  ::unsetenv("BATON_PROCESS_MEMORY_LIMIT");
}

}  // namespace
