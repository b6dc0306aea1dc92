// SPDX-License-Identifier: Apache-2.0
// Messages that are kept and handed to one reader at a time, beside a channel of the caller's.
#include <sys/socket.h>

#include <array>

#include "endpoint_test_support.hpp"

namespace baton::transport::test {
namespace {

memory::Chunk kept(Writer& writer, std::uint64_t value) {
  const memory::Chunk chunk = writer.loan_sized(8).or_throw();
  std::memcpy(chunk.message(), &value, 8);
  writer.keep(chunk).or_throw();
  return chunk;
}

QoS bounded(std::uint32_t unread, std::uint32_t held) { return QoS().keep_all(unread).hold(held); }

struct Ends {
  explicit Ends(const QoS& qos = bounded(2, 3)) : reader(make_reader(*participant, "t", qos)) {
    if (!matched(*writer, 1) || !matched(*reader, 1)) throw std::runtime_error("no match");
  }
  TestDomain domain;
  std::shared_ptr<Participant> participant = domain.join();
  std::shared_ptr<Writer> writer = make_writer(*participant, "t");
  std::shared_ptr<Reader> reader;
};

TEST(PublishTo, OnlyTheReadersThatAreNamedGetAMessage) {
  Ends ends;
  const auto other = make_reader(*ends.participant, "t", bounded(2, 3));
  ASSERT_TRUE(matched(*ends.writer, 2) && matched(*other, 1));
  const memory::Chunk first = kept(*ends.writer, 1), second = kept(*ends.writer, 2);
  ends.writer->publish_to(first, ends.reader->gid()).or_throw();
  ends.writer->publish_to(second, ends.reader->gid()).or_throw();
  ends.writer->publish_to(second, other->gid()).or_throw();
  EXPECT_EQ(value_of(take_sample(*ends.reader)), 1U);
  EXPECT_EQ(value_of(take_sample(*ends.reader)), 2U);
  EXPECT_EQ(value_of(take_sample(*other)), 2U);
  EXPECT_EQ(take(*ends.reader), kNothing);
  EXPECT_EQ(take(*other), kNothing);
  EXPECT_EQ(other->statuses().lost_total, 0U) << "what went to another reader is not lost";
  ends.writer->drop(first);
  ends.writer->drop(second);
}

TEST(PublishTo, AKeptMessageLivesUntilItIsDroppedAndReleased) {
  Ends ends;
  const memory::Chunk chunk = kept(*ends.writer, 1);
  EXPECT_EQ(ends.writer->memory_account().published_slots, 1U);
  ends.writer->publish_to(chunk, ends.reader->gid()).or_throw();
  TakenSample sample;
  ASSERT_TRUE(eventually([&] { return static_cast<bool>(sample = ends.reader->take().or_throw()); }));
  ends.writer->drop(chunk);
  EXPECT_EQ(ends.writer->memory_account().published_slots, 1U);
  EXPECT_EQ(value_of(sample), 1U);
  sample.release();
  EXPECT_EQ(ends.writer->memory_account().published_slots, 0U);
}

TEST(PublishTo, AMessageThatIsPublishedAndKeptLivesUntilItIsDroppedAndReleased) {
  for (const bool drop_first : {true, false}) {
    Ends ends;
    const memory::Chunk chunk = ends.writer->loan_sized(8).or_throw();
    const std::uint64_t value = 1;
    std::memcpy(chunk.message(), &value, 8);
    PublishInfo info;
    info.keep = true;
    EXPECT_EQ(ends.writer->publish(chunk, info).or_throw(), 1U);
    TakenSample sample;
    ASSERT_TRUE(eventually([&] { return static_cast<bool>(sample = ends.reader->take().or_throw()); }));
    if (drop_first) {
      ends.writer->drop(chunk);
    } else {
      sample.release();
    }
    EXPECT_EQ(ends.writer->memory_account().published_slots, 1U);
    if (drop_first) {
      EXPECT_EQ(value_of(sample), 1U);
      sample.release();
    } else {
      ends.writer->drop(chunk);
    }
    EXPECT_EQ(ends.writer->memory_account().published_slots, 0U);
  }
}

TEST(PublishTo, NothingIsEvictedAFullQueueRefuses) {
  Ends ends;
  const memory::Chunk chunk = kept(*ends.writer, 1);
  ends.writer->publish_to(chunk, ends.reader->gid()).or_throw();
  ends.writer->publish_to(chunk, ends.reader->gid()).or_throw();
  EXPECT_EQ(ends.writer->publish_to(chunk, ends.reader->gid()).error().code, Errc::queue_full);
  EXPECT_EQ(value_of(take_sample(*ends.reader)), 1U);
  EXPECT_TRUE(ends.writer->publish_to(chunk, ends.reader->gid()).ok());
  ends.writer->drop(chunk);
}

TEST(PublishTo, AReaderThatHoldsAllItMayGetsNoMore) {
  Ends ends(bounded(4, 2));
  const memory::Chunk chunk = kept(*ends.writer, 1);
  ends.writer->publish_to(chunk, ends.reader->gid()).or_throw();
  ends.writer->publish_to(chunk, ends.reader->gid()).or_throw();
  TakenSample first, second;
  ASSERT_TRUE(eventually([&] { return static_cast<bool>(first = ends.reader->take().or_throw()); }));
  second = ends.reader->take().or_throw();
  ASSERT_TRUE(second);
  EXPECT_EQ(ends.writer->publish_to(chunk, ends.reader->gid()).error().code, Errc::held_limit);
  first.release();
  ASSERT_TRUE(ends.writer->publish_to(chunk, ends.reader->gid()).ok());
  EXPECT_EQ(value_of(take_sample(*ends.reader)), 1U) << "what was handed over can be taken";
  ends.writer->drop(chunk);
}

TEST(PublishTo, AReaderThatIsNotConnectedIsNotFound) {
  Ends ends;
  const memory::Chunk chunk = kept(*ends.writer, 1);
  EXPECT_EQ(ends.writer->publish_to(chunk, Gid{1}).error().code, Errc::not_found);
  const Gid gone = ends.reader->gid();
  ends.reader.reset();
  ASSERT_TRUE(matched(*ends.writer, 0));
  EXPECT_EQ(ends.writer->publish_to(chunk, gone).error().code, Errc::not_found);
  ends.writer->drop(chunk);
  EXPECT_EQ(ends.writer->memory_account().published_slots, 0U);
}

TEST(PublishTo, TheCallerSeesWhatTheReaderHasNotTaken) {
  Ends ends;
  const memory::Chunk chunk = kept(*ends.writer, 1);
  const Gid reader = ends.reader->gid();
  const std::uint64_t connection = ends.writer->publish_to(chunk, reader).or_throw();
  EXPECT_EQ(ends.writer->publish_to(chunk, reader).or_throw(), connection);
  EXPECT_EQ(ends.writer->unread(reader).connection, connection);
  EXPECT_EQ(ends.writer->unread(reader).messages, 2U);
  EXPECT_EQ(value_of(take_sample(*ends.reader)), 1U);
  EXPECT_EQ(ends.writer->unread(reader).messages, 1U);
  EXPECT_EQ(ends.writer->unread(Gid{1}).connection, 0U);
  ends.writer->drop(chunk);
}

TEST(PublishTo, AReaderThatComesBackGetsWhatIsHandedOverThen) {
  TestDomain domain;
  Child child([&](Child& self) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", bounded(2, 3));
    BATON_CHECK(matched(*reader, 1));
    self.say();
    BATON_CHECK(value_of(take_sample(*reader)) == 1);
    BATON_CHECK(value_of(take_sample(*reader)) == 2);
    self.say();
    BATON_CHECK(value_of(take_sample(*reader)) == 3);
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  ASSERT_EQ(child.hear(), '.');
  ASSERT_TRUE(matched(*writer, 1));
  const Gid reader = writer->matched_readers().at(0);
  const std::array<memory::Chunk, 3> chunks{kept(*writer, 1), kept(*writer, 2), kept(*writer, 3)};
  const std::uint64_t first = writer->publish_to(chunks[0], reader).or_throw();
  writer->publish_to(chunks[1], reader).or_throw();
  ASSERT_EQ(child.hear(), '.');
  for (int fd = 3; fd < 1024; ++fd) {  // the connection of the two processes breaks, and both live
    int type = 0, listens = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) continue;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0) ::shutdown(fd, SHUT_RDWR);
  }
  ASSERT_TRUE(eventually([&] {
    const std::uint64_t now = writer->unread(reader).connection;
    return now != 0 && now != first;
  }));
  writer->publish_to(chunks[2], reader).or_throw();
  EXPECT_EQ(child.hear(), '.') << "its number tells it from those that the reader had before";
  for (const memory::Chunk& chunk : chunks) writer->drop(chunk);
  child.say();
  EXPECT_EQ(child.wait(), 0);
}

TEST(PublishTo, WhatAKilledReaderHadComesBack) {
  TestDomain domain;
  Child child([&](Child& self) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", bounded(2, 3));
    BATON_CHECK(matched(*reader, 1));
    self.say();
    TakenSample sample = take_sample(*reader);
    BATON_CHECK(value_of(sample) == 7);
    self.say();
    self.hear();  // holds one sample and has one unread
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  ASSERT_EQ(child.hear(), '.');
  ASSERT_TRUE(matched(*writer, 1));
  const Gid reader = writer->matched_readers().at(0);
  const memory::Chunk first = kept(*writer, 7), second = kept(*writer, 8);
  writer->publish_to(first, reader).or_throw();
  writer->publish_to(second, reader).or_throw();
  writer->drop(first);
  writer->drop(second);
  ASSERT_EQ(child.hear(), '.');
  EXPECT_EQ(writer->memory_account().published_slots, 2U);
  child.kill();
  EXPECT_TRUE(eventually([&] { return writer->memory_account().published_slots == 0; }));
}

}  // namespace
}  // namespace baton::transport::test
