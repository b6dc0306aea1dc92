// SPDX-License-Identifier: Apache-2.0
// The byte tables of docs/format/connection.md, and what a decoder must refuse.
#include "frames.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace baton::transport {
namespace {

AnnounceFrame announce() {
  AnnounceFrame frame;
  frame.gid = {1, 2, 3};
  frame.is_writer = true;
  frame.topic = "/image";
  frame.node = "camera";
  frame.type_name = "sensor_msgs/Image";
  frame.type_hash = {9, 8, 7};
  frame.skeleton_bytes = 64;
  frame.qos.keep_all(7).best_effort().transient_local().hold(3);
  frame.qos.deadline = std::chrono::milliseconds(5);
  frame.qos.liveliness = Liveliness::kManualByTopic;
  frame.ros_type_hash.version = 1;
  frame.ros_type_hash.value = {6, 5, 4};
  return frame;
}

/// The one announcement of a frame.
Result<AnnounceFrame> decode_announce(const Payload& bytes) {
  Result<std::vector<AnnounceFrame>> all = decode_announcements(bytes);
  if (!all) return all.error();
  EXPECT_EQ(all->size(), 1U);
  return std::move(all->front());
}

TEST(Frames, NamesOfAnotherProcessAreMadePrintable) {
  AnnounceFrame frame = announce();
  frame.topic = "/a\x1b[2J\xff";
  frame.node = "b\n";
  frame.type_name = std::string("c\0", 2);
  const Result<AnnounceFrame> got = decode_announce(encode(frame));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->topic, "/a?[2J?");
  EXPECT_EQ(got->node, "b?");
  EXPECT_EQ(got->type_name, "c?");
  const NodeName node = decode_node(encode(NodeName{"d\x9b", "/e\n"})).or_throw();
  EXPECT_EQ(node.name, "d?");
  EXPECT_EQ(node.enclave, "/e?");
}

TEST(Frames, AnnounceComesBackAsItWasSent) {
  const AnnounceFrame sent = announce();
  const Result<AnnounceFrame> got = decode_announce(encode(sent));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->gid, sent.gid);
  EXPECT_TRUE(got->is_writer);
  EXPECT_EQ(got->topic, "/image");
  EXPECT_EQ(got->node, "camera");
  EXPECT_EQ(got->type_name, "sensor_msgs/Image");
  EXPECT_EQ(got->type_hash, sent.type_hash);
  EXPECT_EQ(got->ros_type_hash, sent.ros_type_hash);
  EXPECT_EQ(got->skeleton_bytes, 64U);
  EXPECT_EQ(got->qos.history, History::kKeepAll);
  EXPECT_EQ(got->qos.reliability, Reliability::kBestEffort);
  EXPECT_EQ(got->qos.durability, Durability::kTransientLocal);
  EXPECT_EQ(got->qos.liveliness, Liveliness::kManualByTopic);
  EXPECT_EQ(got->qos.depth, 7U);
  EXPECT_EQ(got->qos.held, 3U);
  EXPECT_EQ(got->qos.deadline, std::chrono::milliseconds(5));
  EXPECT_EQ(got->qos.lifespan, kInfinite);
}

TEST(Frames, AnnouncementsSayTheKindOfTheEndpoint) {
  AnnounceFrame frame = announce();
  for (const auto& [is_writer, seldom, byte] : {std::tuple(false, false, 0), {true, false, 1}, {true, true, 2}}) {
    frame.is_writer = is_writer;
    frame.seldom = seldom;
    Payload bytes = encode(frame);
    EXPECT_EQ(bytes[16], byte);
    const AnnounceFrame got = decode_announce(bytes).or_throw();
    EXPECT_TRUE(got.is_writer == is_writer && got.seldom == seldom);
    bytes[16] = 3;
    EXPECT_FALSE(decode_announce(bytes).ok());
  }
}

TEST(Frames, AnnouncementsEndWithTheDocumentedBytes) {
  // The version and the value of ROS 2's hash; a type that does not come from ROS 2 has a zero byte.
  AnnounceFrame frame = announce();
  Payload bytes = encode(frame);
  Payload expected{1, 6, 5, 4};
  expected.resize(33, 0);
  EXPECT_EQ(Payload(bytes.end() - 33, bytes.end()), expected);
  frame.ros_type_hash = {};
  bytes.resize(bytes.size() - 33);
  bytes.push_back(0);
  EXPECT_EQ(encode(frame), bytes);
  EXPECT_EQ(encode(NodeName{"ab", "/c"}), (Payload{2, 0, 0, 0, 'a', 'b', 2, 0, 0, 0, '/', 'c'}));
  // A name or enclave that is too long is cut, and never sent.
  const NodeName longest{std::string(kMaxNameBytes + 1, 'n'), std::string(kMaxNameBytes + 1, 'e')};
  EXPECT_EQ(decode_node(encode(longest)).or_throw().enclave.size(), kMaxNameBytes);
  Payload too_long{0, 0, 0, 0, 1, 4, 0, 0};
  too_long.resize(too_long.size() + kMaxNameBytes + 1, 'e');
  EXPECT_FALSE(decode_node(too_long).ok());
}

TEST(Frames, PairFramesHaveTheDocumentedBytes) {
  PairFrame frame;
  frame.writer = {0x11};
  frame.reader = {0x22};
  Payload expected(32, 0);
  expected[0] = 0x11;
  expected[16] = 0x22;
  EXPECT_EQ(encode(frame), expected);
  AttachFrame attach;
  attach.writer = frame.writer;
  attach.reader = frame.reader;
  attach.connection_bytes = 0x1000;
  expected.insert(expected.end(), {0x00, 0x10, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(encode(attach), expected);
}

TEST(Frames, AFrameHasOneToSixtyFourAnnouncements) {
  Payload bytes;
  std::vector<std::size_t> ends{0};
  for (std::size_t count = 1; count <= kMostAnnouncements + 1; ++count) {
    AnnounceFrame frame = announce();
    frame.topic += std::to_string(count);
    const Payload one = encode(frame);
    bytes.insert(bytes.end(), one.begin(), one.end());
    ends.push_back(bytes.size());
    const Result<std::vector<AnnounceFrame>> got = decode_announcements(bytes);
    ASSERT_EQ(got.ok(), count <= kMostAnnouncements) << count;
    if (!got) continue;
    EXPECT_EQ(got->size(), count);
    EXPECT_EQ(got->back().topic, frame.topic);
  }
  for (std::size_t size = 0; size < ends[3]; ++size) {
    const Payload cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(decode_announcements(cut).ok(), size == ends[1] || size == ends[2]) << size;
  }
}

TEST(Frames, EveryTruncationAndEveryExtraByteIsRefused) {
  const auto refuses = [](const Payload& good, auto decode) {
    EXPECT_TRUE(decode(good).ok());
    for (std::size_t size = 0; size < good.size(); ++size) {
      const auto got = decode(Payload(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
      ASSERT_FALSE(got.ok()) << size;
      EXPECT_EQ(got.error().code, Errc::protocol_violation);
    }
    Payload longer = good;
    longer.push_back(0);
    EXPECT_FALSE(decode(longer).ok());
  };
  refuses(encode(announce()), decode_announcements);
  refuses(encode(PairFrame{}), decode_pair);
  refuses(encode(AttachFrame{}), decode_attach);
  refuses(encode(AttachedFrame{}), decode_attached);
  refuses(encode(RefusedFrame{}), decode_refused);
  refuses(encode(SegmentFrame{}), decode_segment);
  refuses(encode(DefinitionFrame{{}, "text"}), decode_definition);
  refuses(encode(AccountFrame{}), decode_account);
  HoldingsFrame holdings;
  holdings.holdings.resize(2);
  holdings.holdings[1].chunks.resize(3);
  refuses(encode(holdings), decode_holdings);
  refuses(encode_question(7), decode_question);
  refuses(encode_gid({}), decode_gid);
  refuses(encode(NodeName{"name", "/enclave"}), decode_node);
  AnnounceFrame not_of_ros = announce();
  not_of_ros.ros_type_hash = {};
  refuses(encode(not_of_ros), decode_announcements);
}

TEST(Frames, AbsurdValuesAreRefused) {
  const auto refused = [](const std::function<void(AnnounceFrame&)>& spoil) {
    AnnounceFrame frame = announce();
    spoil(frame);
    return !decode_announce(encode(frame)).ok();
  };
  EXPECT_FALSE(refused([](AnnounceFrame&) {}));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.topic.clear(); }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.topic.assign(kMaxNameBytes + 1, 'x'); }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.qos.depth = 0; }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.qos.depth = kMaxDepth + 1; }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.qos.held = 0; }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.qos.held = ~0U; }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.qos.deadline = std::chrono::nanoseconds(-1); }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.qos.history = static_cast<History>(2); }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.skeleton_bytes = ~0U; }));
  EXPECT_TRUE(refused([](AnnounceFrame& f) { f.ros_type_hash.version = kNewestRosHash + 1; }));
  SegmentFrame segment;
  segment.index = 0x10000;
  EXPECT_FALSE(decode_segment(encode(segment)).ok());
  Payload many = encode(HoldingsFrame{});
  many[36] = kMaxHoldings + 1;  // the number of readers
  EXPECT_FALSE(decode_holdings(many).ok());
  DefinitionFrame definition;
  definition.text.assign(kMaxDefinitionBytes, 'x');
  Payload longest = encode(definition);
  EXPECT_TRUE(decode_definition(longest).ok());
  longest.push_back('x');
  longest[16] += 1;  // its length, whose lowest byte is 0
  EXPECT_FALSE(decode_definition(longest).ok());
}

TEST(Frames, HoldingsHaveTheDocumentedBytes) {
  HoldingsFrame frame{0x0102, {}, {}};
  frame.writer = {0x11};
  Holding holding;
  holding.reader = {0x22};
  holding.slot_count = 0x1000;
  holding.shared = 0xEFE;
  holding.promised = 9;
  holding.standing = Holding::Standing::kLeft;
  holding.wished = 8;
  holding.granted = 5;
  holding.reason = "no";
  holding.unread = 3;
  holding.held = 4;
  holding.held_bytes = 0x0203;
  holding.chunks = {{7, 6, 5}};
  frame.holdings = {holding};
  Payload expected{2, 1, 0, 0, 0, 0, 0, 0, 0x11};
  expected.resize(24);
  expected.insert(expected.end(), {0, 0x10, 0, 0, 0xFE, 0x0E, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0x22});
  expected.resize(56);
  expected.insert(expected.end(), {1, 8, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 'n', 'o', 3, 0, 0, 0, 4, 0, 0, 0});
  expected.insert(expected.end(), {3, 2, 0, 0, 0, 0, 0, 0, 1});
  expected.insert(expected.end(), {7, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0});
  EXPECT_EQ(encode(frame), expected);
  Payload spoilt = expected;
  spoilt[56] = 3;  // no standing
  EXPECT_FALSE(decode_holdings(spoilt).ok());
}

TEST(Frames, LossesHaveTheDocumentedBytes) {
  LossesFrame frame{0x0102, {{Gid{0x22}, Losses{1, 2, 3, 4, 5, 6, 7, 8}}}};
  Payload expected{2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x22};
  expected.resize(28);
  for (std::uint8_t count = 1; count <= 8; ++count) expected.insert(expected.end(), {count, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(encode(frame), expected);
  const LossesFrame back = decode_losses(expected).or_throw();
  EXPECT_EQ(back.question, 0x0102U);
  ASSERT_EQ(back.losses.size(), 1U);
  EXPECT_EQ(back.losses[0].first, Gid{0x22});
  EXPECT_EQ(back.losses[0].second.total(), 1U + 2 + 3 + 4 + 5 + 6);
  EXPECT_EQ(back.losses[0].second.stamp, 8U);
  Payload spoilt = expected;
  spoilt.pop_back();
  EXPECT_FALSE(decode_losses(spoilt).ok());
  spoilt = expected;
  spoilt[8] = 2;
  EXPECT_FALSE(decode_losses(spoilt).ok());
  frame.losses.resize(kMaxLosses + 1);
  EXPECT_EQ(decode_losses(encode(frame)).or_throw().losses.size(), kMaxLosses);
  EXPECT_LE(encode(frame).size(), 32776U - 16U);
  spoilt = encode(frame);
  spoilt[9] = 0xFF;
  EXPECT_FALSE(decode_losses(spoilt).ok());
}

TEST(Frames, HoldingsComeBackAsTheyWereAndNeverMoreThanAFrameCanCarry) {
  HoldingsFrame frame{7, {}, {}};
  frame.writer[3] = 9;
  frame.holdings.resize(kMaxHoldings + 5);
  for (Holding& holding : frame.holdings) {
    holding.chunks.resize(Holding::kMostChunks + 1);
    holding.reason.assign(kMaxReasonBytes + 7, 'x');
    holding.slot_count = 4096;
    holding.shared = 3838;
    holding.promised = 11;
  }
  Holding& sent = frame.holdings[1];
  sent.reader = {1};
  sent.unread = 2;
  sent.held = 3;
  sent.chunks = {{4, 5, 6}};
  sent.standing = Holding::Standing::kRefused;
  sent.wished = 8;
  sent.granted = 7;
  sent.reason = "a\tb\xff";
  const Payload bytes = encode(frame);
  EXPECT_LE(bytes.size(), 32776U - 16U);
  const HoldingsFrame back = decode_holdings(bytes).or_throw();
  EXPECT_EQ(back.question, 7U);
  EXPECT_EQ(back.holdings.size(), kMaxHoldings);
  EXPECT_EQ(back.holdings[0].chunks.size(), Holding::kMostChunks);
  const Holding& holding = back.holdings[1];
  EXPECT_EQ(holding.writer, frame.writer);
  EXPECT_EQ(holding.reader[0], 1);
  EXPECT_EQ(holding.unread, 2U);
  EXPECT_EQ(holding.held, 3U);
  EXPECT_EQ(holding.standing, Holding::Standing::kRefused);
  EXPECT_EQ(holding.wished, 8U);
  EXPECT_EQ(holding.granted, 7U);
  EXPECT_EQ(holding.reason, "a?b?") << "another process's words are made printable";
  EXPECT_EQ(holding.slot_count, 4096U);
  EXPECT_EQ(holding.shared, 3838U);
  EXPECT_EQ(holding.promised, 11U);
  EXPECT_EQ(back.holdings[0].reason.size(), kMaxReasonBytes);
  ASSERT_EQ(holding.chunks.size(), 1U);
  EXPECT_EQ(holding.chunks[0].handle, 4U);
  EXPECT_EQ(holding.chunks[0].sequence, 5U);
  EXPECT_EQ(holding.chunks[0].size_bytes, 6U);
}

TEST(Qos, AnOfferMustBeAtLeastAsStrongAsTheRequest) {
  EXPECT_EQ(incompatibility(QoS(), QoS()), "");
  EXPECT_EQ(incompatibility(QoS(), QoS().best_effort()), "");
  EXPECT_EQ(incompatibility(QoS().best_effort(), QoS()), "reliability: offered best_effort, requested reliable");
  EXPECT_EQ(incompatibility(QoS().transient_local(), QoS()), "");
  EXPECT_EQ(incompatibility(QoS(), QoS().transient_local()), "durability: offered volatile, requested transient_local");
  QoS offered, requested;
  offered.deadline = std::chrono::milliseconds(2);
  EXPECT_EQ(incompatibility(offered, requested), "");
  EXPECT_EQ(incompatibility(requested, offered), "deadline: offered infinite, requested 2000000 ns");
  requested.liveliness = Liveliness::kManualByTopic;
  requested.lease = std::chrono::seconds(1);
  EXPECT_EQ(incompatibility(QoS(), requested),
            "liveliness: offered automatic, requested manual_by_topic; liveliness lease: offered infinite, requested "
            "1000000000 ns");
}

}  // namespace
}  // namespace baton::transport
