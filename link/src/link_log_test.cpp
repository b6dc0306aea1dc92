// SPDX-License-Identifier: Apache-2.0
// Whatever other hosts and processes do, the link's log stays short, and says how much it left out.
#include "link_log.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace baton::link {
namespace {

using namespace std::chrono_literals;

class LinkLogOf : public ::testing::Test {
 protected:
  void say(About about, const std::string& text) {
    log_.write(about, LinkLog::Level::kError, Errc::limit_reached, text);
  }
  std::vector<std::string> said_;
  LinkLog::Clock::time_point now_{std::chrono::hours(1)};
  LinkLog log_{[this](const transport::Diagnostic& diagnostic) { said_.push_back(diagnostic.text); },
               [this] { return now_; }};
};

TEST_F(LinkLogOf, TextsThatAPeerChoosesMakeNoMoreLinesThanTheirSubjectHas) {
  for (int i = 0; i < 200'000; ++i) say(About::kArrivals, "a message for '/" + std::to_string(i) + "' is lost");
  EXPECT_EQ(said_.size(), LinkLog::kBurst);
  say(About::kHosts, "host bbb is connected");
  EXPECT_EQ(said_.back(), "host bbb is connected") << "one subject does not silence another";
  now_ += LinkLog::kPause;
  say(About::kArrivals, "a message is lost");
  EXPECT_EQ(said_.back(),
            "a message is lost (and " + std::to_string(200'000 - LinkLog::kBurst) + " more like it before)");
  say(About::kArrivals, "another message is lost");
  EXPECT_EQ(said_.size(), LinkLog::kBurst + 2);
}

TEST_F(LinkLogOf, AllSubjectsTogetherHaveABoundToo) {
  for (int i = 0; i < 1000; ++i)
    for (std::size_t about = 0; about < kAbouts; ++about)
      say(static_cast<About>(about), std::to_string(about) + "." + std::to_string(i));
  EXPECT_EQ(said_.size(), LinkLog::kBurstOfAll);
  now_ += 10 * LinkLog::kPauseOfAll;
  for (int i = 0; i < 1000; ++i)
    for (std::size_t about = 0; about < kAbouts; ++about)
      say(static_cast<About>(about), std::to_string(about) + "!" + std::to_string(i));
  EXPECT_EQ(said_.size(), LinkLog::kBurstOfAll + 10);
}

TEST_F(LinkLogOf, TheSameTextIsSaidOnceInAWhile) {
  for (int i = 0; i < 10; ++i) say(About::kPeers, "peer 'b' is not reached");
  EXPECT_EQ(said_, std::vector<std::string>{"peer 'b' is not reached"});
  now_ += LinkLog::kPause;
  say(About::kPeers, "peer 'b' is not reached");
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_EQ(said_[1], "peer 'b' is not reached (and 9 more like it before)");
}

TEST_F(LinkLogOf, NoNameSteersATerminalOrForgesALine) {
  say(About::kHosts, "host a\nb\x1b[2J\xC2\x9B c\x7f is connected");
  EXPECT_EQ(said_.at(0), "host a?b?[2J\xC2? c? is connected");
}

}  // namespace
}  // namespace baton::link
