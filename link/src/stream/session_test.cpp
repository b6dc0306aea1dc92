// SPDX-License-Identifier: Apache-2.0
// Compiled twice: with BATON_LINK_TLS all connections are secured.
#include "session.hpp"

#include <functional>
#include <map>

#include "frames.hpp"
#include "host_network_test_support.hpp"

namespace baton::link {
namespace {

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
/// A loaded machine may take long for the bulk connection, and these tests are about messages that go over it.
void patient(HostNetworkOptions& options) { options.patience = std::chrono::seconds(20); }

TEST(Session, ASmallMessageOvertakesABigOneThatHasNotArrived) {
  for (const bool calls : {true, false}) {
    Host a(1, {}, kDomain, patient), b(2, {a.address()}, kDomain, patient);
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

TEST(Session, ATopicKeepsTheConnectionOfItsPriority) {
  Host a(1, {}, kDomain, patient), b(2, {a.address()}, kDomain, patient);
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

TEST(Session, PacketsOfTheUrgentConnectionAreMarkedAndThoseOfTheBulkConnectionAreNot) {
  Host a(1, {}, kDomain, patient), b(2, {a.address()}, kDomain, patient);
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

/// Keeps the order in which the messages of several receivers arrive.
class Order {
 public:
  class Receiver final : public ChunkReceiver {
   public:
    Receiver(Order& order, char name) : order_(order), name_(name) {}
    std::unique_ptr<ArrivingChunk> begin(const Gid&, const memory::ChunkHeader&, std::size_t bytes,
                                         std::size_t) override {
      return std::make_unique<Buffer>(bytes);
    }
    bool deliver(const Gid&, ArrivingChunk& arriving) override {
      if (at_first && std::exchange(first_, false)) at_first();
      const std::lock_guard<std::mutex> lock(order_.mutex_);
      order_.all_ += name_;
      order_.numbers_[name_].push_back(arriving.header.sequence);
      return true;
    }
    std::function<void()> at_first;

   private:
    Order& order_;
    const char name_;
    bool first_ = true;
  };
  std::vector<std::uint64_t> of(char name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return numbers_[name];
  }
  std::string all() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::string all_;
  std::map<char, std::vector<std::uint64_t>> numbers_;
};

/// Two hosts with a line between them, and two topics from one to the other, of which one is big.
class TwoTopics {
 public:
  /// `calls`: the host that sends is the one that calls. `connections`: that the line carries.
  explicit TwoTopics(bool calls, std::size_t connections = SIZE_MAX, TopicPriority of_big = TopicPriority::kBySize,
                     std::chrono::milliseconds patience = 1s)
      : patience_(patience), calls_(calls), priority_(of_big) {
    line.carry(connections);
  }
  void start() {
    big_receiver = *to().network->open_receiver("big", big);
    small_receiver = *to().network->open_receiver("small", small);
    ASSERT_TRUE(wait_until([&] { return a.connected_to(1) && b.connected_to(1); }));
    big_flow = from().network->open_flow(to().id(), "big", images, priority_);
    small_flow = from().network->open_flow(to().id(), "small", commands);
    ASSERT_TRUE(big_flow && small_flow);
  }
  Host& from() { return calls_ ? b : a; }
  Host& to() { return calls_ ? a : b; }
  void send_big(std::uint64_t first, std::uint64_t last, std::size_t size) {
    for (std::uint64_t i = first; i <= last; ++i) images->add(i, size);
    big_flow->wake();
  }
  bool all_arrive() {
    return wait_until([&] { return big_flow->idle() && small_flow->idle(); });
  }

  const std::chrono::milliseconds patience_;
  std::function<void(HostNetworkOptions&)> patient_ = [this](HostNetworkOptions& options) {
    options.patience = patience_;
  };
  Host a{1, {}, kDomain, patient_};
  Line line{a.options.port};
  Host b{2, {"127.0.0.1:" + std::to_string(line.port())}, kDomain, patient_};
  Order order;
  std::shared_ptr<Order::Receiver> big = std::make_shared<Order::Receiver>(order, 'B'),
                                   small = std::make_shared<Order::Receiver>(order, 's');
  std::shared_ptr<Queue> images = std::make_shared<Queue>(), commands = std::make_shared<Queue>();
  std::shared_ptr<void> big_receiver, small_receiver;
  std::unique_ptr<Flow> big_flow, small_flow;

 private:
  const bool calls_;
  const TopicPriority priority_;
};

TEST(Session, ALineWithOneConnectionCarriesBigMessagesAndSmallOnesOvertakeThem) {
  TwoTopics topics(true, 1);
  topics.big->at_first = [&] {  // so many of the big ones are not sent yet
    for (std::uint64_t i = 1; i <= 20; ++i) topics.commands->add(i, 100);
    topics.small_flow->wake();
  };
  topics.start();
  topics.send_big(1, 40, 3'000'000);
  ASSERT_TRUE(topics.all_arrive());
  EXPECT_EQ(topics.order.of('B'), up_to(40));
  EXPECT_EQ(topics.order.of('s'), up_to(20));
  const std::string behind = topics.order.all().substr(topics.order.all().rfind('s'));
  EXPECT_GT(behind.size(), 10U) << topics.order.all();
  EXPECT_EQ(topics.big_flow->sent(), 40U);
  // Both sides say it, and show it.
  EXPECT_TRUE(topics.b.says("host 'host1' has only one of its two connections, so small messages wait for big ones: "));
  EXPECT_TRUE(
      topics.a.says("host 'host2' has only one of its two connections, so small messages wait for big ones: the "
                    "other host, which has made the first connection, does not make the second"));
  const HostState state = topics.b.network->hosts().at(0);
  EXPECT_GT(state.bulk_missing_since_ns, 0);
  EXPECT_NE(state.bulk_missing_why, "");
}

TEST(Session, ATopicOfLowPriorityTravelsOverALineWithOneConnection) {
  TwoTopics topics(false, 1, TopicPriority::kLow);
  topics.start();
  topics.send_big(1, 3, 100);
  EXPECT_TRUE(topics.all_arrive());
  EXPECT_EQ(topics.order.of('B'), up_to(3));
}

TEST(Session, ABulkConnectionThatEndsEachTimeBeforeItIsReadyHoldsNothingUp) {
  TwoTopics topics(true);
  topics.line.carry_beside(100);  // less than a hello
  topics.start();
  topics.send_big(1, 3, 1'000'000);
  ASSERT_TRUE(topics.all_arrive());
  EXPECT_EQ(topics.order.of('B'), up_to(3));
  EXPECT_TRUE(topics.b.says("has only one of its two connections"));
}

TEST(Session, ABulkConnectionThatBreaksForGoodLosesNothing) {
  for (const bool calls : {true, false}) {
    TwoTopics topics(calls, SIZE_MAX, TopicPriority::kBySize, 3s);
    topics.big->at_first = [&] { topics.line.carry(1); };  // in the middle: the window of a flow is smaller
    topics.start();
    topics.send_big(1, 40, 2'000'000);
    ASSERT_TRUE(topics.all_arrive());
    EXPECT_EQ(topics.order.of('B'), up_to(40));
    EXPECT_GT(topics.line.second_bytes(), 2'000'000U) << "it has begun there";
    EXPECT_EQ(topics.big_flow->sent(), 40U);
  }
}

TEST(Session, ATopicTakesTheBulkConnectionOnceTheLineCarriesOneAndKeepsItsOrder) {
  TwoTopics topics(true, 1);
  topics.start();
  topics.send_big(1, 3, 100'000);
  ASSERT_TRUE(topics.all_arrive());
  EXPECT_EQ(topics.line.second_bytes(), 0U);
  topics.line.carry(2);
  std::uint64_t last = 3;
  ASSERT_TRUE(wait_until([&] {
    ++last;
    topics.send_big(last, last, 100'000);
    return topics.all_arrive() && topics.line.second_bytes() > 100'000;
  }));
  EXPECT_EQ(topics.order.of('B'), up_to(last));
  EXPECT_EQ(topics.from().network->hosts().at(0).bulk_missing_since_ns, 0);
}

TEST(Session, WhatWaitsForItsReceiverGoesOverToTheOtherConnectionInItsOrder) {
  TwoTopics topics(true, SIZE_MAX, TopicPriority::kBySize, 3s);
  const auto full = std::make_shared<Shelf>();
  full->full = true;
  topics.start();
  const auto receiver = *topics.to().network->open_receiver("full", full);
  const auto source = std::make_shared<Queue>();
  const auto flow = topics.from().network->open_flow(topics.to().id(), "full", source);
  for (std::uint64_t i = 1; i <= 6; ++i) source->add(i, 1'000'000);
  flow->wake();
  ASSERT_TRUE(wait_until([&] { return source->empty() && topics.line.second_bytes() > 6'000'000; }));
  topics.line.carry(1);
  topics.send_big(1, 1, 100'000);
  ASSERT_TRUE(topics.all_arrive()) << "the detour has begun";
  EXPECT_EQ(full->numbers().size(), 0U);
  full->full = false;
  ASSERT_TRUE(wait_until([&] { return flow->idle(); }));
  EXPECT_EQ(full->numbers(), up_to(6));
  EXPECT_FALSE(full->damaged);
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
  static void say(int fd, std::uint64_t session, stream::TrafficClass of = stream::TrafficClass::kUrgent) {
    stream::HostHello hello;
    hello.traffic_class = of;
    hello.domain = kDomain;
    hello.host.fill(9);
    hello.name = "raw";
    hello.session = session;
    const auto bytes = stream::encode(hello);
    ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  static constexpr std::uint64_t kKey = 0x4b4b;
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
    bulk.number = kKey;
    for (const stream::HostFrame& each : {ready, bulk}) {
      const auto bytes = stream::encode(each);
      ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    return fd;
  }

 private:
  const int listening_;
};

TEST(Session, AProgramThatDoesNotReadTheUrgentConnectionGetsNoBulkConnection) {
  const CalledHost raw;
  Host a(1, {raw.address()});
  const int urgent = raw.take_urgent();
  const int bulk = raw.accept();
  EXPECT_EQ(CalledHost::hear(bulk).session, CalledHost::kKey);
  const int liar = connect_to(a.options.port);
  CalledHost::say(liar, 5, stream::TrafficClass::kBulk);  // all that a program learns that says the host's id
  const stream::HostHello answer = CalledHost::hear(liar);
  EXPECT_EQ(answer.session, 0U);
  EXPECT_EQ(answer.refusal, stream::Refusal::kNoSession);
  for (const int fd : {liar, bulk, urgent}) ::close(fd);
}

TEST(Session, AHostThatDoesNotAnswerTheCallForBulkHoldsUpNobodyWhenItIsForgotten) {
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

}  // namespace
}  // namespace baton::link
