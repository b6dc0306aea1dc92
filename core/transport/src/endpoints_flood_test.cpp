// SPDX-License-Identifier: Apache-2.0
// A peer that announces as much as it can, and one that honestly has very much to announce.
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>

#include "budgets.hpp"
#include "endpoint_test_support.hpp"
#include "frames.hpp"
#include "graph.hpp"
#include "handshake.hpp"
#include "raw_peer_test_support.hpp"

namespace baton::transport::test {
namespace {

/// A bare socket to the only process of the domain: sends as fast as that one reads, and forgets what it gets.
class Flooder {
 public:
  explicit Flooder(const std::string& directory) : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    for (const auto& entry : std::filesystem::directory_iterator(directory + "/0")) {
      if (entry.is_socket()) std::snprintf(address.sun_path, sizeof address.sun_path, "%s", entry.path().c_str());
    }
    BATON_CHECK(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    Hello hello;
    hello.pid = ::getpid();
    hello.process_id[0] = static_cast<std::uint8_t>(::getpid());
    hello.process_id[1] = static_cast<std::uint8_t>(::getpid() >> 8);
    hello.name = "flooder";
    const auto packet = encode_hello(hello);
    BATON_CHECK(::send(socket_, packet.data(), packet.size(), 0) > 0);
    drain_ = std::thread([this] {
      std::vector<char> buffer(kMaxPacketBytes);
      // An end with unread packets is reported as a reset first; then comes what is left.
      for (ssize_t got = 1; got != 0;) {
        got = ::recv(socket_, buffer.data(), buffer.size(), 0);
        if (got < 0 && errno != ECONNRESET) break;
        if (got <= 0) continue;
        std::uint16_t type = 0;
        std::memcpy(&type, buffer.data(), sizeof type);
        if (type == kByeFrame) std::memcpy(&bye, buffer.data() + kPacketHeaderBytes, sizeof bye);
      }
      ended = true;
    });
  }
  ~Flooder() {
    ::shutdown(socket_, SHUT_RDWR);
    drain_.join();
    ::close(socket_);
  }
  /// False once the connection has ended.
  bool send(FrameType type, const Payload& payload) {
    PacketHeader header;
    header.type = static_cast<std::uint16_t>(type);
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    const auto head = encode_header(header);
    std::vector<std::uint8_t> packet(head.begin(), head.end());
    packet.insert(packet.end(), payload.begin(), payload.end());
    return ::send(socket_, packet.data(), packet.size(), MSG_NOSIGNAL) > 0;
  }
  std::atomic<bool> ended{false};
  std::uint16_t bye = 0;  ///< read after `ended`

 private:
  int socket_;
  std::thread drain_;
};

AnnounceFrame endpoint(std::size_t number, const std::string& topic, bool is_writer) {
  AnnounceFrame frame;
  frame.gid[15] = 0xF1;
  for (std::size_t i = 0; i < 4; ++i) frame.gid[i] = static_cast<std::uint8_t>(number >> (8 * i));
  frame.is_writer = is_writer;
  frame.topic = topic;
  frame.node = "flood";
  frame.type_name = number_type().name;
  frame.type_hash = number_type().hash;
  frame.skeleton_bytes = 8;
  return frame;
}

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

/// The flooder acts; meanwhile and afterwards an own pair goes on, and at the end all is as before.
struct Flood {
  explicit Flood(const std::function<void(Flooder&)>& body)
      : child([this, body](Child& self) {
          self.hear();
          Flooder flooder(domain.path());
          body(flooder);
          BATON_CHECK(eventually([&] { return flooder.ended.load(); }));
          self.say(static_cast<char>('0' + flooder.bye));
          self.hear();
        }) {}

  /// Returns the reason of the BYE that the flooder got.
  int run() {
    participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    const auto reader = make_reader(*participant, "t");
    EXPECT_TRUE(matched(*writer, 1));
    const std::size_t before = resident_bytes();
    std::size_t most = before;
    child.say();
    char bye = '\0';
    std::thread listener([&] { bye = child.hear(); });
    std::atomic<bool> stop{false};
    std::thread sampler([&] {
      for (; !stop; std::this_thread::sleep_for(1ms)) most = std::max(most, resident_bytes());
    });
    for (std::uint64_t i = 0; i < 2000; ++i) {
      EXPECT_TRUE(publish(*writer, i).ok());
      while (take(*reader) != i) {
      }
    }
    listener.join();
    stop = true;
    sampler.join();
    const auto participant_endpoints = [&] { return participant->endpoints().size(); };
    EXPECT_TRUE(eventually([&] { return participant_endpoints() == 2; })) << participant_endpoints();
    EXPECT_TRUE(matched(*reader, 1));
    EXPECT_TRUE(matched(*writer, 1));
    const std::size_t budget = BudgetLimits().per_process[0] + BudgetLimits().per_process[1];
    if (!sanitized()) {
      EXPECT_LT(most, before + budget + (std::size_t{64} << 20));
      EXPECT_TRUE(eventually([&] { return resident_bytes() < before + (std::size_t{24} << 20); }))
          << "before " << before << ", at most " << most << ", now " << resident_bytes();
    }
    child.say();
    child.wait();
    return bye - '0';
  }

  TestDomain domain;
  Child child;
  std::shared_ptr<Participant> participant;
};

TEST(Flood, OfLongNamesEndsThePeerAtItsBudgetAndReturnsTheMemory) {
  Flood flood([](Flooder& flooder) {
    const std::string longest(kMaxNameBytes - 8, 'x');
    for (std::size_t i = 0;; ++i) {
      AnnounceFrame frame = endpoint(i, longest + std::to_string(i), true);
      frame.node = frame.type_name = frame.topic;
      if (!flooder.send(FrameType::kAnnounce, encode(frame))) break;
    }
  });
  EXPECT_EQ(flood.run(), static_cast<int>(Bye::kViolation));
  const std::string text = flood.domain.diagnostics().text(Errc::protocol_violation);
  EXPECT_NE(text.find("flooder"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(BudgetLimits().per_process[0])), std::string::npos) << text;
}

TEST(Flood, OfNodesEndsThePeer) {
  Flood flood([](Flooder& flooder) {
    for (std::size_t i = 0; flooder.send(FrameType::kNodeUp, encode(NodeName{"node" + std::to_string(i), ""})); ++i) {
    }
  });
  EXPECT_EQ(flood.run(), static_cast<int>(Bye::kViolation));
}

TEST(Flood, OfEndpointsOnOneTopicEndsThePeer) {
  Flood flood([](Flooder& flooder) {
    for (std::size_t i = 0; flooder.send(FrameType::kAnnounce, encode(endpoint(i, "t", true))); ++i) {
    }
  });
  EXPECT_EQ(flood.run(), static_cast<int>(Bye::kViolation));
  EXPECT_NE(flood.domain.diagnostics().text(Errc::protocol_violation).find(std::to_string(kMaxAnnouncedPerTopic)),
            std::string::npos);
}

/// A publisher of `topic` in the raw peer's process; `number` is the last part of its id and of its type's hash.
AnnounceFrame publisher_of(const RawPeer& peer, const std::string& topic, const std::string& type,
                           std::uint8_t number) {
  AnnounceFrame frame;
  std::copy(peer.hub->process_id().begin(), peer.hub->process_id().end(), frame.gid.begin());
  frame.gid[14] = 1;
  frame.gid[15] = number;
  frame.is_writer = true;
  frame.topic = topic;
  frame.node = "crowd";
  frame.type_name = type;
  frame.type_hash.fill(number);
  frame.skeleton_bytes = 8;
  return frame;
}

TEST(Flood, OfPublishersWhoseConnectionsBreakIsRememberedUpToABound) {
  constexpr std::uint16_t kCrowd = 300;
  constexpr std::uint64_t kMostRemembered = 256;  // kMostInterrupted in read_positions.hpp
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS().hold(1));
  std::vector<Gid> publishers;
  {
    CrowdOfPublishers crowd(domain.path());
    for (std::uint16_t i = 0; i < kCrowd && !HasFailure(); ++i) publishers.push_back(crowd.add(i));
    ASSERT_TRUE(matched(*reader, kCrowd));
  }
  ASSERT_TRUE(matched(*reader, 0));
  CrowdOfPublishers again(domain.path());
  for (const Gid& each : publishers) again.add(each, 5);  // so four messages of each were lost meanwhile
  ASSERT_TRUE(matched(*reader, kCrowd));
  EXPECT_EQ(reader->losses().interrupted, 4 * kMostRemembered);
}

TEST(Flood, OfTypesThatDifferIsAskedForFewDefinitionsAtOnce) {
  constexpr std::size_t kMostAsked = 16;  // kMaxWanted in matching.cpp
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  RawPeer peer(domain.path());
  ASSERT_TRUE(peer.await_peers(1));
  for (std::uint8_t i = 1; i <= 40; ++i)
    peer.send(peer.peers[0], FrameType::kAnnounce, encode(publisher_of(peer, "t", number_type().name, i)));
  peer.announce(true);  // one that fits, and comes last
  ASSERT_FALSE(peer.await(FrameType::kAttach).second.payload.empty());
  EXPECT_EQ(peer.count(FrameType::kDefinitionRequest), kMostAsked);
}

TEST(Flood, OfPublishersThatUsesUpABudgetKeepsOthersOutForAsLongAsItLastsOnly) {
  constexpr std::uint16_t kTooMany = 5;
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(kMaxDepth));
  const std::size_t room = kConnectionBytesOfProcess / reader->impl().connection_bytes();
  ASSERT_LT(room + kTooMany, kMaxAnnouncedPerTopic);
  RawPeer peer(domain.path());
  ASSERT_TRUE(peer.await_peers(1));
  for (std::uint16_t i = 0; i < room + kTooMany; ++i) peer.announce(peer.id(i), true, QoS());
  ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == room + kTooMany + 1; }));
  EXPECT_TRUE(eventually([&] { return peer.count(FrameType::kAttach) >= room; }));
  settle(*participant);
  EXPECT_EQ(peer.count(FrameType::kAttach), room);
  EXPECT_NE(domain.diagnostics().text(Errc::limit_reached).find("trying again"), std::string::npos);
  for (std::uint16_t i = 0; i < kTooMany; ++i) peer.send(peer.peers[0], FrameType::kWithdraw, encode_gid(peer.id(i)));
  EXPECT_TRUE(eventually([&] { return peer.count(FrameType::kAttach) == room + kTooMany; }))
      << peer.count(FrameType::kAttach) << " of " << room + kTooMany;
}

TEST(Flood, OfDefinitionsIsCutAtTheBytesThatAllAnswersMayTake) {
  constexpr std::uint8_t kTypes = 100;
  constexpr std::size_t kEach = 200'000, kMostBytes = std::size_t{16} << 20;  // kMostDefinitionBytes in type_query.cpp
  TestDomain domain;
  const auto participant = domain.join();
  RawPeer peer(domain.path());
  ASSERT_TRUE(peer.await_peers(1));
  const auto announce = [&](std::uint8_t i) {
    const AnnounceFrame frame = publisher_of(peer, "t" + std::to_string(i), "a/T" + std::to_string(i), i);
    peer.send(peer.peers[0], FrameType::kAnnounce, encode(frame));
    return frame.gid;
  };
  std::vector<Gid> publishers;
  for (std::uint8_t i = 1; i <= kTypes; ++i) publishers.push_back(announce(i));
  ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == kTypes; }));
  for (const Gid& each : publishers) EXPECT_EQ(participant->type_of(each, 0ns).error().code, Errc::timed_out);
  for (std::size_t i = 0; i < publishers.size();) {
    // So few that the raw peer's queue has room. An endpoint comes last, and shows that they have come.
    for (std::size_t end = i + 10; i < end; ++i)
      peer.send(peer.peers[0], FrameType::kDefinition, encode(DefinitionFrame{publishers[i], std::string(kEach, 'x')}));
    announce(static_cast<std::uint8_t>(kTypes + i / 10));
    ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == kTypes + i / 10; }));
  }
  std::size_t kept = 0;
  for (const Gid& each : publishers) kept += participant->type_of(each, 0ns).ok();
  EXPECT_EQ(kept, kMostBytes / kEach);
}

TEST(Flood, OfAnswersAboutHeldSamplesIsCutAtTheBoundOfOneProcess) {
  TestDomain domain;
  Child child([&](Child& self) {
    self.hear();
    Flooder flooder(domain.path());
    flooder.send(FrameType::kAnnounce, encode(endpoint(1, "x", true)));
    HoldingsFrame rows{1, endpoint(1, "t", true).gid, std::vector<Holding>(kMaxHoldings)};
    const Payload many = encode(rows), end = encode(HoldingsFrame{1, {}, {}});
    // Round for round, until one of them came after the question.
    while (!flooder.ended) {
      for (std::size_t sent = 0; sent < 2 * kMaxAnswersPerPeer; sent += kMaxHoldings)
        flooder.send(FrameType::kHoldings, many);
      flooder.send(FrameType::kHoldings, end);
    }
  });
  const auto participant = domain.join();
  child.say();
  ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == 1; }));
  const std::vector<Holding> rows = participant->holdings(60s).or_throw();
  EXPECT_GE(rows.size(), 1U);
  EXPECT_LE(rows.size(), kMaxAnswersPerPeer);
}

TEST(Flood, OfEndpointsThatDoNotFitIsCountedButNotDescribedOneByOne) {
  constexpr std::size_t kEach = 1000, kRounds = 20;
  Flood flood([](Flooder& flooder) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kEach; ++i) {
        AnnounceFrame frame = endpoint(i, "t", i % 2 == 0);
        if (i % 3 == 0) frame.type_name = "test/Other";
        if (i % 3 == 1) frame.type_hash[3] = static_cast<std::uint8_t>(i);
        if (i % 3 == 2) frame.qos.deadline = 1s;  // offered too weak, or asked for in vain
        frame.qos.durability = i % 2 == 0 ? Durability::kVolatile : Durability::kTransientLocal;
        if (!flooder.send(FrameType::kAnnounce, encode(frame))) return;
      }
      for (std::size_t i = 0; i < kEach; ++i)
        flooder.send(FrameType::kWithdraw, encode_gid(endpoint(i, "t", true).gid));
    }
    flooder.send(FrameType::kWithdraw, encode_gid(Gid{}));  // a violation: so it ends here
  });
  EXPECT_EQ(flood.run(), static_cast<int>(Bye::kViolation));
  const std::lock_guard<std::mutex> lock(flood.domain.diagnostics().mutex);
  EXPECT_LE(flood.domain.diagnostics().list.size(), 200U) << "of " << kEach * kRounds << " endpoints";
}

TEST(Flood, OfConnectionsOfOneProcessHasTheLinesOfOneConnection) {
  constexpr std::size_t kConnections = 6, kEach = 40, kMost = 32;  // Participant::Impl::kMaxReports
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  const auto begun = std::chrono::steady_clock::now();
  for (std::size_t connection = 1; connection <= kConnections; ++connection) {
    RawPeer peer(domain.path());
    ASSERT_TRUE(peer.await_peers(1));
    for (std::size_t i = 0; i < kEach; ++i) {
      AnnounceFrame frame = endpoint(i, "t", true);
      frame.type_name = "test/Other";
      peer.send(peer.peers.front(), FrameType::kAnnounce, encode(frame));
    }
    ASSERT_TRUE(eventually([&] { return reader->statuses().incompatible_type_total == connection * kEach; }));
  }
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().count(Errc::type_mismatch) >= kMost; }));
  const auto windows = static_cast<std::size_t>(1 + (std::chrono::steady_clock::now() - begun) / 10s);
  EXPECT_LE(domain.diagnostics().count(Errc::type_mismatch), kMost * windows);
}

TEST(Flood, TenThousandEndpointsOfOneProcessWithLongNamesAreKnownToANewcomer) {
  constexpr std::size_t kMany = 10000;
  TestDomain domain;
  Child big([&](Child& self) {
    const auto participant = domain.join();
    const std::string longest(kMaxNameBytes - 200, 'x');
    std::vector<std::shared_ptr<Reader>> readers;
    for (std::size_t i = 0; i < kMany; ++i) {
      Participant::ReaderOptions options;
      options.topic = longest + std::to_string(i);
      options.node = longest + std::to_string(i / 10);
      options.type = number_type();
      options.type.name = longest + std::to_string(i / 2);
      readers.push_back(participant->create_reader(options).or_throw());
    }
    readers.push_back(make_reader(*participant, "t"));
    self.say();
    self.hear();
  });
  ASSERT_EQ(big.hear(), '.');
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  EXPECT_TRUE(eventually([&] { return participant->endpoints().size() == kMany + 2; }))
      << participant->endpoints().size();
  EXPECT_TRUE(matched(*writer, 1));
  EXPECT_TRUE(domain.diagnostics().list.empty());
  big.say();
  EXPECT_EQ(big.wait(), 0);
  EXPECT_TRUE(eventually([&] { return participant->endpoints().size() == 1; }));
}

}  // namespace
}  // namespace baton::transport::test
