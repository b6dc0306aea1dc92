// SPDX-License-Identifier: Apache-2.0
#include "flow_sender.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace baton::link::stream {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(memory::ChunkHeader);

struct Bytes final : OutgoingChunk {
  explicit Bytes(std::size_t size) : memory(size) {
    bytes = memory.data();
    size_bytes = size;
  }
  std::vector<std::byte> memory;
};

class Queue final : public ChunkSource {
 public:
  NextChunk next(std::shared_ptr<const OutgoingChunk>& chunk) override {
    ++asked;
    if (passes_over > 0 && passes_over-- > 0) return NextChunk::kMore;
    if (chunks.empty()) return held ? NextChunk::kHeld : NextChunk::kNothing;
    chunk = std::move(chunks.front());
    chunks.pop_front();
    return NextChunk::kChunk;
  }
  void attach(transport::WaitSet&) override { attached = true; }
  void detach(transport::WaitSet&) override { attached = false; }
  bool empty() const override { return chunks.empty(); }
  void add(std::size_t count, std::size_t size) {
    for (std::size_t i = 0; i < count; ++i) chunks.push_back(std::make_shared<Bytes>(size));
  }
  std::deque<std::shared_ptr<const OutgoingChunk>> chunks;
  bool attached = false, held = false;
  int asked = 0, passes_over = 0;
};

class SendingOf : public ::testing::Test {
 protected:
  void connect() {
    sending_.connected();
    opened_ = all();
    sending_.ready();
  }
  std::vector<OutgoingFrame> all(std::size_t bytes = SIZE_MAX) {
    std::vector<OutgoingFrame> frames;
    sending_.next(bytes, 100'000, now_, frames);
    return frames;
  }
  static HostFrame frame(FrameKind kind, std::uint32_t flow, std::uint64_t number, std::uint64_t offset = 0) {
    HostFrame out;
    out.kind = kind;
    out.flow = flow;
    out.number = number;
    out.offset = offset;
    return out;
  }
  transport::WaitSet wait_set_;
  FlowSender::TimePoint now_{};
  FlowSender sending_{wait_set_, TrafficClass::kBulk};
  std::shared_ptr<Queue> source_ = std::make_shared<Queue>(), other_ = std::make_shared<Queue>();
  std::vector<OutgoingFrame> opened_;
};

TEST_F(SendingOf, NothingIsTakenFromASourceWithoutAConnection) {
  sending_.open("a", source_);
  source_->add(1, 1000);
  EXPECT_TRUE(all().empty());
  sending_.connected();
  const std::vector<OutgoingFrame> frames = all();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].frame.kind, FrameKind::kOpen);
  EXPECT_EQ(frames[0].name, "a");
  EXPECT_EQ(frames[1].frame.kind, FrameKind::kReady);
  EXPECT_EQ(frames[1].frame.number, 1U);
  EXPECT_TRUE(all().empty());  // the other end has not said where it is
  EXPECT_EQ(source_->asked, 0);
  sending_.ready();
  EXPECT_EQ(all().size(), 1U);
}

TEST_F(SendingOf, ABigChunkGoesInPartsAndLeavesOthersTheirTurn) {
  const std::uint32_t big = sending_.open("big", source_), small = sending_.open("small", other_);
  source_->add(1, 3 * kPartBytes + 1000);
  other_->add(3, 1000);
  connect();
  const std::vector<OutgoingFrame> frames = all();
  ASSERT_EQ(frames.size(), 7U);
  std::vector<std::uint32_t> order;
  std::uint64_t offset = 0;
  for (const OutgoingFrame& each : frames) {
    order.push_back(each.frame.flow);
    if (each.frame.flow != big) continue;
    EXPECT_EQ(each.frame.offset, offset);
    EXPECT_EQ(each.frame.number, 1U);
    EXPECT_EQ(each.frame.total, 3 * kPartBytes + 1000);
    offset += each.frame.size;
  }
  EXPECT_EQ(offset, 3 * kPartBytes + 1000);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{big, small, small, small, big, big, big}));
}

TEST_F(SendingOf, ASlowLineGetsSmallParts) {
  sending_.open("a", source_);
  source_->add(1, 1000);
  connect();
  const std::vector<OutgoingFrame> first = all(300);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].frame.size, 300U);
  const std::vector<OutgoingFrame> second = all(1);  // a part is never smaller than a chunk's header
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].frame.offset, 300U);
  EXPECT_EQ(second[0].frame.size, kHeaderBytes);
}

TEST_F(SendingOf, AFlowWithManyUnacknowledgedChunksWaitsAndTheOthersGoOn) {
  const std::uint32_t flow = sending_.open("a", source_);
  sending_.open("b", other_);
  source_->add(kMostUnderWay + 10, 200);
  connect();
  EXPECT_EQ(all().size(), kMostUnderWay);
  EXPECT_FALSE(source_->attached);
  EXPECT_TRUE(other_->attached);
  other_->add(1, 200);
  EXPECT_EQ(all().size(), 1U);
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, 4)));
  EXPECT_EQ(all().size(), 4U);
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, kMostUnderWay + 4)));
  EXPECT_EQ(all().size(), 6U);
  EXPECT_TRUE(source_->attached);
  EXPECT_FALSE(sending_.idle(flow));
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, kMostUnderWay + 10)));
  EXPECT_TRUE(sending_.idle(flow));
  EXPECT_EQ(sending_.acknowledged(flow), kMostUnderWay + 10);
}

TEST_F(SendingOf, ASourceThatHoldsAllItMayIsNotWaitedForByTheWaitSet) {
  sending_.open("a", source_);
  source_->held = true;
  connect();
  all();
  EXPECT_FALSE(source_->attached);
}

TEST_F(SendingOf, ANewConnectionGoesOnWhereTheOtherEndSays) {
  const std::uint32_t flow = sending_.open("a", source_);
  source_->add(3, kPartBytes + 100);
  connect();
  EXPECT_EQ(all().size(), 6U);
  sending_.disconnected();
  EXPECT_TRUE(all().empty());
  sending_.connected();
  EXPECT_EQ(all().size(), 2U);
  ASSERT_TRUE(sending_.resume(frame(FrameKind::kResume, flow, 1, kPartBytes)));
  sending_.ready();
  const std::vector<OutgoingFrame> frames = all();
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].frame.number, 2U);
  EXPECT_EQ(frames[0].frame.offset, kPartBytes);
  EXPECT_EQ(frames[0].frame.size, 100U);
  EXPECT_EQ(frames[1].frame.number, 3U);
  // The chunk that had arrived, although no acknowledgement came, is kept until one does.
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, 3)));
  EXPECT_TRUE(sending_.idle(flow));
}

TEST_F(SendingOf, AHostThatHasGotNothingGetsAllAgain) {
  sending_.open("a", source_);
  source_->add(2, 1000);
  connect();
  EXPECT_EQ(all().size(), 2U);
  sending_.disconnected();
  connect();
  EXPECT_EQ(all().size(), 2U);
}

TEST_F(SendingOf, NumbersThatCannotBeAreViolations) {
  const std::uint32_t flow = sending_.open("a", source_);
  source_->add(2, 1000);
  connect();
  EXPECT_FALSE(sending_.acknowledge(frame(FrameKind::kAck, flow, 1)));  // it was not sent yet
  all();
  EXPECT_FALSE(sending_.acknowledge(frame(FrameKind::kAck, flow, 3)));
  EXPECT_FALSE(sending_.acknowledge(frame(FrameKind::kAck, flow, UINT64_MAX)));
  EXPECT_FALSE(sending_.resume(frame(FrameKind::kResume, flow, 1)));  // after it was ready
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, 1)));
  EXPECT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, 1)));  // once more: nothing
  sending_.disconnected();
  sending_.connected();
  EXPECT_FALSE(sending_.resume(frame(FrameKind::kResume, flow, 0)));
  EXPECT_FALSE(sending_.resume(frame(FrameKind::kResume, flow, 3)));
  EXPECT_FALSE(sending_.resume(frame(FrameKind::kResume, flow, UINT64_MAX)));
  EXPECT_FALSE(sending_.resume(frame(FrameKind::kResume, flow, 1, 1000)));
  EXPECT_FALSE(sending_.resume(frame(FrameKind::kResume, flow, 2, 1)));
  EXPECT_TRUE(sending_.resume(frame(FrameKind::kResume, flow + 1, 5)));  // of a flow that is closed
  EXPECT_TRUE(sending_.resume(frame(FrameKind::kResume, flow, 1, 999)));
}

TEST_F(SendingOf, AClosedFlowSaysSoAndGivesUpItsChunks) {
  const std::uint32_t flow = sending_.open("a", source_);
  source_->add(2, 1000);
  connect();
  std::weak_ptr<const OutgoingChunk> chunk = source_->chunks.front();
  all();
  EXPECT_FALSE(chunk.expired());
  sending_.close(flow);
  EXPECT_TRUE(chunk.expired());
  const std::vector<OutgoingFrame> frames = all();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].frame.kind, FrameKind::kClose);
  EXPECT_EQ(frames[0].frame.flow, flow);
  EXPECT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, 2)));
}

TEST_F(SendingOf, OpeningsThatNobodyReadsAreBounded) {
  for (std::size_t i = 0; i < kMostFlows; ++i) sending_.open("a", source_);
  connect();
  EXPECT_FALSE(sending_.is_clogged()) << "as many as there may be";
  for (std::uint32_t i = 1; i <= kMostFlows; ++i) {
    sending_.close(i);
    sending_.open("a", source_);
  }
  EXPECT_FALSE(sending_.is_clogged());
  for (std::uint32_t i = 1; i <= kMostFlows; ++i) {
    sending_.close(kMostFlows + i);
    sending_.open("a", source_);
  }
  EXPECT_TRUE(sending_.is_clogged());
  sending_.disconnected();
  EXPECT_FALSE(sending_.is_clogged());
}

TEST_F(SendingOf, FlowsAreBounded) {
  for (std::size_t i = 0; i < kMostFlows; ++i) ASSERT_NE(sending_.open("a", source_), 0U);
  EXPECT_EQ(sending_.open("a", source_), 0U);
}

TEST_F(SendingOf, ASourceThatHasPassedOverMuchLetsOthersHaveTheirTurnAndIsAskedAgainAtOnce) {
  sending_.open("a", source_);
  sending_.open("b", other_);
  connect();
  source_->passes_over = 2;
  source_->add(1, 1000);
  other_->add(1, 1000);
  std::vector<OutgoingFrame> frames = all();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].frame.flow, 2U);
  EXPECT_TRUE(source_->attached);
  EXPECT_TRUE(wait_set_.wait(std::chrono::hours(1)).ok()) << "or the watchdog ends the test";
  frames = all();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].frame.flow, 1U);
}

/// Of the urgent class.
class UrgentSendingOf : public SendingOf {
 protected:
  std::vector<OutgoingFrame> urgent() {
    std::vector<OutgoingFrame> frames;
    urgent_.next(SIZE_MAX, 100'000, now_, frames);
    return frames;
  }
  void SetUp() override {
    now_ += std::chrono::hours(1);
    flow_ = urgent_.open("a", source_);
    urgent_.connected();
    urgent();
    urgent_.ready();
    connect();
  }
  FlowSender urgent_{wait_set_, TrafficClass::kUrgent};
  std::uint32_t flow_ = 0;
};

TEST_F(UrgentSendingOf, AFlowLeavesWithItsFirstBigChunkOnceAllBeforeAreAcknowledged) {
  source_->add(2, FlowSender::kMostUrgentBytes);
  source_->add(1, FlowSender::kMostUrgentBytes + 1);
  source_->add(1, 1000);
  const std::shared_ptr<const OutgoingChunk> big = source_->chunks[2];
  EXPECT_EQ(urgent().size(), 2U);
  EXPECT_FALSE(urgent_.has_leaving());
  ASSERT_TRUE(urgent_.acknowledge(frame(FrameKind::kAck, flow_, 1)));
  EXPECT_TRUE(urgent().empty());
  EXPECT_FALSE(urgent_.has_leaving()) << "the second chunk may be behind the big one";
  EXPECT_FALSE(urgent_.idle(flow_));
  EXPECT_EQ(urgent_.totals().waiting_bytes, 2 * FlowSender::kMostUrgentBytes + 1);
  ASSERT_TRUE(urgent_.acknowledge(frame(FrameKind::kAck, flow_, 2)));
  EXPECT_TRUE(urgent().empty());
  ASSERT_TRUE(urgent_.has_leaving());
  std::vector<MovingFlow> leaving = urgent_.take_leaving();
  ASSERT_EQ(leaving.size(), 1U);
  EXPECT_EQ(leaving[0].id, flow_);
  EXPECT_EQ(leaving[0].chunks, decltype(leaving[0].chunks){big});
  EXPECT_EQ(leaving[0].acknowledged, 2U);
  const std::vector<OutgoingFrame> closing = urgent();
  ASSERT_EQ(closing.size(), 1U);
  EXPECT_EQ(closing[0].frame.kind, FrameKind::kClose);

  const std::uint32_t adopted = sending_.adopt(std::move(leaving[0]), now_);
  const std::vector<OutgoingFrame> frames = all();
  ASSERT_EQ(frames.size(), 3U) << "its opening, the big chunk, and the one behind that";
  EXPECT_EQ(frames[0].frame.kind, FrameKind::kOpen);
  EXPECT_EQ(frames[1].chunk, big);
  EXPECT_EQ(frames[1].frame.number, 1U);
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, adopted, 2)));
  EXPECT_TRUE(sending_.idle(adopted));
}

TEST_F(UrgentSendingOf, AFlowWithManySmallChunksInASecondLeaves) {
  constexpr std::size_t kSize = 8192, kCount = FlowSender::kMostUrgentRate / kSize;
  for (int second = 0; second < 3; ++second, now_ += std::chrono::seconds(1)) {
    source_->add(kCount, kSize);
    EXPECT_EQ(urgent().size(), kCount);
    ASSERT_TRUE(urgent_.acknowledge(frame(FrameKind::kAck, flow_, kCount * static_cast<std::size_t>(second + 1))));
  }
  source_->add(kCount + 1, kSize);
  EXPECT_EQ(urgent().size(), kCount);
  ASSERT_TRUE(urgent_.acknowledge(frame(FrameKind::kAck, flow_, 4 * kCount)));
  urgent();
  EXPECT_TRUE(urgent_.has_leaving());
}

TEST_F(UrgentSendingOf, AFlowThatStaysSendsChunksOfAllSizes) {
  const std::uint32_t stays = urgent_.open("b", other_, TrafficClass::kUrgent);
  other_->add(2, 10 * FlowSender::kMostUrgentBytes);
  std::size_t parts = 0;
  for (const OutgoingFrame& each : urgent()) parts += each.frame.kind == FrameKind::kPart ? 1 : 0;
  EXPECT_EQ(parts, 2U);
  EXPECT_FALSE(urgent_.has_leaving());
  ASSERT_TRUE(urgent_.acknowledge(frame(FrameKind::kAck, stays, 2)));
  EXPECT_TRUE(urgent_.idle(stays));
}

TEST_F(UrgentSendingOf, AFlowThatIsClosedBeforeItLeavesIsGone) {
  source_->add(1, FlowSender::kMostUrgentBytes + 1);
  urgent();
  ASSERT_TRUE(urgent_.has_leaving());
  urgent_.close(flow_);
  EXPECT_TRUE(urgent_.take_leaving().empty());
}

TEST_F(UrgentSendingOf, AFlowWithoutAConnectionLeavesOverTheNextOne) {
  source_->add(1, 1000);
  source_->add(1, FlowSender::kMostUrgentBytes + 1);
  EXPECT_EQ(urgent().size(), 1U);
  urgent_.disconnected();
  urgent_.connected();
  urgent();
  ASSERT_TRUE(urgent_.resume(frame(FrameKind::kResume, flow_, 1)));
  urgent_.ready();
  ASSERT_TRUE(urgent_.acknowledge(frame(FrameKind::kAck, flow_, 1)));
  urgent();
  EXPECT_EQ(urgent_.take_leaving().size(), 1U);
}

TEST_F(UrgentSendingOf, ABulkFlowThatHasOnlySmallChunksForAWhileLeaves) {
  const std::uint32_t flow = sending_.open("b", other_);
  other_->add(1, FlowSender::kMostUrgentBytes + 1);
  all();
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, 1)));
  now_ += FlowSender::kCalm;
  other_->add(1, 1000);
  EXPECT_EQ(all().size(), 1U);
  EXPECT_FALSE(sending_.has_leaving());
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, flow, 2)));
  now_ += std::chrono::milliseconds(1);
  other_->add(1, 1000);
  EXPECT_TRUE(all().empty());
  EXPECT_EQ(sending_.take_leaving().size(), 1U);
}

TEST_F(UrgentSendingOf, AFlowThatMayNotLeaveSendsItsBigChunksHereUntilItMay) {
  source_->add(1, 1000);
  source_->add(2, FlowSender::kMostUrgentBytes + 1);
  EXPECT_EQ(urgent().size(), 1U) << "the second chunk waits for the acknowledgement of the first";
  urgent_.let_leave(false);
  const std::vector<OutgoingFrame> frames = urgent();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[1].frame.number, 3U);
  EXPECT_FALSE(urgent_.has_leaving());
  ASSERT_TRUE(urgent_.acknowledge(frame(FrameKind::kAck, flow_, 3)));
  EXPECT_EQ(urgent_.totals().waiting_bytes, 0U);
  urgent_.let_leave(true);
  source_->add(1, FlowSender::kMostUrgentBytes + 1);
  EXPECT_TRUE(urgent().empty());
  EXPECT_EQ(urgent_.take_leaving().size(), 1U);
}

TEST_F(UrgentSendingOf, AFlowThatWasAboutToLeaveAndMayNotAnyMoreStays) {
  source_->add(1, FlowSender::kMostUrgentBytes + 1);
  urgent();
  ASSERT_TRUE(urgent_.has_leaving());
  urgent_.let_leave(false);
  EXPECT_EQ(urgent().size(), 1U);
  EXPECT_TRUE(urgent_.take_leaving().empty());
}

TEST_F(UrgentSendingOf, AFlowOfTheOtherClassLeavesWithAnyChunk) {
  urgent_.open("b", other_, TrafficClass::kBulk);
  other_->add(1, 200);
  urgent();
  EXPECT_EQ(urgent_.take_leaving().size(), 1U);
}

TEST_F(UrgentSendingOf, AFlowThatContinuesSendsNothingUntilItIsKnownHowFarItHasCome) {
  const std::uint32_t bulk = sending_.open("b", other_);
  other_->add(4, FlowSender::kMostUrgentBytes + 1);
  all();
  ASSERT_TRUE(sending_.acknowledge(frame(FrameKind::kAck, bulk, 1)));
  sending_.disconnected();
  std::vector<MovingFlow> flows = sending_.take_all();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(sending_.flows(), 0U);
  EXPECT_EQ(flows[0].chunks.size(), 3U);
  urgent_.let_leave(false);
  const std::uint32_t flow = urgent_.adopt(std::move(flows[0]), now_);
  EXPECT_FALSE(urgent_.is_settled());
  EXPECT_EQ(urgent_.acknowledged(flow), 1U);
  for (int i = 0; i < 2; ++i) {
    const std::vector<OutgoingFrame> opened = urgent();
    const auto open =
        std::find_if(opened.begin(), opened.end(), [&](const auto& each) { return each.frame.flow == flow; });
    ASSERT_NE(open, opened.end());
    EXPECT_EQ(open->frame.kind, FrameKind::kOpen);
    EXPECT_EQ(open->frame.number, bulk);
    EXPECT_TRUE(urgent().empty());
    if (i == 1) break;
    urgent_.disconnected();  // the other side may not have got it
    urgent_.connected();
  }
  urgent_.ready();
  EXPECT_TRUE(urgent().empty());
  EXPECT_FALSE(urgent_.resume(frame(FrameKind::kResume, flow, 0))) << "the first chunk was acknowledged";
  ASSERT_TRUE(urgent_.resume(frame(FrameKind::kResume, flow, 2, 1000)));
  EXPECT_TRUE(urgent_.is_settled());
  EXPECT_FALSE(urgent_.resume(frame(FrameKind::kResume, flow, 2))) << "once";
  const std::vector<OutgoingFrame> frames = urgent();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].frame.number, 3U);
  EXPECT_EQ(frames[0].frame.offset, 1000U);
  EXPECT_EQ(frames[1].frame.number, 4U);
  ASSERT_TRUE(urgent_.acknowledge(frame(FrameKind::kAck, flow, 4)));
  EXPECT_TRUE(urgent_.idle(flow));
}

}  // namespace
}  // namespace baton::link::stream
