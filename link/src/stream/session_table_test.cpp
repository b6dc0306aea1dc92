// SPDX-License-Identifier: Apache-2.0
// Compiled twice: with BATON_LINK_TLS all connections are secured.
#include "session_table.hpp"

#include "frames.hpp"
#include "host_network_test_support.hpp"

namespace baton::link {
namespace {

TEST(SessionTable, AHostThatIsStartedAgainIsAnotherOneAndTheFirstIsForgottenAtOnce) {
  Host a(1), b(2, {a.address()});
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  b.network.reset();
  b.options.host.fill(3);
  b.start();
  // Until it has noticed the end of the first one, it is connected to that one; and it forgets a host before it tells the listener.
  ASSERT_TRUE(wait_until([&] { return a.ears->departures == 1 && a.connected_to(1); }));
  ASSERT_EQ(a.network->hosts().size(), 1U);
  EXPECT_EQ(a.network->hosts()[0].id, b.id());
}

TEST(SessionTable, AHostThatIsNotReachedIsForgottenWhenItsTimeIsUsedUp) {
  Host a(1, {}, kDomain, [](HostNetworkOptions&options) { options.absence.time = 300ms; }), b(2, {a.address()});
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  b.network.reset();
  ASSERT_TRUE(wait_until([&] { return a.ears->departures == 1; }));
  EXPECT_TRUE(a.network->hosts().empty());
}

/// A queue whose owner says how much waits in it.
struct Backlog final : ChunkSource {
  NextChunk next(std::shared_ptr<const OutgoingChunk>&) override { return NextChunk::kNothing; }
  bool empty() const override { return bytes == 0; }
  std::size_t waiting_bytes() const override { return bytes; }
  std::atomic<std::size_t> bytes{0};
};

TEST(SessionTable, AHostThatIsNotReachedIsForgottenWhenItsBytesAreUsedUp) {
  Host a(1, {}, kDomain, [](HostNetworkOptions&options) { options.absence = {24h, 1'000'000}; }), b(2, {a.address()});
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const auto backlog = std::make_shared<Backlog>();
  const auto flow = a.network->open_flow(b.id(), "channel", backlog);
  backlog->bytes = 2'000'000;
  EXPECT_EQ(a.network->hosts().at(0).absence_percent, 0) << "it is connected";
  b.network.reset();
  ASSERT_TRUE(wait_until([&] { return a.ears->breaks == 1; }));
  ASSERT_TRUE(
      a.says("host 'host2', which is not reached, is forgotten: about 1 MiB wait for it; --absence-mib allows"));
  EXPECT_TRUE(wait_until([&] { return a.ears->departures == 1; }));
  EXPECT_TRUE(flow->ended());
}

TEST(SessionTable, AHostThatIsNotReachedShowsHowMuchOfItsBudgetIsUsed) {
  Host a(1, {}, kDomain, [](HostNetworkOptions&options) { options.absence = {24h, 1'000'000}; }), b(2, {a.address()});
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const auto backlog = std::make_shared<Backlog>();
  const auto flow = a.network->open_flow(b.id(), "channel", backlog);
  backlog->bytes = 430'000;
  b.network.reset();
  ASSERT_TRUE(wait_until([&] { return !a.network->hosts().at(0).connected; }));
  const HostState host = a.network->hosts().at(0);
  EXPECT_EQ(host.absence_percent, 43);
  EXPECT_GT(host.absent_since_ns, 0);
}

TEST(SessionTable, ANetworkThatHasLostItsMemoryBeginsAnewUnderTheSameId) {
  Host a(1), b(2, {a.address()});
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  b.network.reset();
  b.start();
  ASSERT_TRUE(wait_until([&] { return a.ears->departures == 1 && a.connected_to(1) && b.connected_to(1); }));
  const auto shelf = std::make_shared<Shelf>();
  const auto receiver = *b.network->open_receiver("channel", shelf);
  const auto source = std::make_shared<Queue>();
  const auto flow = a.network->open_flow(b.id(), "channel", source);
  ASSERT_TRUE(flow);
  source->add(1, 10);
  flow->wake();
  ASSERT_TRUE(wait_until([&] { return flow->idle(); }));
  EXPECT_EQ(shelf->numbers(), up_to(1));
}

#ifndef BATON_LINK_TLS
/// A program that says the hellos of a host and stays.
class RawHost {
 public:
  RawHost(std::uint16_t port, const Gid& id, std::uint64_t session, const std::string& name = "liar")
      : fd_(connect_to(port)) {
    stream::HostHello hello;
    hello.domain = kDomain;
    hello.host = id;
    hello.port = 9;
    hello.name = name;
    send(stream::encode(hello));
    std::array<std::byte, stream::kHelloBytes> answer;
    if (::recv(fd_, answer.data(), answer.size(), MSG_WAITALL) != static_cast<ssize_t>(answer.size())) return;
    hello.session = session;
    send(stream::encode(hello));
    stay();
  }
  ~RawHost() { ::close(fd_); }
  RawHost(const RawHost&) = delete;
  RawHost& operator=(const RawHost&) = delete;
  /// To be called within 3 s, again and again.
  void stay() const { send(stream::encode(stream::HostFrame{})); }
  template <class Packet>
  void send(const Packet& bytes) const {
    ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void send(stream::FrameKind kind, std::uint32_t flow, std::uint64_t number, const std::string& behind = {}) const {
    stream::HostFrame frame;
    frame.kind = kind;
    frame.flow = flow;
    frame.number = number;
    frame.size = frame.total = static_cast<std::uint32_t>(behind.size());
    send(stream::encode(frame));
    send(behind);
  }
  /// Reads until the other side ends the connection.
  bool is_ended() const {
    char bytes[256];
    ssize_t got = 0;
    while ((got = ::recv(fd_, bytes, sizeof bytes, 0)) > 0) continue;
    return got == 0 || errno == ECONNRESET;
  }

 private:
  const int fd_;
};

TEST(SessionTable, AStrangerThatSaysTheIdOfAHostBeforeItLocksItNotOut) {
  Host a(1);
  Gid id;
  id.fill(2);
  const RawHost stranger(a.options.port, id, 4711);
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1); }));
  Host b(2, {a.address()});
  ASSERT_TRUE(wait_until([&] {
    stranger.stay();
    return a.connected_to(2) && b.connected_to(1);
  }));
  EXPECT_TRUE(a.says("says the id of host 'liar'"));
  const auto shelf = std::make_shared<Shelf>(), back = std::make_shared<Shelf>();
  const auto receiver = *a.network->open_receiver("channel", shelf), answers = *b.network->open_receiver("back", back);
  const auto source = std::make_shared<Queue>(), other = std::make_shared<Queue>();
  const auto flow = b.network->open_flow(a.id(), "channel", source);
  Gid key{};
  for (const HostState& host : a.network->hosts())
    if (host.name == "host2") key = host.id;
  EXPECT_NE(key, id) << "the first that said it has it here";
  const auto backwards = a.network->open_flow(key, "back", other);
  ASSERT_TRUE(flow && backwards);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    source->add(i, 100);
    other->add(i, 100);
  }
  flow->wake();
  backwards->wake();
  ASSERT_TRUE(wait_until([&] {
    stranger.stay();
    return flow->idle() && backwards->idle();
  }));
  EXPECT_EQ(shelf->numbers(), up_to(100));
  EXPECT_EQ(back->numbers(), up_to(100));
}

// A host that had several connections at once used them in another order: its frames over one that it has left come late.
TEST(SessionTable, AConnectionThatTheOtherHostHasLeftEndsNoFlow) {
  Host a(1);
  const auto shelf = std::make_shared<Shelf>();
  const auto receiver = *a.network->open_receiver("channel", shelf);
  Gid id;
  id.fill(2);
  const auto chunk = [](std::uint64_t number) {
    const Bytes bytes(number, 100);
    return std::string(reinterpret_cast<const char*>(bytes.bytes), bytes.size_bytes);
  };
  const auto use = [&](const RawHost& connection, std::uint64_t number) {
    connection.send(stream::FrameKind::kOpen, 1, 0, "channel");
    connection.send(stream::FrameKind::kReady, 0, number);
  };
  const RawHost second(a.options.port, id, 4711);
  use(second, 2);
  second.send(stream::FrameKind::kPart, 1, 1, chunk(1));
  ASSERT_TRUE(wait_until([&] { return shelf->numbers().size() == 1; }));
  {
    const RawHost first(a.options.port, id, 4711);
    first.send(stream::FrameKind::kResume, 7, 100);
    first.send(stream::FrameKind::kReady, 0, 1);
    EXPECT_TRUE(first.is_ended());
  }
  const RawHost third(a.options.port, id, 4711);
  use(third, 3);
  third.send(stream::FrameKind::kPart, 1, 2, chunk(2));
  EXPECT_TRUE(wait_until([&] { return shelf->numbers().size() == 2; }));
  EXPECT_EQ(shelf->numbers(), up_to(2));
  const std::lock_guard<std::mutex> lock(a.mutex);
  EXPECT_EQ(a.said, "") << "it is no violation";
}

TEST(SessionTable, AStrangerThatSaysTheIdOfAConnectedHostGetsNothingOfIt) {
  Host a(1), b(2, {a.address()});
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  for (std::uint64_t session = 1; session <= 3; ++session) {
    const RawHost stranger(a.options.port, b.id(), session, "host2");
    EXPECT_TRUE(a.says("at 127.0.0.1 says the id of host 'host2'"));
    stranger.stay();
    EXPECT_TRUE(b.connected_to(1));
  }
  EXPECT_EQ(b.ears->breaks, 0);
  EXPECT_EQ(b.ears->departures, 0);
}

TEST(SessionTable, HostsOfOneAddressAreBounded) {
  constexpr std::size_t kMost = 16;
  Host a(1);
  std::vector<std::unique_ptr<RawHost>> strangers;
  const auto stay = [&] {
    for (const auto& each : strangers) each->stay();
  };
  for (std::uint8_t i = 0; i < kMost; ++i) {
    Gid id;
    id.fill(static_cast<std::uint8_t>(100 + i));
    strangers.push_back(std::make_unique<RawHost>(a.options.port, id, 1));
  }
  ASSERT_TRUE(wait_until([&] {
    stay();
    return a.connected_to(kMost);
  }));
  Gid id;
  id.fill(99);
  const RawHost one_more(a.options.port, id, 1);
  EXPECT_TRUE(a.says("host 'liar' is left out: there are 16 hosts of its address already"));
  EXPECT_EQ(a.network->hosts().size(), kMost);
  EXPECT_EQ(a.network->refused().at(0).name, "liar");
}

TEST(SessionTable, AnAddressWithAllItsHostsLeavesRoomForANamedPeerAndForAHostThatIsStartedAgain) {
  constexpr std::size_t kMost = 16;
  const std::uint16_t port = free_port();
  Host a(1, {"127.0.0.1:" + std::to_string(port)});
  std::vector<std::unique_ptr<RawHost>> strangers;
  const auto stay = [&] {
    for (const auto& each : strangers) each->stay();
  };
  const auto add = [&](std::uint8_t number, const std::string& name) {
    Gid id;
    id.fill(number);
    strangers.push_back(std::make_unique<RawHost>(a.options.port, id, 1, name));
  };
  for (std::uint8_t i = 0; i < kMost; ++i) add(static_cast<std::uint8_t>(100 + i), "host" + std::to_string(100 + i));
  ASSERT_TRUE(wait_until([&] {
    stay();
    return a.connected_to(kMost);
  }));
  strangers.erase(strangers.begin());
  ASSERT_TRUE(wait_until([&] {
    stay();
    return a.connected_to(kMost - 1);
  }));
  add(99, "host100");
  ASSERT_TRUE(wait_until([&] {
    stay();
    return a.connected_to(kMost);
  }));
  EXPECT_EQ(a.network->hosts().size(), kMost) << "it has taken the place of what it was before";
  EXPECT_TRUE(a.network->refused().empty());
  Host named(2);
  named.network.reset();
  named.options.port = port;
  named.start();
  EXPECT_TRUE(wait_until([&] {
    stay();
    return a.connected_to(kMost + 1) && named.connected_to(1);
  }));
}
#endif

}  // namespace
}  // namespace baton::link
