// SPDX-License-Identifier: Apache-2.0
// Messages for one reader: the newest one for a reader that came late (Writer::hand_newest_to), and one that is published to a reader alone
// (PublishInfo::only_reader).
#include "endpoint_test_support.hpp"

namespace baton::transport::test {
namespace {

using OneReader = OneProcess;

Result<std::uint64_t> publish_to(Writer& writer, const Gid& reader, std::uint64_t value) {
  const memory::Chunk chunk = writer.loan_sized(8).or_throw();
  std::memcpy(chunk.message(), &value, 8);
  PublishInfo info;
  info.only_reader = &reader;
  Result<std::uint64_t> sequence = writer.publish(chunk, info);
  if (!sequence) writer.abandon(chunk);
  return sequence;
}

TEST_F(OneReader, TheNewestMessageCanBeHandedToALateReaderThatAskedForNone) {
  const auto writer = make_writer(*participant, "t", QoS(1).transient_local());
  const auto early = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*early, 1));
  EXPECT_FALSE(writer->hand_newest_to(early->gid()));  // there is no message yet
  for (std::uint64_t i = 1; i <= 3; ++i) publish(*writer, i).or_throw();
  const auto late = make_reader(*participant, "t"), asked = make_reader(*participant, "t", QoS(10).transient_local());
  ASSERT_TRUE(matched(*writer, 3) && matched(*late, 1) && matched(*asked, 1));
  EXPECT_EQ(writer->readers_of(2), std::vector<Gid>{early->gid()});
  EXPECT_EQ(writer->readers_of(3), (std::vector<Gid>{early->gid(), asked->gid()}));
  for (int i = 0; i < 2; ++i) {  // the second time does nothing
    for (const auto& reader : {early, late, asked}) EXPECT_TRUE(writer->hand_newest_to(reader->gid()));
  }
  EXPECT_FALSE(writer->hand_newest_to(Gid{}));
  publish(*writer, 4).or_throw();
  EXPECT_TRUE(writer->hand_newest_to(late->gid()));
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(take(*early), i);
  for (const auto& reader : {late, asked}) {
    EXPECT_EQ(take(*reader), 3U);
    EXPECT_EQ(take(*reader), 4U);
    EXPECT_EQ(take(*reader), kNothing);
    EXPECT_EQ(reader->statuses().lost_total, 0U);
  }
}

TEST_F(OneReader, AReaderThatSleepsWakesUpForTheMessageThatItIsHanded) {
  const auto writer = make_writer(*participant, "t", QoS(1).transient_local());
  publish(*writer, 1).or_throw();
  const auto reader = make_reader(*participant, "t");
  WaitSet waits;
  waits.add(reader).or_throw();
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  std::thread hands([&] {
    std::this_thread::sleep_for(50ms);  // mostly, the wait has begun
    EXPECT_TRUE(writer->hand_newest_to(reader->gid()));
  });
  EXPECT_TRUE(waits.wait(kPatience).or_throw());
  hands.join();
  EXPECT_EQ(take(*reader), 1U);
}

TEST_F(OneReader, AMessageForOneReaderReachesNoOtherAndNoLateOne) {
  const auto writer = make_writer(*participant, "t", QoS(2).transient_local());
  const auto one = make_reader(*participant, "t"), other = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 2) && matched(*one, 1) && matched(*other, 1));
  publish(*writer, 1).or_throw();
  publish_to(*writer, one->gid(), 2).or_throw();
  publish(*writer, 3).or_throw();
  for (const std::uint64_t value : {1, 2, 3}) EXPECT_EQ(value_of(take_sample(*one)), value);
  for (const std::uint64_t value : {1, 3}) EXPECT_EQ(value_of(take_sample(*other)), value);
  const auto late = make_reader(*participant, "t", QoS(2).transient_local());
  for (const std::uint64_t value : {1, 3}) EXPECT_EQ(value_of(take_sample(*late)), value);
  EXPECT_EQ(publish_to(*writer, Gid{}, 4).error().code, Errc::not_found);
  for (const auto& reader : {one, other, late}) EXPECT_EQ(take(*reader), kNothing);
}

TEST_F(OneReader, AReaderThatGotAMessageAloneIsHandedNoOlderOne) {
  const auto writer = make_writer(*participant, "t", QoS(1).transient_local());
  publish(*writer, 1).or_throw();
  const auto one = make_reader(*participant, "t"), other = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 2) && matched(*one, 1) && matched(*other, 1));
  publish_to(*writer, one->gid(), 2).or_throw();
  EXPECT_FALSE(writer->hand_newest_to(one->gid()));
  EXPECT_TRUE(writer->hand_newest_to(other->gid()));
  EXPECT_EQ(take(*one), 2U);
  EXPECT_EQ(take(*other), 1U);
  for (const auto& reader : {one, other}) EXPECT_EQ(take(*reader), kNothing);
}

}  // namespace
}  // namespace baton::transport::test
