// SPDX-License-Identifier: Apache-2.0
// What another host sends is untrusted: chunks that are cut off, of other types, or malformed reach no subscription.
#include "inbound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
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
    type_ = std::make_shared<const LocalType>(LocalType{info, std::move(*definition)});
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
        "/text", type_, std::make_shared<LinkLog>([this](const transport::Diagnostic& said) { said_ += said.text; }),
        budgets_);
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
  std::unique_ptr<ArrivingChunk> begin(const memory::ChunkHeader& sent, const void* message, std::size_t bytes,
                                       const Gid& host = kFar) {
    std::unique_ptr<ArrivingChunk> arriving = channel_->begin(host, sent, bytes, bytes);
    if (!arriving) return nullptr;
    arriving->header = sent;
    std::memcpy(arriving->message, message, arriving->size_bytes);
    arriving->come();
    return arriving;
  }
  /// Whether the chunk got as far as its end, and is done with.
  bool arrive(const memory::ChunkHeader& sent, const void* message, std::size_t bytes) {
    const std::unique_ptr<ArrivingChunk> arriving = begin(sent, message, bytes);
    return arriving && channel_->deliver(kFar, *arriving);
  }

  /// A publisher of "/other", to which nobody subscribes.
  std::shared_ptr<transport::Writer> lonely(std::uint8_t id) {
    transport::Participant::WriterOptions writing;
    writing.topic = "/other";
    writing.type = type_->info;
    writing.gid.fill(id);
    writing.relayed = true;
    return *participant_->create_writer(writing);
  }
  bool arrive_of(std::uint8_t publisher, std::uint64_t sequence) {
    memory::ChunkHeader sent = header(12, sequence);
    std::memset(sent.publisher_id, publisher, sizeof sent.publisher_id);
    return arrive(sent, text().data(), 12);
  }
  void set_left_out(const std::set<std::pair<Gid, Gid>>& left_out) {
    channel_->set_others(std::make_shared<const std::set<std::pair<Gid, Gid>>>(left_out), nullptr);
  }

  transport::test::TestDomain domain_;
  std::shared_ptr<HostBudgets> budgets_ = std::make_shared<HostBudgets>();
  std::string said_;
  std::shared_ptr<transport::Participant> participant_;
  std::shared_ptr<const LocalType> type_;
  std::shared_ptr<transport::Writer> writer_;
  std::shared_ptr<transport::Reader> reader_;
  std::shared_ptr<InboundChannel> channel_;
};

TEST_F(Inbound, AChunkIsPublishedWithItsNumberTimeAndPublisher) {
  channel_->add(kFar, writer_, false);
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
  channel_->add(kFar, writer_, false);
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
  channel_->add(kFar, writer_, false);
  ASSERT_TRUE(arrive(header(12, 42), text().data(), 12));
  ASSERT_TRUE(arrive(header(12, 45), text().data(), 12));
  while (*reader_->take()) {
  }
  EXPECT_EQ(reader_->statuses().lost_total, 2U);
}

TEST_F(Inbound, AChunkThatCameBeforeIsNotPublishedAgain) {
  channel_->add(kFar, writer_, false);
  ASSERT_TRUE(arrive(header(12, 42), text().data(), 12));
  ASSERT_TRUE(arrive(header(12, 42), text().data(), 12));
  EXPECT_TRUE(*reader_->take());
  EXPECT_FALSE(*reader_->take());
  EXPECT_EQ(channel_->refused(), 0U);
}

TEST_F(Inbound, AChunkOfAPublisherThatIsNotKnownYetWaits) {
  const std::unique_ptr<ArrivingChunk> arriving = begin(header(12, 3), text().data(), 12);
  ASSERT_TRUE(arriving);
  EXPECT_FALSE(channel_->deliver(kFar, *arriving));
  EXPECT_FALSE(*reader_->take());
  channel_->add(kFar, writer_, false);
  EXPECT_TRUE(channel_->deliver(kFar, *arriving));
  const transport::TakenSample sample = *reader_->take();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample.sequence(), 3U);
}

TEST_F(Inbound, TheFirstChunksOfANewPublisherWaitForItsSubscriptionAndHoldNoOtherPublisherUp) {
  const auto writer = lonely(9);
  channel_->add(kFar, writer, true);
  channel_->add(kFar, writer_, false);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    EXPECT_TRUE(arrive_of(9, number));
    EXPECT_TRUE(arrive_of(8, number));
    EXPECT_EQ((*reader_->take()).sequence(), number) << "of the publisher that has a subscription";
  }
  EXPECT_TRUE(channel_->has_pending());
  EXPECT_TRUE(channel_->has_pending(writer->gid()));
  EXPECT_FALSE(channel_->has_pending(writer_->gid()));
  transport::Participant::ReaderOptions reading;
  reading.topic = "/other";
  reading.type = type_->info;
  const auto reader = *participant_->create_reader(reading);
  while (writer->matched() == 0 || reader->matched() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(arrive_of(9, 4)) << "behind the others";
  EXPECT_FALSE(channel_->deliver_pending());
  for (std::uint64_t number = 1; number <= 4; ++number) EXPECT_EQ((*reader->take()).sequence(), number);
  EXPECT_FALSE(channel_->has_pending());
  EXPECT_EQ(channel_->refused(), 0U);
}

TEST_F(Inbound, ThePendingMessagesOfOneProcessHaveABoundAndItAloneLosesMore) {
  constexpr std::uint64_t kMostOfProcess = 1024;  // in inbound.hpp
  const auto crowd = lonely(9), other = lonely(7);
  channel_->add(kFar, crowd, true);
  channel_->add(kFar, other, true);
  channel_->add(kFar, writer_, false);
  std::uint64_t number = 0;
  while (channel_->refused() == 0 && number <= kMostOfProcess) ASSERT_TRUE(arrive_of(9, ++number));
  EXPECT_EQ(number, kMostOfProcess + 1);
  EXPECT_EQ(channel_->refused(), 1U);
  EXPECT_EQ(channel_->traffic().why(), "too many messages of its process wait for a first subscription");
  EXPECT_TRUE(arrive_of(7, 1));
  EXPECT_TRUE(arrive_of(8, 1));
  EXPECT_TRUE(*reader_->take());
  EXPECT_EQ(channel_->refused(), 1U);
  channel_->remove(crowd->gid());
  EXPECT_EQ(channel_->refused(), 1 + kMostOfProcess) << "what waits of a publisher that goes is lost and counted";
  EXPECT_TRUE(channel_->has_pending(other->gid()));
}

TEST_F(Inbound, AChunkOfAPublisherThatIsLeftOutMeanwhileWaitsNoMore) {
  const std::unique_ptr<ArrivingChunk> arriving = begin(header(12), text().data(), 12);
  ASSERT_TRUE(arriving);
  EXPECT_FALSE(channel_->deliver(kFar, *arriving));
  set_left_out({{Gid{2}, writer_->gid()}});
  EXPECT_FALSE(channel_->deliver(kFar, *arriving)) << "of another host";
  set_left_out({{kFar, writer_->gid()}});
  EXPECT_TRUE(channel_->deliver(kFar, *arriving));
  EXPECT_EQ(channel_->refused(), 1U);
}

TEST_F(Inbound, AChunkWaitsLongerForAPublisherThatAHostSaysThanForOneThatNoneDoes) {
  channel_->set_others(std::make_shared<const std::set<std::pair<Gid, Gid>>>(),
                       std::make_shared<const std::set<Gid>>(std::set<Gid>{writer_->gid()}));
  memory::ChunkHeader unknown = header(12);
  std::memset(unknown.publisher_id, 9, sizeof unknown.publisher_id);
  const auto first = begin(header(12), text().data(), 12), second = begin(unknown, text().data(), 12);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(transport::test::eventually([&] { return channel_->deliver(kFar, *second); }));
  EXPECT_EQ(channel_->refused(), 1U);
  EXPECT_FALSE(channel_->deliver(kFar, *first));
}

TEST_F(Inbound, AMessageInPartsHasMemoryForWhatHasComeAndNotForWhatItsHostSays) {
  channel_->add(kFar, writer_, false);
  constexpr std::size_t kSaid = std::size_t{200} << 20, kPart = std::size_t{256} << 10;
  std::vector<std::unique_ptr<ArrivingChunk>> many;
  for (int i = 0; i < 12; ++i) {
    many.push_back(channel_->begin(kFar, header(kSaid), kSaid, 32));
    ASSERT_TRUE(many.back());
  }
  EXPECT_LT(writer_->memory_account().backed_bytes, std::size_t{4} << 20);
  ASSERT_TRUE(many[0]->grow(kPart));
  std::memset(many[0]->message, 1, kPart);
  ASSERT_TRUE(many[0]->grow(2 * kPart));
  std::memset(many[0]->message + kPart, 2, kPart);
  EXPECT_EQ(many[0]->message[kPart - 1], std::byte{1}) << "what has come stays";
  EXPECT_LT(writer_->memory_account().backed_bytes, std::size_t{5} << 20);
  many.clear();
  EXPECT_EQ(writer_->memory_account().loaned_slots, 0U);
  EXPECT_EQ(channel_->refused(), 0U);
}

TEST_F(Inbound, AMessageThatHasBegunGrowsNoMoreOnceItsHostHasMoreThanItsShare) {
  channel_->add(kFar, writer_, false);
  constexpr std::size_t kSaid = std::size_t{2} << 20;
  const std::unique_ptr<ArrivingChunk> begun = channel_->begin(kFar, header(kSaid), kSaid, 32);
  ASSERT_TRUE(begun && begun->grow(1000));
  budgets_->account({{Gid{10}, {kFar, SIZE_MAX}}});
  EXPECT_FALSE(begun->grow(kSaid));
  EXPECT_EQ(channel_->refused(), 1U);
  budgets_->account({});
  EXPECT_TRUE(begun->grow(kSaid));
}

TEST_F(Inbound, AMessageOfAPublisherThatIsNotKnownHasMemoryForWhatHasCome) {
  constexpr std::size_t kSaid = std::size_t{60} << 20;
  std::vector<std::unique_ptr<ArrivingChunk>> many;
  for (int i = 0; i < 12; ++i) {
    many.push_back(channel_->begin(kFar, header(kSaid), kSaid, 32));
    ASSERT_TRUE(many.back()) << "what is only said takes nothing from the next one";
  }
  EXPECT_TRUE(many[0]->grow(std::size_t{50} << 20));
  EXPECT_FALSE(many[1]->grow(std::size_t{50} << 20)) << "a host has 64 MiB of them";
  EXPECT_EQ(channel_->refused(), 1U);
  constexpr Gid kOther{2};
  const auto other = channel_->begin(kOther, header(kSaid), kSaid, 32);
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->grow(std::size_t{50} << 20)) << "another host has its own share";
  many.clear();
  EXPECT_TRUE(channel_->begin(kFar, header(kSaid), kSaid, kSaid));
}

TEST_F(Inbound, MessagesOfFewBytesWhosePublisherIsNotKnownAreBoundedToo) {
  for (const std::uint32_t size : {8U, 100U}) {
    std::vector<std::unique_ptr<ArrivingChunk>> many;
    const std::size_t most = HostBudgets::kMostStagedBytes / (HostBudgets::kStagedMessageBytes + size);
    while (many.size() <= most) {
      std::unique_ptr<ArrivingChunk> next = channel_->begin(kFar, header(size), size, size);
      if (!next) break;
      many.push_back(std::move(next));
    }
    EXPECT_EQ(many.size(), most);
  }
}

TEST_F(Inbound, AMessageInPartsArrivesAsItWasSent) {
  channel_->add(kFar, writer_, false);
  constexpr std::uint32_t kText = 600'000, kSize = 8 + kText;
  std::vector<std::byte> sent(kSize, std::byte{'x'});
  const std::uint32_t words[2] = {kText, 4};
  std::memcpy(sent.data(), words, 8);
  sent[kSize - 4] = sent[kSize - 3] = sent[kSize - 2] = std::byte{0};
  sent[kSize - 1] = std::byte{0};
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    const auto arriving = channel_->begin(kFar, header(kSize, sequence), kSize, 4);  // less than the skeleton
    ASSERT_TRUE(arriving);
    std::memcpy(arriving->message, sent.data(), 4);
    for (std::size_t at = 4; at < kSize;) {
      const std::size_t next = std::min<std::size_t>(kSize, at + 250'001);
      ASSERT_TRUE(arriving->grow(next));
      std::memcpy(arriving->message + at, sent.data() + at, next - at);
      at = next;
    }
    arriving->come();
    ASSERT_TRUE(channel_->deliver(kFar, *arriving));
    const transport::TakenSample sample = *reader_->take();
    ASSERT_TRUE(sample) << said_;
    ASSERT_EQ(sample.size_bytes(), kSize);
    EXPECT_EQ(std::memcmp(sample.message(), sent.data(), kSize), 0);
  }
}

TEST_F(Inbound, AMessageAboveTheOrdinaryLimitRaisesThatOfItsPublisherWhichHasRaisedItsOwn) {
  channel_->add(kFar, writer_, false);
  const std::size_t large = writer_->memory_account().limit_bytes / 2;
  ASSERT_EQ(large, std::size_t{512} << 20);
  const auto arriving = channel_->begin(kFar, header(static_cast<std::uint32_t>(large)), large, 1000);
  ASSERT_TRUE(arriving) << said_;
  EXPECT_TRUE(arriving->grow(std::size_t{1} << 20)) << said_;
  EXPECT_EQ(writer_->memory_account().limit_bytes, 4 * large);
  EXPECT_LT(writer_->memory_account().backed_bytes, std::size_t{3} << 20);
  EXPECT_EQ(channel_->refused(), 0U);
}

TEST_F(Inbound, OnlySoManyPublishersOfAHostHaveMessagesAboveTheOrdinaryLimit) {
  constexpr std::size_t kLarge = std::size_t{300} << 20;
  const auto begin_of = [&](std::uint8_t publisher, const Gid& host) {
    transport::Participant::WriterOptions writing;
    writing.topic = "/text";
    writing.type = type_->info;
    writing.gid.fill(publisher);
    writing.relayed = true;
    const auto writer = *participant_->create_writer(writing);
    channel_->add(host, writer, false);
    memory::ChunkHeader sent = header(kLarge);
    std::memset(sent.publisher_id, publisher, sizeof sent.publisher_id);
    return channel_->begin(host, sent, kLarge, 1000) != nullptr;
  };
  std::uint8_t publisher = 20;
  for (std::size_t i = 0; i < HostBudgets::kMostLarge; ++i) EXPECT_TRUE(begin_of(publisher++, kFar)) << said_;
  EXPECT_FALSE(begin_of(publisher++, kFar));
  EXPECT_EQ(channel_->refused(), 1U) << "it is counted";
  EXPECT_TRUE(begin_of(publisher++, Gid{2})) << "another host has its own share";
}

TEST_F(Inbound, AHostDoesNotPublishForThePublisherOfAnother) {
  constexpr Gid kStranger{66};
  channel_->add(kFar, writer_, false);
  const auto forged = begin(header(12, UINT64_MAX), text().data(), 12, kStranger);
  ASSERT_TRUE(forged);
  EXPECT_FALSE(channel_->deliver(kStranger, *forged)) << "it waits for a publisher of its own host";
  memory::ChunkHeader sign = header(0);
  std::memcpy(sign.type_hash, kSignTag, sizeof kSignTag);
  const std::int64_t before = reader_->sign_of_life_ns(writer_->gid());
  const auto sign_of_life = begin(sign, "", 0, kStranger);
  EXPECT_TRUE(channel_->deliver(kStranger, *sign_of_life));
  EXPECT_EQ(reader_->sign_of_life_ns(writer_->gid()), before);
  ASSERT_TRUE(arrive(header(12, 1), text().data(), 12)) << "the number of the forged message counts for nothing";
  EXPECT_TRUE(*reader_->take());
}

TEST_F(Inbound, AMessageOfAPublisherThatIsLeftOutIsRefusedAndHoldsNothingUp) {
  Gid left_out;
  left_out.fill(8);
  set_left_out({{kFar, left_out}});
  EXPECT_FALSE(begin(header(12), text().data(), 12));
  EXPECT_EQ(channel_->refused(), 1U);
}

TEST(HostBudgetsOf, AHostWithMoreThanItsShareGetsNoMoreUntilItHasLess) {
  constexpr Gid kThird{2};
  HostBudgets budgets(std::size_t{8} << 30);
  const std::size_t share = std::size_t{2} << 30;
  EXPECT_TRUE(budgets.account({{Gid{10}, {kFar, share}}}).empty());
  EXPECT_EQ(budgets.account({{Gid{10}, {kFar, share}}, {Gid{12}, {kFar, 1}}, {Gid{11}, {kThird, 1}}}),
            std::set<Gid>{kFar});
  EXPECT_TRUE(budgets.is_over(kFar));
  EXPECT_FALSE(budgets.is_over(kThird));
  EXPECT_FALSE(budgets.stage(kFar, 1));
  EXPECT_TRUE(budgets.account({{Gid{10}, {kFar, 1}}}).empty());
  EXPECT_FALSE(budgets.is_over(kFar));
  EXPECT_TRUE(budgets.stage(kFar, 1));
}

TEST(HostBudgetsOf, AllHostsTogetherHaveABoundInWhateverOrderTheyComeAndANewOneGetsSome) {
  constexpr std::size_t kMachine = std::size_t{24} << 30, kHosts = 256;
  constexpr std::size_t kEach = kMachine / HostBudgets::kPartOfMemory / HostBudgets::kPartsForEach;
  HostBudgets budgets(kMachine);
  std::map<Gid, HostBudgets::HostUsage> taken;
  const auto sum = [&] {
    std::size_t out = 0;
    for (const auto& [publisher, each] : taken) out += each.bytes;
    return out;
  };
  for (std::size_t i = 0; i < kHosts; ++i) {  // each takes all that it can, and keeps it
    const Gid host{static_cast<std::uint8_t>(i), 1};
    HostBudgets::HostUsage& own = taken[host];
    own = {host, kEach};
    ASSERT_EQ(budgets.account(taken).count(host), 0U) << "host " << i;
    while (budgets.account(taken).count(host) == 0) own.bytes += own.bytes / 8;
    if (i == 15) {
      EXPECT_LT(sum(), kMachine / 16 * 10);
    }
  }
  EXPECT_LT(sum(), kMachine);
}

TEST(HostBudgetsOf, WhatIsStagedOfAllHostsHasABoundAndEachMayHaveSome) {
  HostBudgets budgets(std::size_t{24} << 30);
  constexpr std::size_t kMemory = std::size_t{12} << 30, kEach = kMemory / HostBudgets::kPartsForEach;
  std::size_t all = 0;
  for (std::uint8_t i = 0; i < 255; ++i) {
    const Gid host{i, 1};
    if (budgets.stage(host, HostBudgets::kMostStagedBytes)) {
      all += HostBudgets::kMostStagedBytes;
      continue;
    }
    EXPECT_TRUE(budgets.stage(host, kEach)) << "host " << int{i};
    EXPECT_FALSE(budgets.stage(host, 1));
    all += kEach;
  }
  EXPECT_LT(all, kMemory);
}

TEST(HostBudgetsOf, WhatIsStagedCountsInTheShareOfItsHost) {
  HostBudgets budgets(0);
  ASSERT_TRUE(budgets.stage(kFar, HostBudgets::kMostStagedBytes));
  const std::size_t share = HostBudgets::kLeastBytes / HostBudgets::kPartsOfMemory;
  EXPECT_EQ(budgets.account({{Gid{10}, {kFar, share}}}), std::set<Gid>{kFar});
  budgets.unstage(kFar, HostBudgets::kMostStagedBytes);
  EXPECT_TRUE(budgets.account({{Gid{10}, {kFar, share}}}).empty());
}

TEST(HostBudgetsOf, AHostTakesAPartOfTheAddressesForLargeMessagesAndLeavesTheOthersTheirs) {
  constexpr Gid kSecond{2};
  HostBudgets budgets(SIZE_MAX, 1600);  // so 1200 for all hosts, 300 for the large messages of one
  EXPECT_TRUE(budgets.enlarge(kFar, Gid{10}, 200).ok());
  EXPECT_TRUE(budgets.enlarge(kFar, Gid{11}, 100).ok());
  const Result<void> beyond = budgets.enlarge(kFar, Gid{12}, 1);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, Errc::limit_reached);
  EXPECT_NE(beyond.error().message.find("BATON_WINDOW"), std::string::npos) << beyond.error().message;
  EXPECT_TRUE(budgets.enlarge(kSecond, Gid{20}, 300).ok()) << "another host has its own share";
  EXPECT_TRUE(budgets.account({{Gid{10}, {kFar, 0, 250}}, {Gid{20}, {kSecond, 0, 30}}}).empty());
  EXPECT_TRUE(budgets.enlarge(kFar, Gid{10}, 50).ok()) << "what it has given back";
  EXPECT_FALSE(budgets.enlarge(kFar, Gid{10}, 1).ok());
}

TEST(HostBudgetsOf, WhereAllHostsHaveTooManyAddressesThoseWithMostGetNoMore) {
  constexpr Gid kSecond{2}, kThird{3};
  HostBudgets budgets(SIZE_MAX, 1600);
  EXPECT_TRUE(budgets.account({{Gid{10}, {kFar, 0, 1000}}, {Gid{20}, {kSecond, 0, 200}}}).empty()) << "there is room";
  EXPECT_EQ(budgets.account({{Gid{10}, {kFar, 0, 700}},
                             {Gid{11}, {kFar, 0, 100}},
                             {Gid{20}, {kSecond, 0, 410}},
                             {Gid{30}, {kThird, 0, 390}}}),
            (std::set<Gid>{kFar, kSecond}));
  EXPECT_FALSE(budgets.is_over(kThird));
  EXPECT_TRUE(budgets.account({{Gid{10}, {kFar, 0, 400}}, {Gid{20}, {kSecond, 0, 410}}}).empty());
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
  channel_->add(kFar, writer, false);
  std::vector<std::unique_ptr<ArrivingChunk>> arriving;
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
  channel_->add(kFar, writer_, false);
  const auto refused = [&](auto&& change, std::size_t bytes) {
    memory::ChunkHeader sent = header(12);
    change(sent);
    return channel_->begin(kFar, sent, bytes, bytes) == nullptr;
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
  channel_->add(kFar, writer_, false);
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
  channel_->add(kFar, writer_, false);
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
  channel_->add(kFar, writer_, false);
  { const auto arriving = channel_->begin(kFar, header(12), 12, 12); }
  EXPECT_EQ(writer_->memory_account().loaned_slots, 0U);
}

TEST_F(Inbound, ARequestWhoseResponseCannotTravelIsPendingAndHoldsNoOtherClientUp) {
  const auto answerable = std::make_shared<Answerable>();
  channel_ =
      std::make_shared<InboundChannel>("/text", type_, std::make_shared<LinkLog>([](const transport::Diagnostic&) {}),
                                       std::make_shared<HostBudgets>(), answerable);
  transport::Participant::WriterOptions writing;
  writing.topic = "/text";
  writing.type = type_->info;
  writing.gid.fill(9);
  writing.relayed = true;
  const auto other = *participant_->create_writer(writing);
  ASSERT_TRUE(transport::test::matched(*reader_, 2));  // the publisher counts it a little earlier
  channel_->add(kFar, writer_, false);
  channel_->add(kFar, other, false);
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
  using HostUsage = std::vector<std::pair<std::uint8_t, std::uint64_t>>;
  EXPECT_TRUE(request(deaf, 8, 1));
  EXPECT_TRUE(request(steady, 9, 1));
  EXPECT_TRUE(request(deaf, 8, 2));
  EXPECT_TRUE(request(steady, 9, 2));
  EXPECT_FALSE(channel_->deliver_pending());
  EXPECT_EQ(taken(), (HostUsage{{9, 1}, {9, 2}}));
  answerable->set({{kFar, steady}, {kFar, deaf}});
  EXPECT_TRUE(request(deaf, 8, 3));  // behind the others
  EXPECT_EQ(taken(), HostUsage{});
  EXPECT_FALSE(channel_->deliver_pending());
  EXPECT_EQ(taken(), (HostUsage{{8, 1}, {8, 2}, {8, 3}}));
  EXPECT_TRUE(request(deaf, 8, 4));
  EXPECT_EQ(taken(), (HostUsage{{8, 4}}));

  answerable->set({});
  for (std::uint64_t sequence = 5; sequence < 5 + 1024; ++sequence) EXPECT_TRUE(request(deaf, 8, sequence));
  EXPECT_EQ(channel_->refused(), 0U);
  EXPECT_TRUE(request(deaf, 8, 5 + 1024));
  EXPECT_EQ(channel_->refused(), 1U) << "not more than so many, and the flow goes on";
  EXPECT_TRUE(request(steady, 9, 3));
  channel_->remove(writer_->gid());
  answerable->set({{kFar, deaf}});
  EXPECT_FALSE(channel_->deliver_pending());
  EXPECT_EQ(taken(), HostUsage{}) << "the client is gone";
}

}  // namespace
}  // namespace baton::link
