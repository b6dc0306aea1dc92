// SPDX-License-Identifier: Apache-2.0
// What another host sends is untrusted: chunks that are cut off, of other types, or malformed reach no subscription.
#include "inbound.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "endpoint_test_support.hpp"

namespace baton::link {
namespace {

constexpr Gid kFar{1};
constexpr char kDefinition[] = "message a/Text\nstring data\n";

class Inbound : public ::testing::Test {
 protected:
  void SetUp() override {
    participant_ = domain_.join();
    TypeHash hash;
    hash.fill(5);
    Result<message::Definition> definition = message::Definition::parse(kDefinition, hash);
    ASSERT_TRUE(definition.ok()) << definition.error().message;
    transport::TypeInfo info;
    info.name = "a/Text";
    info.hash = hash;
    info.definition = kDefinition;
    info.skeleton_bytes = definition->type().size;
    type_ = std::make_shared<const CarriedType>(CarriedType{info, std::move(*definition)});
    transport::Participant::WriterOptions writing;
    writing.topic = "/text";
    writing.type = info;
    writing.gid.fill(8);
    writing.relayed = true;
    writing.qos.liveliness = Liveliness::kManualByTopic;
    writer_ = *participant_->create_writer(writing);
    transport::Participant::ReaderOptions reading;
    reading.topic = "/text";
    reading.type = info;
    reader_ = *participant_->create_reader(reading);
    while (writer_->matched() == 0 || reader_->matched() == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    channel_ = std::make_shared<InboundChannel>(
        "/text", type_, std::make_shared<Saying>([this](const transport::Diagnostic& said) { said_ += said.text; }));
  }

  memory::ChunkHeader header(std::uint32_t size, std::uint64_t sequence = 1) const {
    memory::ChunkHeader out{};
    out.magic = memory::kChunkMagic;
    out.version = memory::kChunkVersion;
    out.byte_order = memory::kNativeByteOrder;
    out.size_bytes = size;
    out.skeleton_bytes = 8;
    out.sequence = sequence;
    out.source_time_ns = 12345;
    std::memset(out.publisher_id, 8, sizeof out.publisher_id);
    std::memset(out.type_hash, 5, sizeof out.type_hash);
    return out;
  }
  /// "abc" as docs/format/sfm.md lays it out.
  static std::array<std::byte, 12> text() {
    std::array<std::byte, 12> out{};
    const std::uint32_t words[2] = {4, 4};
    std::memcpy(out.data(), words, 8);
    std::memcpy(out.data() + 8, "abc", 4);
    return out;
  }
  /// Null: it was refused at its header.
  std::unique_ptr<Arriving> begin(const memory::ChunkHeader& sent, const void* message, std::size_t bytes) {
    std::unique_ptr<Arriving> arriving = channel_->begin(kFar, sent, bytes);
    if (!arriving) return nullptr;
    arriving->header = sent;
    std::memcpy(arriving->message, message, arriving->size_bytes);
    return arriving;
  }
  /// Whether the chunk got as far as its end, and is done with.
  bool arrive(const memory::ChunkHeader& sent, const void* message, std::size_t bytes) {
    const std::unique_ptr<Arriving> arriving = begin(sent, message, bytes);
    return arriving && channel_->deliver(kFar, *arriving);
  }

  transport::test::TestDomain domain_;
  std::string said_;
  std::shared_ptr<transport::Participant> participant_;
  std::shared_ptr<const CarriedType> type_;
  std::shared_ptr<transport::Writer> writer_;
  std::shared_ptr<transport::Reader> reader_;
  std::shared_ptr<InboundChannel> channel_;
};

TEST_F(Inbound, AChunkIsPublishedWithItsNumberTimeAndPublisher) {
  channel_->add(writer_, false);
  ASSERT_TRUE(arrive(header(12, 42), text().data(), 12));
  const transport::TakenSample sample = *reader_->take();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample.sequence(), 42U);
  EXPECT_EQ(sample.header().source_time_ns, 12345);
  EXPECT_EQ(sample.header().publisher_id[0], 8);
  ASSERT_EQ(sample.size_bytes(), 12U);
  EXPECT_EQ(std::memcmp(sample.message(), text().data(), 12), 0);
  EXPECT_EQ(reader_->statuses().lost_total, 0U);  // what was before its first message is not lost
}

TEST_F(Inbound, ASignOfLifeIsNoMessageAndAssertsThatItsPublisherIsAlive) {
  memory::ChunkHeader sign = header(0);
  std::memcpy(sign.type_hash, kSignTag, sizeof kSignTag);
  ASSERT_TRUE(arrive(sign, "", 0));  // of a publisher that is not known: nothing happens
  channel_->add(writer_, false);
  const std::int64_t before = reader_->sign_of_life_ns(writer_->gid());
  EXPECT_GT(before, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(arrive(sign, "", 0));
  EXPECT_GT(reader_->sign_of_life_ns(writer_->gid()), before);
  EXPECT_FALSE(*reader_->take());
  EXPECT_EQ(channel_->delivered(), 0U);
  EXPECT_EQ(channel_->refused(), 0U);
}

TEST_F(Inbound, WhatIsMissingBetweenTwoNumbersCountsAsLost) {
  channel_->add(writer_, false);
  ASSERT_TRUE(arrive(header(12, 42), text().data(), 12));
  ASSERT_TRUE(arrive(header(12, 45), text().data(), 12));
  while (*reader_->take()) {
  }
  EXPECT_EQ(reader_->statuses().lost_total, 2U);
}

TEST_F(Inbound, AChunkThatCameBeforeIsNotPublishedAgain) {
  channel_->add(writer_, false);
  ASSERT_TRUE(arrive(header(12, 42), text().data(), 12));
  ASSERT_TRUE(arrive(header(12, 42), text().data(), 12));
  EXPECT_TRUE(*reader_->take());
  EXPECT_FALSE(*reader_->take());
  EXPECT_EQ(channel_->refused(), 0U);
}

TEST_F(Inbound, AChunkOfAPublisherThatIsNotKnownYetWaits) {
  const std::unique_ptr<Arriving> arriving = begin(header(12, 3), text().data(), 12);
  ASSERT_TRUE(arriving);
  EXPECT_FALSE(channel_->deliver(kFar, *arriving));
  EXPECT_FALSE(*reader_->take());
  channel_->add(writer_, false);
  EXPECT_TRUE(channel_->deliver(kFar, *arriving));
  const transport::TakenSample sample = *reader_->take();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample.sequence(), 3U);
}

TEST_F(Inbound, TheFirstChunksOfANewPublisherWaitForItsSubscription) {
  transport::Participant::WriterOptions writing;
  writing.topic = "/other";
  writing.type = type_->info;
  writing.gid.fill(9);
  writing.relayed = true;
  const auto writer = *participant_->create_writer(writing);
  channel_->add(writer, true);
  memory::ChunkHeader sent = header(12);
  std::memset(sent.publisher_id, 9, sizeof sent.publisher_id);
  const std::unique_ptr<Arriving> arriving = begin(sent, text().data(), 12);
  ASSERT_TRUE(arriving);
  EXPECT_FALSE(channel_->deliver(kFar, *arriving));
  transport::Participant::ReaderOptions reading;
  reading.topic = "/other";
  reading.type = type_->info;
  const auto reader = *participant_->create_reader(reading);
  while (writer->matched() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(channel_->deliver(kFar, *arriving));
}

TEST_F(Inbound, AChunkWaitsWhileASubscriptionThatKeepsAllHasNoRoom) {
  transport::Participant::WriterOptions writing;
  writing.topic = "/all";
  writing.type = type_->info;
  writing.gid.fill(9);
  writing.relayed = true;
  writing.qos = QoS().reliable().keep_all(1);
  const auto writer = *participant_->create_writer(writing);
  transport::Participant::ReaderOptions reading;
  reading.topic = "/all";
  reading.type = type_->info;
  reading.qos = QoS().reliable().keep_all(1);
  const auto reader = *participant_->create_reader(reading);
  while (writer->matched() == 0 || reader->matched() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  channel_->add(writer, false);
  std::vector<std::unique_ptr<Arriving>> arriving;
  std::uint64_t delivered = 0;
  for (std::uint64_t number = 1; number <= 100; ++number) {
    memory::ChunkHeader sent = header(12, number);
    std::memset(sent.publisher_id, 9, sizeof sent.publisher_id);
    arriving.push_back(begin(sent, text().data(), 12));
    ASSERT_TRUE(arriving.back());
    if (!channel_->deliver(kFar, *arriving.back())) break;
    ++delivered;
  }
  ASSERT_LT(delivered, 100U) << "nothing was refused";
  const transport::TakenSample first = *reader->take();
  EXPECT_EQ(first.sequence(), 1U);
  EXPECT_TRUE(channel_->deliver(kFar, *arriving.back()));
  EXPECT_EQ(channel_->refused(), 0U);
}

TEST_F(Inbound, HeadersThatDoNotFitAreRefused) {
  channel_->add(writer_, false);
  const auto refused = [&](auto&& change, std::size_t bytes) {
    memory::ChunkHeader sent = header(12);
    change(sent);
    return channel_->begin(kFar, sent, bytes) == nullptr;
  };
  EXPECT_FALSE(refused([](auto&) {}, 12));
  EXPECT_TRUE(refused([](auto&) {}, 11));
  EXPECT_TRUE(refused([](auto&) {}, 16));
  EXPECT_TRUE(refused([](auto& sent) { sent.magic = 0x4E544142; }, 12));
  EXPECT_TRUE(refused([](auto& sent) { sent.version = 2; }, 12));
  EXPECT_TRUE(refused([](auto& sent) { sent.byte_order = memory::ByteOrder::kBig; }, 12));
  EXPECT_TRUE(refused([](auto& sent) { sent.size_bytes = 4; }, 4));
  EXPECT_TRUE(refused([](auto& sent) { sent.size_bytes = 0xFFFFFFFF; }, 12));
  EXPECT_TRUE(refused([](auto& sent) { sent.skeleton_bytes = 12; }, 12));
  EXPECT_TRUE(refused([](auto& sent) { sent.type_hash[0] = 6; }, 12));
  EXPECT_TRUE(refused([](auto& sent) { sent.sequence = 0; }, 12));
  EXPECT_NE(said_.find("/text"), std::string::npos);
}

TEST_F(Inbound, AMalformedMessageReachesNoSubscription) {
  channel_->add(writer_, false);
  for (const std::uint32_t offset : {5U, 8U, 1000U, 0x80000000U, 0xFFFFFFF0U}) {
    std::array<std::byte, 12> bad = text();
    std::memcpy(bad.data() + 4, &offset, 4);
    ASSERT_TRUE(arrive(header(12), bad.data(), 12));
  }
  EXPECT_FALSE(*reader_->take());
  EXPECT_EQ(channel_->refused(), 5U);
  EXPECT_EQ(reader_->matched(), 1U);
  EXPECT_EQ(writer_->memory_account().loaned_slots, 0U);
}

TEST_F(Inbound, AMessageOfTheOtherByteOrderIsRepaired) {
  channel_->add(writer_, false);
  memory::ChunkHeader sent = header(12, 7);
  sent.byte_order =
      memory::kNativeByteOrder == memory::ByteOrder::kLittle ? memory::ByteOrder::kBig : memory::ByteOrder::kLittle;
  sent.version = __builtin_bswap16(sent.version);
  sent.size_bytes = __builtin_bswap32(sent.size_bytes);
  sent.skeleton_bytes = __builtin_bswap32(sent.skeleton_bytes);
  sent.sequence = __builtin_bswap64(sent.sequence);
  sent.source_time_ns = static_cast<std::int64_t>(__builtin_bswap64(static_cast<std::uint64_t>(sent.source_time_ns)));
  std::array<std::byte, 12> swapped = text();
  const std::uint32_t words[2] = {__builtin_bswap32(4), __builtin_bswap32(4)};
  std::memcpy(swapped.data(), words, 8);
  ASSERT_TRUE(arrive(sent, swapped.data(), 12));
  const transport::TakenSample sample = *reader_->take();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample.sequence(), 7U);
  EXPECT_EQ(sample.header().source_time_ns, 12345);
  EXPECT_EQ(std::memcmp(sample.message(), text().data(), 12), 0);
}

TEST_F(Inbound, AnArrivalThatIsGivenUpLeavesNoLoan) {
  channel_->add(writer_, false);
  { const auto arriving = channel_->begin(kFar, header(12), 12); }
  EXPECT_EQ(writer_->memory_account().loaned_slots, 0U);
}

TEST_F(Inbound, ARequestWhoseResponseCannotTravelWaitsAsideAndHoldsNoOtherClientUp) {
  const auto answerable = std::make_shared<Answerable>();
  channel_ = std::make_shared<InboundChannel>(
      "/text", type_, std::make_shared<Saying>([](const transport::Diagnostic&) {}), answerable);
  transport::Participant::WriterOptions writing;
  writing.topic = "/text";
  writing.type = type_->info;
  writing.gid.fill(9);
  writing.relayed = true;
  const auto other = *participant_->create_writer(writing);
  ASSERT_TRUE(transport::test::matched(*reader_, 2));  // the publisher counts it a little earlier
  channel_->add(writer_, false);
  channel_->add(other, false);
  const Gid deaf{1}, steady{2};
  answerable->set({{kFar, steady}});
  const auto request = [&](const Gid& client, std::uint8_t publisher, std::uint64_t sequence) {
    memory::ChunkHeader sent = header(12, sequence);
    std::memset(sent.publisher_id, publisher, sizeof sent.publisher_id);
    std::memcpy(sent.correlation_client, client.data(), client.size());
    return arrive(sent, text().data(), 12);
  };
  const auto taken = [&] {
    std::vector<std::pair<std::uint8_t, std::uint64_t>> out;
    for (Result<transport::TakenSample> sample = reader_->take(); sample && *sample; sample = reader_->take())
      out.emplace_back(sample->publisher()[0], sample->sequence());
    return out;
  };
  using Taken = std::vector<std::pair<std::uint8_t, std::uint64_t>>;
  EXPECT_TRUE(request(deaf, 8, 1));
  EXPECT_TRUE(request(steady, 9, 1));
  EXPECT_TRUE(request(deaf, 8, 2));
  EXPECT_TRUE(request(steady, 9, 2));
  EXPECT_FALSE(channel_->offer_aside());
  EXPECT_EQ(taken(), (Taken{{9, 1}, {9, 2}}));
  answerable->set({{kFar, steady}, {kFar, deaf}});
  EXPECT_TRUE(request(deaf, 8, 3));  // behind the others
  EXPECT_EQ(taken(), Taken{});
  EXPECT_FALSE(channel_->offer_aside());
  EXPECT_EQ(taken(), (Taken{{8, 1}, {8, 2}, {8, 3}}));
  EXPECT_TRUE(request(deaf, 8, 4));
  EXPECT_EQ(taken(), (Taken{{8, 4}}));

  answerable->set({});
  for (std::uint64_t sequence = 5; sequence < 5 + 256; ++sequence) EXPECT_TRUE(request(deaf, 8, sequence));
  EXPECT_FALSE(request(deaf, 8, 261)) << "not more than so many";
  channel_->remove(writer_->gid());
  answerable->set({{kFar, deaf}});
  EXPECT_FALSE(channel_->offer_aside());
  EXPECT_EQ(taken(), Taken{}) << "the client is gone";
}

}  // namespace
}  // namespace baton::link
