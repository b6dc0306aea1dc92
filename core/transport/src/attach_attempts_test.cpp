// SPDX-License-Identifier: Apache-2.0
#include "attach_attempts.hpp"

#include <gtest/gtest.h>

namespace baton::transport {
namespace {

constexpr Gid kWriter{1}, kOtherWriter{2}, kReader{3}, kOtherReader{4};

TEST(AttachAttempts, PausesDoubleUpToTheLongest) {
  AttachAttempts attempts;
  auto expected = AttachAttempts::kFirstPause;
  for (int i = 0; i < 40; ++i) {
    const AttachAttempts::Next next = attempts.failed(kWriter, kReader);
    EXPECT_EQ(next.pause, expected);
    EXPECT_EQ(next.first, i == 0);
    expected = std::min(expected * 2, AttachAttempts::kLongestPause);
  }
  EXPECT_EQ(attempts.failures(kWriter, kReader), 40U);
}

TEST(AttachAttempts, EachPairHasItsOwnPauses) {
  AttachAttempts attempts;
  attempts.failed(kWriter, kReader);
  EXPECT_TRUE(attempts.failed(kWriter, kOtherReader).first);
  EXPECT_TRUE(attempts.failed(kOtherWriter, kReader).first);
  EXPECT_EQ(attempts.failed(kWriter, kReader).pause, 2 * AttachAttempts::kFirstPause);
}

TEST(AttachAttempts, AConnectionThatHasLastedBeginsThePausesAnew) {
  AttachAttempts attempts;
  attempts.failed(kWriter, kReader);
  const unsigned failures = attempts.failures(kWriter, kReader);
  attempts.failed(kWriter, kReader);
  attempts.lasted(kWriter, kReader, failures);
  EXPECT_EQ(attempts.failures(kWriter, kReader), 2U) << "an attempt has failed since";
  attempts.lasted(kWriter, kReader, 2);
  EXPECT_TRUE(attempts.failed(kWriter, kReader).first);
}

TEST(AttachAttempts, APairHasOnePlannedAttemptAtATime) {
  AttachAttempts attempts;
  EXPECT_FALSE(attempts.is_planned(kWriter, kReader));
  const std::uint64_t first = attempts.failed(kWriter, kReader).number;
  attempts.planned(kWriter, kReader, first);
  EXPECT_TRUE(attempts.is_planned(kWriter, kReader));
  EXPECT_FALSE(attempts.is_planned(kWriter, kOtherReader));
  attempts.forget(kWriter);
  const std::uint64_t second = attempts.failed(kWriter, kReader).number;
  attempts.planned(kWriter, kReader, second);
  EXPECT_FALSE(attempts.is_due(kWriter, kReader, first)) << "its pair was forgotten";
  EXPECT_TRUE(attempts.is_planned(kWriter, kReader));
  EXPECT_TRUE(attempts.is_due(kWriter, kReader, second));
  EXPECT_FALSE(attempts.is_planned(kWriter, kReader));
  EXPECT_FALSE(attempts.is_due(kWriter, kReader, second));
  EXPECT_EQ(attempts.failures(kWriter, kReader), 1U);
}

TEST(AttachAttempts, APublisherIsForgottenWithAllItsPairsAndNoOther) {
  AttachAttempts attempts;
  for (const Gid& writer : {kWriter, kOtherWriter})
    for (const Gid& reader : {kReader, kOtherReader}) attempts.failed(writer, reader);
  attempts.forget(kWriter);
  EXPECT_EQ(attempts.failures(kWriter, kReader) + attempts.failures(kWriter, kOtherReader), 0U);
  EXPECT_EQ(attempts.failures(kOtherWriter, kReader) + attempts.failures(kOtherWriter, kOtherReader), 2U);
  attempts.forget(kOtherWriter, kReader);
  EXPECT_EQ(attempts.failures(kOtherWriter, kReader) + attempts.failures(kOtherWriter, kOtherReader), 1U);
}

}  // namespace
}  // namespace baton::transport
