// SPDX-License-Identifier: Apache-2.0
// Compiled twice: with BATON_LINK_TLS all connections are secured.
#include "host_network_test_support.hpp"

namespace baton::link {
namespace {

TEST(TcpNetwork, ChunksOfAllSizesArriveOnceInOrderAndWhole) {
  Host a(1), b(2, {a.address()});
  const auto shelf = std::make_shared<Shelf>();
  const auto receiver = *a.network->open_receiver("channel", shelf);
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const auto source = std::make_shared<Queue>();
  const auto flow = b.network->open_flow(a.id(), "channel", source);
  ASSERT_TRUE(flow);
  std::uint64_t number = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{5000},
                                 std::size_t{262016}, std::size_t{262017}, std::size_t{6'000'000}}) {
    for (int i = 0; i < (size > 1'000'000 ? 4 : 20); ++i) source->add(++number, size);
  }
  flow->wake();
  ASSERT_TRUE(wait_until([&] { return flow->idle(); }));
  EXPECT_EQ(shelf->numbers(), up_to(number));
  EXPECT_FALSE(shelf->damaged);
  EXPECT_EQ(flow->sent(), number);
  const HostState far = b.network->hosts().at(0), near = a.network->hosts().at(0);
  EXPECT_EQ(far.name, "host1");
  EXPECT_EQ(far.address, "127.0.0.1");
#ifdef BATON_LINK_TLS
  EXPECT_TRUE(far.encrypted && near.encrypted);
#else
  EXPECT_FALSE(far.encrypted || near.encrypted);
#endif
  EXPECT_EQ(far.sent_messages, number);
  EXPECT_EQ(far.waiting_bytes, 0U);
  EXPECT_GT(far.round_trip_ns, 0);
  EXPECT_GT(near.round_trip_ns, 0);
  EXPECT_EQ(near.received_messages, number);
  EXPECT_EQ(near.received_bytes, far.sent_bytes);
}

TEST(TcpNetwork, AReceiverThatIsGivenAtTheStartMissesNothingOfTheFirstConnection) {
  const std::uint16_t port = free_port();
  Host a(1, {"127.0.0.1:" + std::to_string(port)});  // calls already
  Host b(2);
  b.network.reset();
  b.options.port = port;
  const auto shelf = std::make_shared<Shelf>();
  Result<std::unique_ptr<HostNetwork>> made = make_host_network(b.options, b.ears, {{"words", shelf}});
  ASSERT_TRUE(made) << made.error().message;
  b.network = std::move(*made);
  EXPECT_FALSE(b.network->open_receiver("words", shelf));
  const auto source = std::make_shared<Queue>();
  source->add(1, 100);
  std::unique_ptr<Flow> flow;
  ASSERT_TRUE(wait_until([&] {
    flow = a.network->open_flow(b.id(), "words", source);
    return flow != nullptr;
  }));
  ASSERT_TRUE(wait_until([&] { return flow->idle(); }));
  EXPECT_EQ(shelf->numbers(), up_to(1));
}

TEST(TcpNetwork, HostsThatCallEachOtherHaveOneConnection) {
  const std::uint16_t port = free_port();
  Host a(1, {"127.0.0.1:" + std::to_string(port)});
  Host b(2, {a.address(), a.address()}, kDomain, [&](HostNetworkOptions& options) { options.port = port; });
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const auto shelf = std::make_shared<Shelf>();
  const auto receiver = *a.network->open_receiver("channel", shelf);
  const auto source = std::make_shared<Queue>();
  std::unique_ptr<Flow> flow;
  ASSERT_TRUE(wait_until([&] {
    flow = b.network->open_flow(a.id(), "channel", source);
    return flow != nullptr;
  }));
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    source->add(i, 100);
    flow->wake();
    if (i % 10 == 0) std::this_thread::sleep_for(20ms);  // 2 s: time for all calls
  }
  ASSERT_TRUE(wait_until([&] { return flow->idle(); }));
  EXPECT_EQ(shelf->numbers(), up_to(1000));
}

TEST(TcpNetwork, NothingIsLostOrDoubledOverALineThatIsCutAgainAndAgain) {
  Host a(1);
  Line line(a.options.port);
  Host b(2, {"127.0.0.1:" + std::to_string(line.port())});
  const auto shelf = std::make_shared<Shelf>(), back = std::make_shared<Shelf>();
  const auto receiver = *a.network->open_receiver("channel", shelf);
  const auto answers = *b.network->open_receiver("back", back);
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  line.cut_each(5'000'000, 8);  // before the first chunk: a flow begins when it is open
  const auto source = std::make_shared<Queue>(), other = std::make_shared<Queue>();
  const auto flow = b.network->open_flow(a.id(), "channel", source);
  const auto backwards = a.network->open_flow(b.id(), "back", other);
  constexpr std::uint64_t kCount = 400;
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    source->add(i, i % 10 == 0 ? 2'000'000 : 100);
    other->add(i, 1000);
  }
  flow->wake();
  backwards->wake();
  ASSERT_TRUE(wait_until([&] { return flow->idle() && backwards->idle(); }));
  EXPECT_EQ(shelf->numbers(), up_to(kCount));
  EXPECT_EQ(back->numbers(), up_to(kCount));
  EXPECT_FALSE(shelf->damaged);
  EXPECT_EQ(line.cuts_left(), 0);
  EXPECT_EQ(a.ears->joins, 1);
  EXPECT_EQ(a.ears->departures, 0);
}

TEST(TcpNetwork, AReceiverWithoutRoomHoldsUpItsOwnFlowOnly) {
  Host a(1), b(2, {a.address()});
  const auto full = std::make_shared<Shelf>(), shelf = std::make_shared<Shelf>();
  full->full = true;
  const auto one = *a.network->open_receiver("full", full), two = *a.network->open_receiver("free", shelf);
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const auto stuck = std::make_shared<Queue>(), source = std::make_shared<Queue>();
  const auto first = b.network->open_flow(a.id(), "full", stuck);
  const auto second = b.network->open_flow(a.id(), "free", source);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    stuck->add(i, 100);
    source->add(i, 100);
  }
  first->wake();
  second->wake();
  ASSERT_TRUE(wait_until([&] { return second->idle(); }));
  EXPECT_EQ(shelf->numbers(), up_to(1000));
  EXPECT_FALSE(stuck->empty()) << "what is under way is bounded";
  EXPECT_EQ(first->sent(), 0U);
  full->full = false;
  ASSERT_TRUE(wait_until([&] { return first->idle(); }));
  EXPECT_EQ(full->numbers(), up_to(1000));
}

TEST(TcpNetwork, StrangersDoNotDisturbHosts) {
  Host a(1);
  std::vector<int> held;
  for (int i = 0; i < 100; ++i) {
    const int fd = connect_to(a.options.port);
    ASSERT_GE(fd, 0);
    const std::string bytes = i % 3 == 0 ? std::string(4000, '\xff') : i % 3 == 1 ? std::string("btnlink\n") : "";
    ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    held.push_back(fd);
  }
  Host b(2, {a.address()});
  EXPECT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
#ifdef BATON_LINK_TLS
  EXPECT_TRUE(a.says("it speaks no TLS"));
#else
  EXPECT_TRUE(a.says("its first bytes are no hello"));
#endif
  EXPECT_EQ(a.network->hosts().size(), 1U);
  for (const int fd : held) ::close(fd);
}

TEST(TcpNetwork, AnotherDomainIsRefusedInWordsOnBothSides) {
  Host a(1), b(2, {a.address()}, kDomain + 1);
  EXPECT_TRUE(a.says("it is the link of domain 78, this one of domain 77"));
  EXPECT_TRUE(b.says("it is the link of domain 77, this one of domain 78"));
  EXPECT_TRUE(a.network->hosts().empty());
  ASSERT_TRUE(wait_until([&] { return !a.network->refused().empty() && !b.network->refused().empty(); }));
  const RefusedState refused = a.network->refused()[0];
  EXPECT_EQ(refused.address, "127.0.0.1");
  EXPECT_EQ(refused.name, "host2");
  EXPECT_NE(refused.why.find("it is the link of domain 78"), std::string::npos) << refused.why;
  EXPECT_GT(refused.times, 0U);
  EXPECT_GT(refused.last_ns, 0);
  EXPECT_NE(b.network->refused()[0].why.find("it is the link of domain 77"), std::string::npos);
}

TEST(TcpNetwork, AHostThatIsConnectedIsNotAmongTheRefusedOnesAnyMore) {
  Host a(1);
  {
    const Host other(2, {a.address()}, kDomain + 1);
    ASSERT_TRUE(wait_until([&] { return !a.network->refused().empty(); }));
  }
  Host b(3, {a.address()});
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  EXPECT_TRUE(wait_until([&] { return a.network->refused().empty(); }));
}

TEST(TcpNetwork, AHostThatEndsIsNotRefused) {
  Host a(1);
  Line line(a.options.port);
  Host b(2, {"127.0.0.1:" + std::to_string(line.port())});
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  a.network.reset();
  ASSERT_TRUE(wait_until([&] { return !b.connected_to(1); }));
  EXPECT_TRUE(b.network->refused().empty());
}

TEST(TcpNetwork, AnAddressOfItsOwnAmongThePeersIsNoOtherHost) {
  const std::uint16_t port = free_port();
  Host a(1, {"127.0.0.1:" + std::to_string(port)});
  a.network.reset();
  a.options.port = port;
  a.start();
  std::this_thread::sleep_for(300ms);
  EXPECT_TRUE(a.network->hosts().empty());
}

TEST(TcpNetwork, APortInUseIsAnErrorThatNamesIt) {
  Host a(1);
  const auto second = make_host_network(a.options, a.ears);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::already_exists);
  EXPECT_NE(second.error().message.find(std::to_string(a.options.port)), std::string::npos);
}

TEST(TcpNetwork, PeersAndInterfacesThatAreNoneAreErrorsThatNameThem) {
  HostNetworkOptions options;
  options.port = free_port();
  for (const char* const peer : {"", "a b", "host:", "host:0", "host:70000", "host:1x", "[::1", "[::1]x"}) {
    options.peers = {peer};
    const auto made = make_host_network(options, std::make_shared<Ears>());
    ASSERT_FALSE(made) << peer;
    EXPECT_EQ(made.error().code, Errc::invalid_argument);
    EXPECT_NE(made.error().message.find("'" + std::string(peer) + "'"), std::string::npos);
  }
  options.peers = {};
  options.interface = "nonet0";
  const auto made = make_host_network(options, std::make_shared<Ears>());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("nonet0"), std::string::npos);
}

TEST(TcpNetwork, APeerThatIsNotThereIsSaidAndTriedAgain) {
  const std::uint16_t port = free_port();
  Host a(1, {"127.0.0.1:" + std::to_string(port)});
  EXPECT_TRUE(a.says("trying again"));
  ASSERT_TRUE(wait_until([&] { return a.network->peers().size() == 1; }));
  const PeerState peer = a.network->peers()[0];
  EXPECT_EQ(peer.peer, a.options.peers[0]);
  EXPECT_GT(peer.since_ns, 0);
  EXPECT_NE(peer.why.find("refused"), std::string::npos) << peer.why;
  Host b(2);
  b.network.reset();
  b.options.port = port;
  b.start();
  EXPECT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  EXPECT_TRUE(a.network->peers().empty());
}

TEST(TcpNetwork, APeerOfAnotherDomainIsNotReachedAndThisHostIsNoPeerOfItsOwn) {
  Host a(1), other(2, {a.address()}, kDomain + 1);
  ASSERT_TRUE(wait_until([&] { return other.network->peers().size() == 1; }));
  EXPECT_NE(other.network->peers()[0].why.find("give both the same --domain"), std::string::npos);
  Host self(3, {"127.0.0.1:" + std::to_string(free_port())});
  self.network.reset();
  self.options.peers = {self.address()};
  self.start();
  std::this_thread::sleep_for(300ms);
  EXPECT_TRUE(self.network->peers().empty());
  EXPECT_EQ(self.said.find("no link"), std::string::npos) << self.said;
}

}  // namespace
}  // namespace baton::link
