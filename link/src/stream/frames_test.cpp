// SPDX-License-Identifier: Apache-2.0
#include "frames.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "baton/os/hexadecimal.hpp"

namespace baton::link::stream {
namespace {

std::string hex(const std::byte* bytes, std::size_t size) {
  return os::hexadecimal(reinterpret_cast<const std::uint8_t*>(bytes), size);
}

HostFrame part() {
  HostFrame frame;
  frame.kind = FrameKind::kPart;
  frame.flow = 0x01020304;
  frame.number = 7;
  frame.offset = 0x40000;
  frame.size = 0x1000;
  frame.total = 0x50000;
  return frame;
}

TEST(Frames, APartHasTheBytesOfTheFormat) {
  const auto bytes = encode(part());
  EXPECT_EQ(hex(bytes.data(), bytes.size()),
            "05000000"
            "04030201"
            "0700000000000000"
            "0000040000000000"
            "00100000"
            "00000500");
}

TEST(Frames, AHelloHasTheBytesOfTheFormat) {
  HostHello hello;
  hello.domain = 5;
  hello.host.fill(0xAB);
  hello.session = 0x1122334455667788;
  hello.port = 22705;
  hello.traffic_class = TrafficClass::kBulk;
  hello.name = "arm";
  const auto bytes = encode(hello);
  EXPECT_EQ(hex(bytes.data(), 56),
            "62746e6c696e6b0a"
            "05000000"
            "05000000"
            "abababababababababababababababab"
            "8877665544332211"
            "b158010000000000"
            "61726d0000000000");
  const Result<HostHello> read = decode_hello(bytes.data());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->domain, 5U);
  EXPECT_EQ(read->host, hello.host);
  EXPECT_EQ(read->session, hello.session);
  EXPECT_EQ(read->port, 22705);
  EXPECT_EQ(read->traffic_class, TrafficClass::kBulk);
  EXPECT_EQ(read->name, "arm");
}

TEST(Frames, AHelloOfAnUnknownClassIsRefused) {
  auto bytes = encode(HostHello{});
  bytes[42] = std::byte{2};
  EXPECT_EQ(decode_hello(bytes.data()).error().code, Errc::protocol_violation);
}

TEST(Frames, AHelloThatRefusesSaysWhyAndAReasonOfALaterVersionHasWords) {
  HostHello hello;
  hello.refusal = Refusal::kFullAddress;
  auto bytes = encode(hello);
  EXPECT_EQ(hex(bytes.data() + 40, 4), "00000003");
  EXPECT_EQ(decode_hello(bytes.data())->refusal, Refusal::kFullAddress);
  bytes[43] = std::byte{200};
  EXPECT_EQ(words_of(decode_hello(bytes.data())->refusal), std::string("it refuses this host; its log says why"));
}

TEST(Frames, ANameOfAnyBytesIsPrintable) {
  HostHello hello;
  hello.name = "a\nb\x1b[31m";
  hello.name += std::string(200, 'x');
  const Result<HostHello> read = decode_hello(encode(hello).data());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name.substr(0, 8), "a?b?[31m");
  EXPECT_EQ(read->name.size(), kMaxHelloName);
}

TEST(Frames, AHelloOfAnotherVersionSaysItsVersion) {
  HostHello hello;
  hello.version = 9;
  const Result<HostHello> read = decode_hello(encode(hello).data());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, 9U);
}

TEST(Frames, WhatIsNoHelloIsRefused) {
  std::array<std::byte, kHelloBytes> bytes{};
  EXPECT_EQ(decode_hello(bytes.data()).error().code, Errc::protocol_violation);
  std::memcpy(bytes.data(), "GET / HTTP/1.1\r\n", 16);
  EXPECT_EQ(decode_hello(bytes.data()).error().code, Errc::protocol_violation);
}

TEST(Frames, EveryFrameIsReadAsItWasWritten) {
  const Result<HostFrame> read = decode_frame(encode(part()).data());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, FrameKind::kPart);
  EXPECT_EQ(read->flow, part().flow);
  EXPECT_EQ(read->number, part().number);
  EXPECT_EQ(read->offset, part().offset);
  EXPECT_EQ(read->size, part().size);
  EXPECT_EQ(read->total, part().total);
}

TEST(Frames, PartsOutOfRangeAreRefused) {
  const auto refused = [](auto&& change) {
    HostFrame frame = part();
    change(frame);
    return !decode_frame(encode(frame).data());
  };
  EXPECT_FALSE(refused([](HostFrame&) {}));
  EXPECT_TRUE(refused([](HostFrame& f) { f.number = 0; }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.size = 0; }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.size = kPartBytes + 1; }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.offset = f.total; }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.offset = UINT64_MAX; }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.size = static_cast<std::uint32_t>(f.total - f.offset + 1); }));
  EXPECT_TRUE(refused([](HostFrame& f) {
    f.total = 100;
    f.offset = 0;
    f.size = 100;
  }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.total = 0xFFFFFFFF; }));
  EXPECT_TRUE(refused([](HostFrame& f) {
    f.offset = 0;
    f.size = 64;
  }));  // without its header
  EXPECT_TRUE(refused([](HostFrame& f) { f.offset = 64; }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.kind = static_cast<FrameKind>(9); }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.kind = static_cast<FrameKind>(0); }));
  EXPECT_TRUE(refused([](HostFrame& f) { f.kind = FrameKind::kAck; }));   // with bytes behind it
  EXPECT_TRUE(refused([](HostFrame& f) { f.kind = FrameKind::kOpen; }));  // a name of 4096 bytes
}

TEST(Frames, AFlowThatGoesOnHasANumberOfAFlowAndABulkConnectionAKey) {
  HostFrame open;
  open.kind = FrameKind::kOpen;
  open.size = 1;
  open.number = UINT32_MAX;
  EXPECT_TRUE(decode_frame(encode(open).data()));
  ++open.number;
  EXPECT_EQ(decode_frame(encode(open).data()).error().code, Errc::protocol_violation);
  HostFrame bulk;
  bulk.kind = FrameKind::kBulk;
  EXPECT_EQ(decode_frame(encode(bulk).data()).error().code, Errc::protocol_violation);
  bulk.number = UINT64_MAX;
  EXPECT_TRUE(decode_frame(encode(bulk).data()));
}

TEST(Frames, NoBytesAreReadAsAPartBeyondItsChunk) {
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    std::array<std::byte, kFrameBytes> bytes;
    for (std::byte& each : bytes) each = static_cast<std::byte>(random());
    bytes[0] = static_cast<std::byte>(random() % 10);
    if (i % 2 == 0) std::memset(&bytes[18], 0, 6);
    const Result<HostFrame> read = decode_frame(bytes.data());
    if (!read || read->kind != FrameKind::kPart) continue;
    ASSERT_LE(read->offset + read->size, read->total);
    ASSERT_LE(read->size, kPartBytes);
  }
}

}  // namespace
}  // namespace baton::link::stream
