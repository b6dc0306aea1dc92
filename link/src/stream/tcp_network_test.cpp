// SPDX-License-Identifier: Apache-2.0
// Compiled twice: with BATON_LINK_TLS all connections are secured.
#include "frames.hpp"
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

/// Holds the thread that reads a message, until open().
class Gate final : public ChunkReceiver {
 public:
  ~Gate() override { open(); }
  std::unique_ptr<ArrivingChunk> begin(const Gid&, const memory::ChunkHeader&, std::size_t bytes,
                                       std::size_t) override {
    std::unique_lock<std::mutex> lock(mutex_);
    ++waiting;
    opened_.wait(lock, [&] { return open_; });
    return std::make_unique<Buffer>(bytes);
  }
  bool deliver(const Gid&, ArrivingChunk&) override { return true; }
  void open() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }
  std::atomic<int> waiting{0};

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// The far host does not read on within the big message, so a small one behind it on the same connection would not arrive.
TEST(TcpNetwork, ASmallMessageOvertakesABigOneThatHasNotArrived) {
  for (const bool calls : {true, false}) {
    Host a(1), b(2, {a.address()});
    Host &from = calls ? b : a, &to = calls ? a : b;
    const auto gate = std::make_shared<Gate>();
    const auto shelf = std::make_shared<Shelf>();
    const auto big = *to.network->open_receiver("big", gate), small = *to.network->open_receiver("small", shelf);
    ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
    const auto images = std::make_shared<Queue>(), commands = std::make_shared<Queue>();
    images->add(1, 3'000'000);
    const auto first = from.network->open_flow(to.id(), "big", images);
    const auto second = from.network->open_flow(to.id(), "small", commands);
    ASSERT_TRUE(wait_until([&] { return gate->waiting == 1; }));
    for (std::uint64_t i = 1; i <= 300; ++i) commands->add(i, 100);
    second->wake();
    EXPECT_TRUE(wait_until([&] { return shelf->numbers().size() == 300; }));
    EXPECT_EQ(shelf->numbers(), up_to(300));
    EXPECT_EQ(first->sent(), 0U);
    gate->open();
    EXPECT_TRUE(wait_until([&] { return first->idle() && second->idle(); }));
    EXPECT_EQ(from.network->hosts().at(0).sent_messages, 301U) << "of both connections";
  }
}

TEST(TcpNetwork, ATopicKeepsTheConnectionOfItsPriority) {
  Host a(1), b(2, {a.address()});
  const auto gate = std::make_shared<Gate>();
  const auto shelf = std::make_shared<Shelf>();
  const auto low = *a.network->open_receiver("low", gate), high = *a.network->open_receiver("high", shelf);
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const auto notes = std::make_shared<Queue>(), maps = std::make_shared<Queue>();
  notes->add(1, 10);
  const auto first = b.network->open_flow(a.id(), "low", notes, TopicPriority::kLow);
  const auto second = b.network->open_flow(a.id(), "high", maps, TopicPriority::kHigh);
  ASSERT_TRUE(wait_until([&] { return gate->waiting == 1; })) << "it holds the bulk connection";
  for (std::uint64_t i = 1; i <= 3; ++i) maps->add(i, 2'000'000);
  second->wake();
  EXPECT_TRUE(wait_until([&] { return shelf->numbers().size() == 3; }));
  EXPECT_FALSE(shelf->damaged);
  gate->open();
  EXPECT_TRUE(wait_until([&] { return first->idle() && second->idle(); }));
}

/// The marks (IP_TOS) of this process's sockets at a TCP port of the loopback device.
std::vector<int> marks_at(std::uint16_t port) {
  std::vector<int> out;
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_in own{}, other{};
    socklen_t size = sizeof own, other_size = sizeof other;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0 || own.sin_family != AF_INET) continue;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_size) != 0) continue;
    if (ntohs(own.sin_port) != port && ntohs(other.sin_port) != port) continue;
    int octet = -1;
    socklen_t octet_size = sizeof octet;
    EXPECT_EQ(::getsockopt(fd, IPPROTO_IP, IP_TOS, &octet, &octet_size), 0);
    out.push_back(octet);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(TcpNetwork, PacketsOfTheUrgentConnectionAreMarkedAndThoseOfTheBulkConnectionAreNot) {
  Host a(1), b(2, {a.address()});
  const auto shelf = std::make_shared<Shelf>();
  const auto receiver = *a.network->open_receiver("channel", shelf);
  ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
  const int marked = 32 << 2;  // CS4
  EXPECT_EQ(marks_at(a.options.port), (std::vector<int>{marked, marked}))
      << "both ends; no bulk connection without need";
  const auto source = std::make_shared<Queue>();
  source->add(1, 100'000);
  const auto flow = b.network->open_flow(a.id(), "channel", source);
  ASSERT_TRUE(wait_until([&] { return flow->idle(); }));
  EXPECT_EQ(marks_at(a.options.port), (std::vector<int>{0, 0, marked, marked}));
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

TEST(TcpNetwork, AHostThatIsStartedAgainIsAnotherOneAndTheFirstIsForgottenAtOnce) {
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

#ifndef BATON_LINK_TLS
/// A host in the hands of the test: takes the connections of a link, and says what the test wants.
class CalledHost {
 public:
  CalledHost() : listening_(listen_on_loopback(0)) {}
  ~CalledHost() { ::close(listening_); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_of(listening_)); }
  int accept() const { return ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC); }
  static stream::HostHello hear(int fd) {
    std::array<std::byte, stream::kHelloBytes> bytes{};
    EXPECT_EQ(::recv(fd, bytes.data(), bytes.size(), MSG_WAITALL), static_cast<ssize_t>(bytes.size()));
    const Result<stream::HostHello> out = stream::decode_hello(bytes.data());
    EXPECT_TRUE(out);
    return out ? *out : stream::HostHello();
  }
  static void say(int fd, std::uint64_t session) {
    stream::HostHello hello;
    hello.domain = kDomain;
    hello.host.fill(9);
    hello.name = "raw";
    hello.session = session;
    const auto bytes = stream::encode(hello);
    ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// The urgent connection of a session, over which the bulk connection is asked for.
  int take_urgent() const {
    const int fd = accept();
    hear(fd);
    say(fd, 5);
    EXPECT_NE(hear(fd).session, 0U);
    stream::HostFrame ready, bulk;
    ready.kind = stream::FrameKind::kReady;
    ready.number = 1;
    bulk.kind = stream::FrameKind::kBulk;
    for (const stream::HostFrame& each : {ready, bulk}) {
      const auto bytes = stream::encode(each);
      ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    return fd;
  }

 private:
  const int listening_;
};

TEST(TcpNetwork, AHostThatDoesNotAnswerTheCallForBulkHoldsUpNobodyWhenItIsForgotten) {
  const CalledHost raw;
  Host a(1, {raw.address()}, kDomain, [](HostNetworkOptions& options) { options.absence.time = 300ms; });
  const int urgent = raw.take_urgent();
  const int stranger = connect_to(a.options.port);  // is sent away after its time, which begins before that of the call
  const int bulk = raw.accept();
  EXPECT_EQ(CalledHost::hear(bulk).traffic_class, stream::TrafficClass::kBulk);
  ::close(urgent);
  pollfd ends[] = {{bulk, POLLIN, 0}, {stranger, POLLIN, 0}};
  ASSERT_GT(::poll(ends, 2, 60'000), 0);
  EXPECT_NE(ends[0].revents, 0) << "the session ends its call first";
  EXPECT_EQ(ends[1].revents, 0);
  EXPECT_TRUE(wait_until([&] { return a.ears->departures == 1; }));
  ::close(bulk);
  ::close(stranger);
}
#endif

TEST(TcpNetwork, AHostThatIsNotReachedIsForgottenWhenItsTimeIsUsedUp) {
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

TEST(TcpNetwork, AHostThatIsNotReachedIsForgottenWhenItsBytesAreUsedUp) {
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

TEST(TcpNetwork, AHostThatIsNotReachedShowsHowMuchOfItsBudgetIsUsed) {
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

TEST(TcpNetwork, ANetworkThatHasLostItsMemoryBeginsAnewUnderTheSameId) {
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

TEST(TcpNetwork, AStrangerThatSaysTheIdOfAHostBeforeItLocksItNotOut) {
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
TEST(TcpNetwork, AConnectionThatTheOtherHostHasLeftEndsNoFlow) {
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

TEST(TcpNetwork, AStrangerThatSaysTheIdOfAConnectedHostGetsNothingOfIt) {
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

TEST(TcpNetwork, HostsOfOneAddressAreBounded) {
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

TEST(TcpNetwork, AnAddressWithAllItsHostsLeavesRoomForANamedPeerAndForAHostThatIsStartedAgain) {
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
