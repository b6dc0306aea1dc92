// SPDX-License-Identifier: Apache-2.0
// The protocol machine, byte by byte. The bytes here are those of docs/format/handshake.md.
#include "handshake.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include "wire.hpp"

namespace baton::transport {
namespace {

using Kind = LinkMachine::Step::Kind;
using Bytes = std::vector<std::uint8_t>;

ProcessId id_beginning_with(std::uint8_t first) {
  ProcessId id{};
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<std::uint8_t>(first + i);
  return id;
}

Hello example_hello() {
  Hello hello;
  hello.pid = 4711;
  hello.process_id = id_beginning_with(0x10);
  hello.name = "camera";
  hello.counts = {5, 3};
  return hello;
}

Bytes packet(std::uint16_t type, const Bytes& payload, std::uint8_t flags = 0, std::uint8_t fd_count = 0) {
  const auto header = encode_header({type, flags, fd_count, static_cast<std::uint32_t>(payload.size())});
  Bytes out(header.begin(), header.end());
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

LinkMachine::Step feed(LinkMachine& machine, const Bytes& bytes, std::size_t fds = 0) {
  std::vector<os::ReceivedFd> descriptors;
  for (std::size_t i = 0; i < fds; ++i)
    descriptors.emplace_back(os::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  return machine.on_packet(bytes.data(), bytes.size(), std::move(descriptors));
}

LinkMachine open_machine() {
  LinkMachine machine;
  EXPECT_EQ(feed(machine, encode_hello(example_hello())).kind, Kind::kHello);
  return machine;
}

TEST(Handshake, HelloIsExactlyTheBytesOfTheSpecification) {
  const Bytes expected{0x01, 0x00, 0x00, 0x00, 0x3A, 0x00, 0x00, 0x00,  // header: HELLO, 58 bytes
                       0x89, 'B',  'A',  'T',  'O',  'N',  '\r', '\n',  // magic
                       0x06, 0x00, 0x00, 0x00,                          // version, reserved
                       0x67, 0x12, 0x00, 0x00,                          // pid 4711
                       0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19,
                       0x1A, 0x1B, 0x1C, 0x1D, 0x1E, 0x1F,                         // process id
                       0x06, 0x00, 0x00, 0x00, 'c',  'a',  'm',  'e',  'r',  'a',  // name
                       0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,             // frames sent
                       0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};            // and received
  EXPECT_EQ(encode_hello(example_hello()), expected);
}

TEST(Handshake, ByeIsExactlyTheBytesOfTheSpecification) {
  const Bytes expected{0x02, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00,  // header: BYE, 8 bytes
                       0x05, 0x00, 0x02, 0x00, 0x00, 0x00, 'o',  'k'};  // stalled, "ok"
  EXPECT_EQ(encode_bye(Bye::kStalled, "ok"), expected);
}

TEST(Handshake, HelloRoundTrips) {
  LinkMachine machine = open_machine();
  EXPECT_TRUE(machine.has_hello());
  EXPECT_EQ(machine.peer().pid, 4711);
  EXPECT_EQ(machine.peer().name, "camera");
  EXPECT_EQ(machine.peer().process_id, id_beginning_with(0x10));
}

TEST(Handshake, ALongNameIsCutAndAnUnprintableOneIsMadeHarmless) {
  Hello hello = example_hello();
  hello.name = std::string(1000, 'x');
  LinkMachine machine;
  EXPECT_EQ(feed(machine, encode_hello(hello)).kind, Kind::kHello);
  EXPECT_EQ(machine.peer().name, std::string(kMaxProcessNameBytes, 'x'));

  hello.name = "a\033[2Jb\n";
  LinkMachine other;
  EXPECT_EQ(feed(other, encode_hello(hello)).kind, Kind::kHello);
  EXPECT_EQ(other.peer().name, "a?[2Jb?");
}

TEST(Handshake, AnotherVersionIsReportedWithTheNameOfItsProcessEvenIfItAppendsFields) {
  Hello hello = example_hello();
  hello.version = 7;
  Bytes bytes = encode_hello(hello);
  bytes.insert(bytes.end(), {1, 2, 3});
  bytes[4] = static_cast<std::uint8_t>(bytes[4] + 3);
  LinkMachine machine;
  const auto step = feed(machine, bytes);
  EXPECT_EQ(step.kind, Kind::kVersion);
  EXPECT_EQ(step.error.code, Errc::version_mismatch);
  EXPECT_EQ(machine.peer().version, 7);
  EXPECT_EQ(machine.peer().name, "camera");
  EXPECT_EQ(feed(machine, packet(0x100, {})).kind, Kind::kNothing) << "nothing is accepted afterwards";
}

TEST(Handshake, EveryTruncationOfHelloIsAViolation) {
  const Bytes whole = encode_hello(example_hello());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    LinkMachine machine;
    EXPECT_EQ(feed(machine, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))).kind,
              Kind::kViolation)
        << size;
    Bytes honest(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (size < kPacketHeaderBytes) continue;
    honest[4] = static_cast<std::uint8_t>(size - kPacketHeaderBytes);
    LinkMachine other;
    EXPECT_EQ(feed(other, honest).kind, Kind::kViolation) << size;
  }
}

TEST(Handshake, AByteBehindAHelloOfThisVersionIsAViolation) {
  Bytes bytes = encode_hello(example_hello());
  bytes.push_back(0);
  ++bytes[4];  // the payload's length
  LinkMachine machine;
  EXPECT_EQ(feed(machine, bytes).kind, Kind::kViolation);
}

TEST(Handshake, NothingButHelloAndByeMayComeFirst) {
  for (const std::uint16_t type :
       {std::uint16_t{0}, std::uint16_t{3}, std::uint16_t{0xFF}, kFirstUserFrame, std::uint16_t{0xFFFF}}) {
    LinkMachine machine;
    EXPECT_EQ(feed(machine, packet(type, {})).kind, Kind::kViolation) << type;
  }
  LinkMachine machine;
  const auto step = feed(machine, encode_bye(Bye::kNoDescriptors, "full"));
  EXPECT_EQ(step.kind, Kind::kBye);
  EXPECT_EQ(step.bye, Bye::kNoDescriptors);
  EXPECT_EQ(step.error.message, "full");
}

TEST(Handshake, ASecondHelloIsAViolation) {
  LinkMachine machine = open_machine();
  EXPECT_EQ(feed(machine, encode_hello(example_hello())).kind, Kind::kViolation);
}

TEST(Handshake, AFrameArrivesWithItsDescriptors) {
  LinkMachine machine = open_machine();
  auto step = feed(machine, packet(0x123, {1, 2, 3}, 0, 2), 2);
  ASSERT_EQ(step.kind, Kind::kFrame);
  EXPECT_EQ(step.frame.type, 0x123);
  EXPECT_EQ(step.frame.payload, (Bytes{1, 2, 3}));
  EXPECT_EQ(step.frame.fds.size(), 2U);
}

TEST(Handshake, AFrameInPartsIsJoined) {
  LinkMachine machine = open_machine();
  EXPECT_EQ(feed(machine, packet(0x123, {1, 2}, kMoreFollows, 1), 1).kind, Kind::kNothing);
  EXPECT_EQ(feed(machine, packet(0x123, {3}, kMoreFollows)).kind, Kind::kNothing);
  auto step = feed(machine, packet(0x123, {4}));
  ASSERT_EQ(step.kind, Kind::kFrame);
  EXPECT_EQ(step.frame.payload, (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(step.frame.fds.size(), 1U);
  auto next = feed(machine, packet(0x124, {}));
  ASSERT_EQ(next.kind, Kind::kFrame);
  EXPECT_TRUE(next.frame.payload.empty());
  EXPECT_TRUE(next.frame.fds.empty());
}

TEST(Handshake, AByeMayInterruptAFrameButNoOtherFrameMay) {
  LinkMachine machine = open_machine();
  EXPECT_EQ(feed(machine, packet(0x123, {1}, kMoreFollows)).kind, Kind::kNothing);
  EXPECT_EQ(feed(machine, encode_bye(Bye::kLeaving, "")).kind, Kind::kBye);
  LinkMachine other = open_machine();
  EXPECT_EQ(feed(other, packet(0x123, {1}, kMoreFollows)).kind, Kind::kNothing);
  EXPECT_EQ(feed(other, packet(0x124, {1})).kind, Kind::kViolation);
}

TEST(Handshake, AFrameCannotGrowBeyondItsBoundsNorBeSpunOutWithEmptyParts) {
  LinkMachine machine = open_machine();
  const Bytes part(kMaxPacketPayloadBytes, 7);
  for (std::size_t sent = 0; sent < kMaxPayloadBytes; sent += part.size()) {
    ASSERT_EQ(feed(machine, packet(0x123, part, kMoreFollows)).kind, Kind::kNothing);
  }
  EXPECT_EQ(feed(machine, packet(0x123, {1})).kind, Kind::kViolation);

  LinkMachine empty = open_machine();
  EXPECT_EQ(feed(empty, packet(0x123, {}, kMoreFollows)).kind, Kind::kViolation);

  LinkMachine descriptors = open_machine();
  EXPECT_EQ(feed(descriptors, packet(0x123, {1}, kMoreFollows, 3), 3).kind, Kind::kNothing);
  EXPECT_EQ(feed(descriptors, packet(0x123, {1}, 0, 2), 2).kind, Kind::kViolation);
}

TEST(Handshake, WrongCountsFlagsAndDescriptorsAreViolations) {
  Bytes wrong_size = packet(0x123, {1, 2, 3});
  wrong_size[4] = 4;
  LinkMachine a = open_machine();
  EXPECT_EQ(feed(a, wrong_size).kind, Kind::kViolation);
  LinkMachine b = open_machine();
  EXPECT_EQ(feed(b, packet(0x123, {}, 2)).kind, Kind::kViolation);
  LinkMachine c = open_machine();
  EXPECT_EQ(feed(c, packet(0x123, {}, 0, 1)).kind, Kind::kViolation);
  LinkMachine d = open_machine();
  EXPECT_EQ(feed(d, packet(0x123, {}, 0, 0), 1).kind, Kind::kViolation);
  LinkMachine e;
  EXPECT_EQ(feed(e, encode_hello(example_hello()), 1).kind, Kind::kViolation);
}

TEST(Handshake, UnknownReasonsToEndAreViolations) {
  for (const std::uint16_t reason : {std::uint16_t{0}, std::uint16_t{9}, std::uint16_t{999}}) {
    LinkMachine machine = open_machine();
    const Bytes payload = std::move(WireWriter().put(reason).put_string("")).take();
    EXPECT_EQ(feed(machine, packet(kByeFrame, payload)).kind, Kind::kViolation) << reason;
  }
}

TEST(Handshake, ParkKeepAndGoneHaveTheDocumentedBytes) {
  LinkMachine open = open_machine();
  const auto park = feed(open, {0x03, 0, 0, 0, 8, 0, 0, 0, 0x09, 0x01, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(park.kind, Kind::kPark);
  EXPECT_EQ(park.received, 0x109U);
  EXPECT_EQ(feed(open, {0x04, 0, 0, 0, 0, 0, 0, 0}).kind, Kind::kKeep);
  const ProcessId one = id_beginning_with(0x10), other = id_beginning_with(0x50);
  const Bytes gone = encode_gone({one, other});
  Bytes expected{0x05, 0, 0, 0, 32, 0, 0, 0};
  expected.insert(expected.end(), one.begin(), one.end());
  expected.insert(expected.end(), other.begin(), other.end());
  EXPECT_EQ(gone, expected);
  LinkMachine fresh;
  const auto step = feed(fresh, gone);
  EXPECT_EQ(step.kind, Kind::kGone);
  EXPECT_EQ(step.processes, (std::vector<ProcessId>{one, other}));
  EXPECT_EQ(feed(fresh, encode_hello(example_hello())).kind, Kind::kNothing) << "nothing follows GONE";
}

TEST(Handshake, ParkKeepAndGoneOfAWrongFormAreViolations) {
  for (const Bytes& wrong : {packet(kParkFrame, Bytes(7)), packet(kParkFrame, Bytes(9)), packet(kParkFrame, {}),
                             packet(kKeepFrame, Bytes(1)), packet(kGoneFrame, Bytes(16)), packet(6, {})}) {
    LinkMachine machine = open_machine();
    EXPECT_EQ(feed(machine, wrong).kind, Kind::kViolation);
  }
  for (const Bytes& wrong :
       {packet(kGoneFrame, {}), packet(kGoneFrame, Bytes(17)), packet(kGoneFrame, Bytes(16 * (kMaxGone + 1))),
        packet(kParkFrame, Bytes(8)), packet(kKeepFrame, {})}) {
    LinkMachine machine;
    EXPECT_EQ(feed(machine, wrong).kind, Kind::kViolation);
  }
  LinkMachine machine;
  EXPECT_EQ(feed(machine, packet(kGoneFrame, Bytes(16 * kMaxGone))).kind, Kind::kGone);
  LinkMachine busy = open_machine();
  EXPECT_EQ(feed(busy, packet(0x123, Bytes(1), kMoreFollows)).kind, Kind::kNothing);
  EXPECT_EQ(feed(busy, packet(kParkFrame, Bytes(8))).kind, Kind::kViolation) << "amid a frame";
}

TEST(Handshake, AByeOfAnotherVersionMayBeLonger) {
  LinkMachine machine = open_machine();
  Bytes payload = std::move(WireWriter().put(std::uint16_t{3}).put_string("version 9")).take();
  payload.insert(payload.end(), {1, 2, 3, 4});
  const auto step = feed(machine, packet(kByeFrame, payload));
  EXPECT_EQ(step.kind, Kind::kBye);
  EXPECT_EQ(step.error.message, "version 9");
}

// Both processes apply the rule to what they see; whatever the order in which the two HELLOs arrive, one connection stays.
TEST(Handshake, OfTwoCrossingConnectionsTheOneOfTheSmallerIdSurvivesOnBothSides) {
  const ProcessId small = id_beginning_with(1);
  const ProcessId large = id_beginning_with(2);
  EXPECT_EQ(judge_arrival(large, small, false, true), Arrival::kAcceptInsteadOfMine);
  EXPECT_EQ(judge_arrival(small, large, false, true), Arrival::kRefuse);
  // Mine never reached the other: it cannot survive, so the arrival must.
  EXPECT_EQ(judge_arrival(small, large, false, false), Arrival::kAccept);
  EXPECT_EQ(judge_arrival(large, small, false, false), Arrival::kAccept);
  EXPECT_EQ(judge_arrival(large, small, true, false), Arrival::kRefuse);
}

TEST(Wire, AReaderNeverReadsPastItsBytesAndRemembersTheFailure) {
  const Bytes bytes = std::move(WireWriter().put(std::uint16_t{0x1234}).put(std::int8_t{-1}).put_string("xyz")).take();
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    WireReader in(bytes.data(), size);
    const auto number = in.get<std::uint16_t>();
    const auto sign = in.get<std::int8_t>();
    const std::string text = in.get_string(3);
    EXPECT_EQ(in.done(), size == bytes.size());
    if (!in.ok()) {
      EXPECT_EQ(in.get<std::uint64_t>(), 0U);
      continue;
    }
    EXPECT_EQ(number, 0x1234);
    EXPECT_EQ(sign, -1);
    EXPECT_EQ(text, "xyz");
  }
  WireReader limited(bytes);
  limited.get<std::uint16_t>();
  limited.get<std::int8_t>();
  EXPECT_EQ(limited.get_string(2), "");
  EXPECT_FALSE(limited.ok());
}

}  // namespace
}  // namespace baton::transport
