// SPDX-License-Identifier: Apache-2.0
#include "flow_receiver.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "arriving_chunk_test_support.hpp"

namespace baton::link::stream {
namespace {

constexpr std::size_t kHeader = sizeof(memory::ChunkHeader);
constexpr Gid kFar{1};

class Shelf final : public ChunkReceiver {
 public:
  std::unique_ptr<ArrivingChunk> begin(const Gid& host, const memory::ChunkHeader&, std::size_t bytes,
                                       std::size_t) override {
    EXPECT_EQ(host, kFar);
    return refuses ? nullptr : std::make_unique<Buffer>(bytes);
  }
  bool deliver(const Gid&, ArrivingChunk& arriving) override {
    if (full) return false;
    got.emplace_back(reinterpret_cast<const char*>(arriving.message), arriving.size_bytes);
    return true;
  }
  std::vector<std::string> got;
  bool refuses = false, full = false;
};

class GettingOf : public ::testing::Test {
 protected:
  void SetUp() override { registration_ = *channels_->add("a", shelf_); }
  static HostFrame frame(FrameKind kind, std::uint32_t flow) {
    HostFrame out;
    out.kind = kind;
    out.flow = flow;
    return out;
  }
  /// The part [offset, end) of chunk `number`, whose bytes are `message` behind a header.
  Result<void> part(std::uint32_t flow, std::uint64_t number, const std::string& message, std::size_t offset,
                    std::size_t end) {
    const std::string whole = std::string(kHeader, '#') + message;
    HostFrame sent = frame(FrameKind::kPart, flow);
    sent.number = number;
    sent.offset = offset;
    sent.size = static_cast<std::uint32_t>(end - offset);
    sent.total = static_cast<std::uint32_t>(whole.size());
    if (Result<void> begun = getting_.begin_part(sent); !begun) return begun;
    const std::size_t header = getting_.header_bytes();
    if (header != 0) std::memcpy(static_cast<void*>(&getting_.header()), whole.data(), header);
    std::byte* const place = getting_.place();
    if (place != nullptr) std::memcpy(place, whole.data() + offset + header, getting_.place_bytes());
    getting_.end_part();
    return {};
  }
  Result<void> chunk(std::uint32_t flow, std::uint64_t number, const std::string& message) {
    return part(flow, number, message, 0, kHeader + message.size());
  }
  std::vector<HostFrame> acknowledgements() {
    std::vector<HostFrame> out;
    getting_.acknowledgements(out);
    return out;
  }
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  std::shared_ptr<ReceiverTable> channels_ = std::make_shared<ReceiverTable>();
  std::shared_ptr<void> registration_;
  FlowReceiver getting_{kFar, channels_};
};

TEST_F(GettingOf, AChunkInPartsIsDeliveredOnceItIsWholeAndAcknowledged) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  ASSERT_TRUE(part(1, 1, "0123456789", 0, kHeader + 4));
  EXPECT_TRUE(shelf_->got.empty());
  EXPECT_TRUE(acknowledgements().empty());
  ASSERT_TRUE(part(1, 1, "0123456789", kHeader + 4, kHeader + 10));
  EXPECT_EQ(shelf_->got, std::vector<std::string>{"0123456789"});
  const auto acks = acknowledgements();
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].kind, FrameKind::kAck);
  EXPECT_EQ(acks[0].flow, 1U);
  EXPECT_EQ(acks[0].number, 1U);
  EXPECT_TRUE(acknowledgements().empty());
}

TEST_F(GettingOf, AChunkThatCannotBeDeliveredWaitsAndIsNotAcknowledged) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  shelf_->full = true;
  ASSERT_TRUE(chunk(1, 1, "one"));
  ASSERT_TRUE(chunk(1, 2, "two"));
  EXPECT_TRUE(getting_.offer_again());
  EXPECT_EQ(getting_.waiting_bytes(), 6U + 2 * FlowReceiver::kWaitingMessageBytes);
  EXPECT_TRUE(acknowledgements().empty());
  shelf_->full = false;
  EXPECT_FALSE(getting_.offer_again());
  EXPECT_EQ(shelf_->got, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(acknowledgements().at(0).number, 2U);
  EXPECT_EQ(getting_.waiting_bytes(), 0U);
}

TEST_F(GettingOf, ARefusedChunkIsReadAndAcknowledgedInItsTurn) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  shelf_->full = true;
  ASSERT_TRUE(chunk(1, 1, "one"));
  shelf_->refuses = true;
  ASSERT_TRUE(chunk(1, 2, "two"));
  EXPECT_TRUE(acknowledgements().empty());
  EXPECT_EQ(getting_.waiting_bytes(), 3U + 2 * FlowReceiver::kWaitingMessageBytes) << "what is refused waits, too";
  shelf_->full = false;
  EXPECT_FALSE(getting_.offer_again());
  EXPECT_EQ(shelf_->got, std::vector<std::string>{"one"});
  EXPECT_EQ(acknowledgements().at(0).number, 2U);
}

TEST_F(GettingOf, AFlowThatGoesOnElsewhereKeepsWhatHasComeInItsOrder) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  shelf_->full = true;
  ASSERT_TRUE(chunk(1, 1, "one"));
  ASSERT_TRUE(part(1, 2, "0123456789", 0, kHeader + 4));
  FlowReceiver other(kFar, channels_);
  ASSERT_TRUE(other.open(frame(FrameKind::kOpen, 7), "a", getting_.take(1)));
  EXPECT_FALSE(getting_.has(1));
  EXPECT_EQ(getting_.waiting_bytes(), 0U);
  EXPECT_EQ(other.waiting_bytes(), 3U + FlowReceiver::kWaitingMessageBytes);
  EXPECT_EQ(other.resume(7).number, 1U);
  EXPECT_EQ(other.resume(7).offset, kHeader + 4);
  shelf_->full = false;
  EXPECT_FALSE(other.offer_again());
  EXPECT_EQ(shelf_->got, std::vector<std::string>{"one"});
  std::vector<HostFrame> acks;
  other.acknowledgements(acks);
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].flow, 7U);
  EXPECT_EQ(acks[0].number, 1U);
  EXPECT_FALSE(getting_.take(1)) << "it has gone";
  EXPECT_FALSE(other.open(frame(FrameKind::kOpen, 8), "b", other.take(7))) << "of another channel";
}

TEST_F(GettingOf, AReadyThatNoHostCanHaveReachedIsAViolation) {
  EXPECT_EQ(getting_.ready(UINT64_MAX).error().code, Errc::protocol_violation);
  EXPECT_EQ(getting_.ready(FlowReceiver::kMostUnready + 1).error().code, Errc::protocol_violation);
  EXPECT_TRUE(getting_.ready(FlowReceiver::kMostUnready)) << "no later one was used up";
  EXPECT_EQ(getting_.ready(FlowReceiver::kMostUnready).error().code, Errc::system);
}

TEST_F(GettingOf, WhatNobodyReceivesIsDroppedAndAcknowledged) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "unknown"));
  ASSERT_TRUE(chunk(1, 1, "one"));
  EXPECT_EQ(acknowledgements().at(0).number, 1U);
}

TEST_F(GettingOf, AReceiverThatHasEndedGetsNothingMore) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  ASSERT_TRUE(part(1, 1, "0123", 0, kHeader + 2));
  registration_.reset();
  ASSERT_TRUE(part(1, 1, "0123", kHeader + 2, kHeader + 4));
  EXPECT_TRUE(shelf_->got.empty());
  EXPECT_EQ(acknowledgements().at(0).number, 1U);
}

TEST_F(GettingOf, ANewConnectionBeginsWithWhatHasCome) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  ASSERT_TRUE(chunk(1, 1, "one"));
  ASSERT_TRUE(part(1, 2, "0123456789", 0, kHeader + 4));
  std::vector<HostFrame> frames;
  getting_.connected(frames);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].kind, FrameKind::kResume);
  EXPECT_EQ(frames[0].number, 1U);
  EXPECT_EQ(frames[0].offset, kHeader + 4);
  EXPECT_EQ(acknowledgements().size(), 1U);                           // the one before may have been lost
  EXPECT_FALSE(part(1, 2, "0123456789", kHeader + 4, kHeader + 10));  // it is not open on this connection
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  ASSERT_TRUE(getting_.ready(2));
  ASSERT_TRUE(part(1, 2, "0123456789", kHeader + 4, kHeader + 10));
  EXPECT_EQ(shelf_->got, (std::vector<std::string>{"one", "0123456789"}));
}

TEST_F(GettingOf, AFlowThatTheNewConnectionDoesNotNameIsClosed) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  shelf_->full = true;
  ASSERT_TRUE(chunk(1, 1, "one"));
  std::vector<HostFrame> frames;
  getting_.connected(frames);
  ASSERT_TRUE(getting_.ready(2));
  EXPECT_FALSE(getting_.offer_again());
  EXPECT_EQ(getting_.waiting_bytes(), 0U);
  frames.clear();
  getting_.connected(frames);
  EXPECT_TRUE(frames.empty());
}

TEST_F(GettingOf, AConnectionThatIsOutOfDateClosesNoFlow) {
  std::vector<HostFrame> frames;
  getting_.connected(frames);
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  ASSERT_TRUE(getting_.ready(2));
  ASSERT_TRUE(chunk(1, 1, "one"));
  getting_.connected(frames);  // that the other host had left before it opened the flow
  for (const std::uint64_t number : {1, 2}) EXPECT_EQ(getting_.ready(number).error().code, Errc::system);
  getting_.connected(frames);
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  ASSERT_TRUE(getting_.ready(3));
  ASSERT_TRUE(chunk(1, 2, "two"));
  EXPECT_EQ(shelf_->got, (std::vector<std::string>{"one", "two"}));
}

TEST_F(GettingOf, PartsThatAreMissingOrComeTwiceAreViolations) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  EXPECT_FALSE(chunk(1, 2, "two"));
  EXPECT_FALSE(chunk(2, 1, "of no flow"));
  EXPECT_FALSE(part(1, 1, "0123456789", kHeader, kHeader + 10));
  ASSERT_TRUE(part(1, 1, "0123456789", 0, kHeader + 4));
  EXPECT_FALSE(part(1, 1, "0123456789", 0, kHeader + 4));
  EXPECT_FALSE(part(1, 1, "0123456789", kHeader + 5, kHeader + 10));
  EXPECT_FALSE(part(1, 1, "01234567890", kHeader + 4, kHeader + 11));  // another size
  EXPECT_FALSE(chunk(1, 2, "two"));
  EXPECT_FALSE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  EXPECT_TRUE(shelf_->got.empty());
}

TEST_F(GettingOf, MoreChunksUnderWayThanMayBeAreAViolation) {
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, 1), "a"));
  shelf_->full = true;
  for (std::uint64_t i = 1; i <= kMostUnderWay; ++i) ASSERT_TRUE(chunk(1, i, "x")) << i;
  EXPECT_FALSE(chunk(1, kMostUnderWay + 1, "x"));
}

TEST_F(GettingOf, FlowsAreBounded) {
  for (std::uint32_t i = 1; i <= kMostFlows; ++i) ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, i), "a"));
  EXPECT_FALSE(getting_.open(frame(FrameKind::kOpen, kMostFlows + 1), "a"));
}

TEST_F(GettingOf, TheNamesOfFlowsAreBounded) {
  const std::string longest(1100, 'a');
  const std::uint32_t most = kMostFlowNameBytes / 1100;
  for (std::uint32_t i = 1; i <= most; ++i) ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, i), longest));
  getting_.close(1);
  ASSERT_TRUE(getting_.open(frame(FrameKind::kOpen, most + 1), longest)) << "as one has ended";
  EXPECT_FALSE(getting_.open(frame(FrameKind::kOpen, most + 2), longest));
}

TEST_F(GettingOf, NoOrderOfFramesDeliversAChunkThatIsNotWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    FlowReceiver getting(kFar, channels_);
    for (int i = 0; i < 200; ++i) {
      HostFrame sent = frame(FrameKind::kPart, static_cast<std::uint32_t>(random() % 3));
      switch (random() % 8) {
        case 0:
          static_cast<void>(getting.open(sent, random() % 2 ? "a" : "b"));
          break;
        case 1:
          getting.close(sent.flow);
          break;
        case 2:
          static_cast<void>(getting.ready(random() % 4));
          break;
        case 3: {
          std::vector<HostFrame> frames;
          getting.connected(frames);
          break;
        }
        case 4:
          shelf_->full = random() % 2;
          getting.offer_again();
          break;
        default: {
          const std::string message = "0123456789";
          sent.number = 1 + random() % 4;
          sent.offset = random() % 2 ? 0 : kHeader + random() % 10;
          sent.total = kHeader + 10;
          sent.size = static_cast<std::uint32_t>(sent.offset == 0 ? kHeader + random() % 11
                                                                  : 1 + random() % (sent.total - sent.offset));
          if (!getting.begin_part(sent)) break;
          if (std::byte* place = getting.place())
            std::memcpy(place, message.data() + (sent.offset == 0 ? 0 : sent.offset - kHeader), getting.place_bytes());
          getting.end_part();
          break;
        }
      }
    }
  }
  EXPECT_FALSE(shelf_->got.empty());
  for (const std::string& each : shelf_->got) ASSERT_EQ(each, "0123456789");
}

}  // namespace
}  // namespace baton::link::stream
