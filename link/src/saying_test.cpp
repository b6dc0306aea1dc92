// SPDX-License-Identifier: Apache-2.0
// Whatever other hosts and processes do, the link's log stays short, and says how much it left out.
#include "saying.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace baton::link {
namespace {

using namespace std::chrono_literals;

class SayingOf : public ::testing::Test {
 protected:
  void say(About about, const std::string& text) {
    saying_.say(about, Saying::Level::kError, Errc::limit_reached, text);
  }
  std::vector<std::string> said_;
  Saying::Clock::time_point now_{std::chrono::hours(1)};
  Saying saying_{[this](const transport::Diagnostic& diagnostic) { said_.push_back(diagnostic.text); },
                 [this] { return now_; }};
};

TEST_F(SayingOf, TextsThatAPeerChoosesMakeNoMoreLinesThanTheirSubjectHas) {
  for (int i = 0; i < 200'000; ++i) say(About::kArrivals, "a message for '/" + std::to_string(i) + "' is lost");
  EXPECT_EQ(said_.size(), Saying::kBurst);
  say(About::kHosts, "host bbb is connected");
  EXPECT_EQ(said_.back(), "host bbb is connected") << "one subject does not silence another";
  now_ += Saying::kPause;
  say(About::kArrivals, "a message is lost");
  EXPECT_EQ(said_.back(),
            "a message is lost (and " + std::to_string(200'000 - Saying::kBurst) + " more like it before)");
  say(About::kArrivals, "another message is lost");
  EXPECT_EQ(said_.size(), Saying::kBurst + 2);
}

TEST_F(SayingOf, AllSubjectsTogetherHaveABoundToo) {
  for (int i = 0; i < 1000; ++i)
    for (std::size_t about = 0; about < kAbouts; ++about)
      say(static_cast<About>(about), std::to_string(about) + "." + std::to_string(i));
  EXPECT_EQ(said_.size(), Saying::kBurstOfAll);
  now_ += 10 * Saying::kPauseOfAll;
  for (int i = 0; i < 1000; ++i)
    for (std::size_t about = 0; about < kAbouts; ++about)
      say(static_cast<About>(about), std::to_string(about) + "!" + std::to_string(i));
  EXPECT_EQ(said_.size(), Saying::kBurstOfAll + 10);
}

TEST_F(SayingOf, TheSameTextIsSaidOnceInAWhile) {
  for (int i = 0; i < 10; ++i) say(About::kPeers, "peer 'b' is not reached");
  EXPECT_EQ(said_, std::vector<std::string>{"peer 'b' is not reached"});
  now_ += Saying::kPause;
  say(About::kPeers, "peer 'b' is not reached");
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_EQ(said_[1], "peer 'b' is not reached (and 9 more like it before)");
}

TEST_F(SayingOf, NoNameSteersATerminalOrForgesALine) {
  say(About::kHosts, "host a\nb\x1b[2J\xC2\x9B c\x7f is connected");
  EXPECT_EQ(said_.at(0), "host a?b?[2J\xC2? c? is connected");
}

}  // namespace
}  // namespace baton::link
