// SPDX-License-Identifier: Apache-2.0
// What leaves a host, where no host says what it has got.
#include "outbound.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <thread>

#include "advertisement.hpp"
#include "endpoint_test_support.hpp"

namespace baton::link {
namespace {

constexpr std::size_t kHeld = 4;

class OutboundOf : public ::testing::Test {
 protected:
  /// With messages of `bytes`.
  void open(std::size_t bytes, Liveliness liveliness = Liveliness::kAutomatic) {
    bytes_ = bytes;
    participant_ = domain_.join();
    transport::TypeInfo type;
    type.name = "a/Bytes";
    type.skeleton_bytes = static_cast<std::uint32_t>(bytes);
    transport::Participant::WriterOptions writing;
    writing.topic = "/bytes";
    writing.type = type;
    writing.qos.depth = 1000;
    writing.qos.liveliness = liveliness;
    writer_ = *participant_->create_writer(writing);
    transport::Participant::ReaderOptions reading;
    reading.topic = "/bytes";
    reading.type = type;
    reading.qos.depth = 1000;
    reading.qos.held = kHeld;
    auto reader = *participant_->create_reader(reading);
    while (writer_->matched() == 0 || reader->matched() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    reader_ = reader;
    source_ =
        std::make_shared<TopicSource>("/bytes", std::move(reader), kHeld, std::make_shared<std::atomic<std::size_t>>(0),
                                      std::make_shared<LinkLog>([](const transport::Diagnostic&) {}));
    source_->set_publishers({writer_->gid()}, set_of({writer_->gid()}));
  }

  void publish(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Result<memory::Chunk> chunk = writer_->loan_sized(bytes_);
      ASSERT_TRUE(chunk) << chunk.error().message;
      std::memset(chunk->message(), static_cast<int>(i), bytes_);
      ASSERT_TRUE(writer_->publish(*chunk, {}));
    }
  }
  /// One more publisher, which is connected. `gid`: its id; zeros: one of this process.
  std::shared_ptr<transport::Writer> another(const Gid& gid = {}) {
    transport::Participant::WriterOptions writing;
    writing.topic = "/bytes";
    writing.gid = gid;
    writing.type.name = "a/Bytes";
    writing.type.skeleton_bytes = static_cast<std::uint32_t>(bytes_);
    writing.qos.depth = 1000;
    auto writer = *participant_->create_writer(writing);
    EXPECT_TRUE(transport::test::eventually([&] {
      const std::map<Gid, bool> connected = reader_.lock()->publishers();
      const auto found = connected.find(writer->gid());
      return writer->matched() == 1 && found != connected.end() && found->second;
    }));
    return writer;
  }
  memory::ChunkHeader header(std::size_t chunk) const {
    memory::ChunkHeader out;
    std::memcpy(&out, chunks_[chunk]->bytes, sizeof out);
    return out;
  }
  static std::shared_ptr<const std::set<Gid>> set_of(std::set<Gid> gids) {
    return std::make_shared<const std::set<Gid>>(std::move(gids));
  }
  /// All that can leave now; the answer to the last question.
  ChunkSource::NextChunk take_all() {
    for (;;) {
      std::shared_ptr<const OutgoingChunk> chunk;
      const ChunkSource::NextChunk found = source_->next(chunk);
      if (found != ChunkSource::NextChunk::kChunk) return found;
      chunks_.push_back(std::move(chunk));
    }
  }

  std::size_t bytes_ = 0;
  transport::test::TestDomain domain_;
  std::shared_ptr<transport::Participant> participant_;
  std::shared_ptr<transport::Writer> writer_;
  std::weak_ptr<transport::Reader> reader_;  // of the source
  std::shared_ptr<TopicSource> source_;
  std::vector<std::shared_ptr<const OutgoingChunk>> chunks_;
};

TEST_F(OutboundOf, ABurstOfSmallMessagesDoesNotWaitForTheFarEnd) {
  open(64);
  EXPECT_TRUE(source_->empty());
  publish(100);
  EXPECT_FALSE(source_->empty());
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  ASSERT_EQ(chunks_.size(), 100U);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    memory::ChunkHeader header;
    std::memcpy(&header, chunks_[i]->bytes, sizeof header);
    EXPECT_EQ(header.sequence, i + 1);
    EXPECT_EQ(static_cast<std::size_t>(chunks_[i]->bytes[sizeof header]), i);
    EXPECT_EQ(chunks_[i]->size_bytes, sizeof header + 64);
  }
}

TEST_F(OutboundOf, BigMessagesAreNeverCopiedAndWaitForTheFarEnd) {
  open(100'000);
  publish(10);
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kHeld);
  EXPECT_EQ(chunks_.size(), kHeld);
  chunks_.clear();
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kHeld);
  EXPECT_EQ(chunks_.size(), kHeld);
}

TEST_F(OutboundOf, CopiesAreBoundedInBytes) {
  open(32 << 10);
  publish(1000);  // 32 MB
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kHeld);
  std::size_t bytes = 0;
  for (const auto& chunk : chunks_) bytes += chunk->size_bytes;
  EXPECT_GT(bytes, std::size_t{15} << 20);
  EXPECT_LT(bytes, std::size_t{17} << 20);
}

TEST_F(OutboundOf, AnAssertionOfLifeLeavesBehindTheMessagesAndNotWhereAMessageSaysIt) {
  open(64, Liveliness::kManualByTopic);
  EXPECT_FALSE(source_->look_for_signs());  // what was before the connection
  publish(2);
  source_->look_for_signs();
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_EQ(chunks_.size(), 2U);
  EXPECT_TRUE(source_->empty());
  EXPECT_FALSE(source_->look_for_signs());
  writer_->assert_liveliness();
  EXPECT_TRUE(source_->look_for_signs());
  EXPECT_FALSE(source_->look_for_signs());
  EXPECT_FALSE(source_->empty());
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  ASSERT_EQ(chunks_.size(), 3U);
  ASSERT_EQ(chunks_[2]->size_bytes, sizeof(memory::ChunkHeader));
  memory::ChunkHeader header;
  std::memcpy(&header, chunks_[2]->bytes, sizeof header);
  EXPECT_EQ(std::memcmp(header.type_hash, kSignTag, sizeof kSignTag), 0);
  EXPECT_EQ(std::memcmp(header.publisher_id, writer_->gid().data(), writer_->gid().size()), 0);
}

TEST_F(OutboundOf, APublisherWithAutomaticLivelinessGivesNoSigns) {
  open(64);
  source_->look_for_signs();
  writer_->assert_liveliness();
  EXPECT_FALSE(source_->look_for_signs());
  EXPECT_TRUE(source_->empty());
}

TEST_F(OutboundOf, MessagesOfKnownPublishersThatAreNotNamedStayHere) {
  open(64);
  publish(3);
  source_->set_publishers({}, set_of({writer_->gid()}));
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_TRUE(chunks_.empty());
  EXPECT_FALSE(source_->waits());
  EXPECT_EQ(source_->lost().messages, 0U) << "no message for other hosts";
}

TEST_F(OutboundOf, MessagesThatComeBeforeTheirPublisherIsKnownWaitAndTravel) {
  open(64);
  source_->set_publishers({}, set_of({}));
  publish(3);
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_TRUE(source_->waits());
  EXPECT_FALSE(source_->empty());
  source_->set_publishers({}, set_of({}));  // of a moment before it came
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  source_->set_publishers({writer_->gid()}, set_of({writer_->gid()}));
  EXPECT_FALSE(source_->waits());
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  ASSERT_EQ(chunks_.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(header(i).sequence, i + 1);
  EXPECT_TRUE(source_->empty());
}

TEST_F(OutboundOf, MessagesOfAPublisherThatNeverBecomesKnownHoldNobodyUp) {
  open(64);
  source_->set_publishers({}, set_of({}));
  publish(1);
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  source_->set_publishers({}, set_of({}));
  source_->set_publishers({}, set_of({}));
  EXPECT_FALSE(source_->waits());
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_TRUE(chunks_.empty());
  EXPECT_EQ(source_->lost().messages, 1U);
  EXPECT_EQ(source_->lost().why, "its publisher had ended before it was known");
}

TEST_F(OutboundOf, MessagesOfPublishersThatAreNotKnownHoldNoOtherPublisherUp) {
  open(64);
  std::vector<std::shared_ptr<transport::Writer>> unknown;
  for (int i = 0; i < 5; ++i) {
    const auto known = writer_;
    writer_ = another();
    publish(2);
    std::swap(unknown.emplace_back(known), writer_);
    publish(2);
  }
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  ASSERT_EQ(chunks_.size(), 10U);
  for (std::size_t i = 0; i < chunks_.size(); ++i) EXPECT_EQ(header(i).sequence, i + 1);
  EXPECT_TRUE(source_->waits());
  std::set<Gid> known{writer_->gid(), unknown[0]->gid()};
  EXPECT_TRUE(source_->set_publishers(known, set_of(known)));
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_EQ(chunks_.size(), 12U);
  EXPECT_TRUE(source_->set_publishers(known, set_of(known)));
  EXPECT_FALSE(source_->waits());
  EXPECT_EQ(source_->lost().messages, 8U);
  EXPECT_EQ(source_->lost().why, "its publisher had ended before it was known");
}

TEST_F(OutboundOf, TheMessagesOfUnknownPublishersOfOneProcessThatWaitHaveABound) {
  constexpr std::size_t kMostOfProcess = 64;  // in outbound.hpp
  open(64);
  const auto known = writer_;
  std::vector<std::shared_ptr<transport::Writer>> unknown;
  while (unknown.size() * kHeld < kMostOfProcess + kHeld) {
    Gid gid;
    gid.fill(static_cast<std::uint8_t>(100 + unknown.size()));  // as if each were of another process
    writer_ = another(gid);
    publish(kHeld);
    unknown.push_back(writer_);
  }
  writer_ = known;
  publish(3);
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_EQ(chunks_.size(), 3U) << "of the publisher that is known";
  EXPECT_EQ(source_->lost().messages, kHeld);
  EXPECT_EQ(source_->lost().why, "too many messages are of publishers that are not known yet");
  std::set<Gid> all{writer_->gid()};
  for (const auto& each : unknown) all.insert(each->gid());
  source_->set_publishers(all, set_of(all));
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_EQ(chunks_.size(), 3 + kMostOfProcess);
}

TEST_F(OutboundOf, APublisherIsUnderWayUntilItsOwnLastMessageIsAcknowledged) {
  open(64);
  const auto honest = writer_;
  writer_ = another();
  const Gid ended = writer_->gid();
  const std::set<Gid> both{honest->gid(), ended};
  source_->set_publishers(both, set_of(both));
  publish(2);
  writer_.reset();
  ASSERT_TRUE(transport::test::eventually([&] { return reader_.lock()->matched() == 1; }));
  EXPECT_EQ(source_->under_way().count(ended), 1U) << "unread";
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_EQ(source_->under_way().count(ended), 1U) << "not acknowledged";
  chunks_.clear();
  writer_ = honest;
  publish(5);  // the flow is never idle
  EXPECT_FALSE(source_->empty());
  EXPECT_EQ(source_->under_way(), std::set<Gid>{honest->gid()});
}

TEST_F(OutboundOf, TheReasonOfMostLossesIsNamedAndNotThatOfTheLast) {
  open(64);
  publish(1000 + 7);
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  const std::uint64_t overwritten = source_->lost().messages;
  ASSERT_GT(overwritten, 1U);
  Result<memory::Chunk> chunk = writer_->loan_sized(64);
  ASSERT_TRUE(chunk) << chunk.error().message;
  chunk->header->publisher_id[0] ^= 1;
  ASSERT_TRUE(writer_->publish(*chunk, {}));
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_EQ(source_->lost().messages, overwritten + 1);
  EXPECT_EQ(source_->lost().why, "the host, or the network to it, takes less than is published");
}

TEST_F(OutboundOf, OneLookPassesOverABoundedNumberOfMessagesThatDoNotTravel) {
  constexpr std::size_t kMostPassed = 256;  // in outbound.hpp
  open(64);
  publish(kMostPassed + 10);
  source_->set_publishers({}, set_of({writer_->gid()}));
  std::shared_ptr<const OutgoingChunk> chunk;
  EXPECT_EQ(source_->next(chunk), ChunkSource::NextChunk::kMore);
  EXPECT_FALSE(source_->empty());
  EXPECT_EQ(source_->next(chunk), ChunkSource::NextChunk::kNothing);
  EXPECT_TRUE(source_->empty());
}

TEST_F(OutboundOf, AMessageWhoseHeaderNamesAnotherPublisherIsCountedAsLost) {
  open(64);
  Result<memory::Chunk> chunk = writer_->loan_sized(64);
  ASSERT_TRUE(chunk) << chunk.error().message;
  chunk->header->publisher_id[0] ^= 1;
  ASSERT_TRUE(writer_->publish(*chunk, {}));
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_TRUE(chunks_.empty());
  EXPECT_EQ(source_->lost().messages, 1U);
  EXPECT_EQ(source_->lost().why, "its header names another publisher");
}

TEST_F(OutboundOf, AReaderThatReplacesAnotherOneLosesAndDoublesNothing) {
  open(64);
  publish(20);
  const auto deeper = [&] {
    transport::Participant::ReaderOptions reading;
    reading.topic = "/bytes";
    reading.type.name = "a/Bytes";
    reading.type.skeleton_bytes = 64;
    reading.qos.depth = 2000;
    reading.qos.held = kHeld;
    return *participant_->create_reader(reading);
  };
  const auto second = deeper();
  EXPECT_FALSE(source_->is_replacing());
  ASSERT_TRUE(source_->replace(second));
  EXPECT_EQ(source_->readers().size(), 2U);
  EXPECT_TRUE(source_->is_replacing());
  while (second->matched() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  publish(20);  // both have these
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  publish(20);
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  ASSERT_EQ(chunks_.size(), 60U);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    memory::ChunkHeader header;
    std::memcpy(&header, chunks_[i]->bytes, sizeof header);
    EXPECT_EQ(header.sequence, i + 1);
  }
  EXPECT_FALSE(source_->is_replacing());
  EXPECT_EQ(source_->readers(), std::set<Gid>{second->gid()});
  EXPECT_EQ(source_->lost().messages, 0U);
  EXPECT_TRUE(source_->empty());
}

TEST_F(OutboundOf, AReaderThatReplacesAnotherOneWaitsForEachOfItsPublishers) {
  open(64);
  transport::Participant::ReaderOptions reading;
  reading.topic = "/bytes";
  reading.type.name = "a/Bytes";
  reading.type.skeleton_bytes = 64;
  reading.qos.depth = 2000;
  reading.qos.held = kHeld;
  reading.qos.reliability = Reliability::kBestEffort;
  const std::shared_ptr<transport::Reader> second = *participant_->create_reader(reading);
  transport::Participant::WriterOptions writing;
  writing.topic = "/bytes";
  writing.type = reading.type;
  writing.qos.depth = 1000;
  writing.qos.reliability = Reliability::kBestEffort;
  const auto of_second = *participant_->create_writer(writing);
  ASSERT_TRUE(transport::test::eventually([&] { return second->matched() == 2; }));
  second->stop_matching();  // as if the next publisher were slow to connect to it
  writing.qos.reliability = Reliability::kReliable;
  std::shared_ptr<transport::Writer> slow = *participant_->create_writer(writing);
  ASSERT_TRUE(transport::test::matched(*reader_.lock(), 2));  // the publisher counts it a little earlier
  EXPECT_EQ(slow->matched(), 1U);
  source_->set_publishers({writer_->gid(), slow->gid()}, set_of({writer_->gid(), slow->gid()}));
  // Both readers have two publishers now, and not the same.
  ASSERT_TRUE(source_->replace(second));
  for (int i = 0; i < 5; ++i) {
    publish(2);
    EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
    publish(1);
    std::swap(writer_, slow);
    publish(3);
    std::swap(writer_, slow);
    EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  }
  EXPECT_EQ(source_->readers().size(), 2U);
  std::map<Gid, std::vector<std::uint64_t>> got;
  for (const auto& chunk : chunks_) {
    memory::ChunkHeader header;
    std::memcpy(&header, chunk->bytes, sizeof header);
    Gid publisher;
    std::memcpy(publisher.data(), header.publisher_id, publisher.size());
    got[publisher].push_back(header.sequence);
  }
  std::vector<std::uint64_t> all(15);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(got, (std::map<Gid, std::vector<std::uint64_t>>{{writer_->gid(), all}, {slow->gid(), all}}));
  slow.reset();
  EXPECT_EQ(take_all(), ChunkSource::NextChunk::kNothing);
  EXPECT_EQ(source_->readers(), std::set<Gid>{second->gid()});
}

}  // namespace
}  // namespace baton::link
