// SPDX-License-Identifier: Apache-2.0
// Writers of seldom messages: pairs match without a connection, get one for messages, and lose it when there are none.
#include <fstream>
#include <string>

#include "endpoint_test_support.hpp"
#include "raw_peer_test_support.hpp"

namespace baton::transport::test {
namespace {

QoS reliable(std::uint32_t depth) {
  QoS qos;
  qos.reliability = Reliability::kReliable;
  qos.depth = depth;
  return qos;
}

/// This process's mappings of connections: one for each of its readers and one for each of its writers.
std::size_t connections() {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find("baton-connection") != std::string::npos ? 1 : 0;
  return count;
}

std::uint64_t next(Reader& reader) { return value_of(take_sample(reader)); }

using SeldomMessages = OneProcess;

TEST_F(SeldomMessages, TwentyWritersAndReadersMatchWithoutAConnection) {
  constexpr std::uint32_t kEach = 20;
  std::vector<std::shared_ptr<Writer>> writers;
  std::vector<std::shared_ptr<Reader>> readers;
  for (std::uint32_t i = 0; i < kEach; ++i) {
    writers.push_back(make_seldom_writer(*participant, "/all", reliable(1000)));
    readers.push_back(make_reader(*participant, "/all", reliable(1000)));
  }
  settle(*participant);
  for (std::uint32_t i = 0; i < kEach; ++i) {
    EXPECT_EQ(writers[i]->matched(), kEach);
    EXPECT_EQ(readers[i]->matched(), kEach);
    EXPECT_EQ(readers[i]->statuses().alive_now, kEach);
    EXPECT_EQ(writers[i]->matched_readers().size(), kEach);
    EXPECT_TRUE(writers[i]->readers_of(0).empty()) << "nobody has been given a message";
  }
  EXPECT_EQ(connections(), 0U);

  ASSERT_TRUE(publish(*writers[3], 5));
  for (const auto& reader : readers) EXPECT_EQ(next(*reader), 5U);
  EXPECT_EQ(connections(), 2 * kEach);
  EXPECT_TRUE(eventually([] { return connections() == 0; })) << "nothing is published, so they rest";
  for (std::uint32_t i = 0; i < kEach; ++i) {
    EXPECT_EQ(writers[i]->statuses().matched_total, kEach) << "to rest is no change";
    EXPECT_EQ(readers[i]->statuses().matched_total, kEach);
    EXPECT_EQ(readers[i]->matched(), kEach);
  }
}

TEST_F(SeldomMessages, AreNeitherLostNorDoubledByRests) {
  const auto writer = make_seldom_writer(*participant, "/t", reliable(10));
  const auto reader = make_reader(*participant, "/t", reliable(10));
  std::uint64_t value = 0;
  for (int rests = 0; rests < 2; ++rests) {
    for (int i = 0; i < 7; ++i) ASSERT_TRUE(publish(*writer, ++value));
    for (std::uint64_t i = value - 6; i <= value; ++i) EXPECT_EQ(next(*reader), i);
    ASSERT_TRUE(eventually([] { return connections() == 0; }));
  }
  EXPECT_EQ(take(*reader), kNothing);
  EXPECT_FALSE(reader->losses().any());
  EXPECT_EQ(writer->memory_account().published_slots, 0U);
}

TEST_F(SeldomMessages, BeyondTheDepthCountAsLost) {
  const auto writer = make_seldom_writer(*participant, "/t", reliable(4));
  const auto reader = make_reader(*participant, "/t", reliable(4));
  {
    // The background thread answers no CALL meanwhile.
    const auto gate = std::make_shared<std::mutex>();
    const std::lock_guard<std::mutex> closed(*gate);
    participant->impl().post([gate] { const std::lock_guard<std::mutex> passed(*gate); });
    for (std::uint64_t i = 1; i <= 9; ++i) ASSERT_TRUE(publish(*writer, i));
  }
  for (std::uint64_t i = 6; i <= 9; ++i) EXPECT_EQ(next(*reader), i);
  EXPECT_EQ(reader->losses().overflow, 5U);
}

TEST_F(SeldomMessages, OfAWriterThatEndsAreInTheQueuesBefore) {
  const auto reader = make_reader(*participant, "/t", reliable(4));
  auto writer = make_seldom_writer(*participant, "/t", reliable(4));
  ASSERT_TRUE(publish(*writer, 1));
  EXPECT_FALSE(writer->wait_for_all_acked(1ms)) << "nobody takes it";
  ASSERT_TRUE(writer->wait_for_queues(kPatience));
  writer.reset();
  EXPECT_EQ(next(*reader), 1U);
}

TEST_F(SeldomMessages, WaitUntilTheyAreTaken) {
  const auto reader = make_reader(*participant, "/t", reliable(4));
  const auto writer = make_seldom_writer(*participant, "/t", reliable(4));
  ASSERT_TRUE(publish(*writer, 1));
  std::thread taking([&] { EXPECT_EQ(next(*reader), 1U); });
  EXPECT_TRUE(writer->wait_for_all_acked(kPatience));
  taking.join();
}

TEST_F(SeldomMessages, ThatAreKeptReachLateReadersOnce) {
  QoS qos = reliable(3);
  qos.durability = Durability::kTransientLocal;
  const auto writer = make_seldom_writer(*participant, "/t", qos);
  for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(publish(*writer, i));
  const auto late = make_reader(*participant, "/t", qos);
  const auto volatile_reader = make_reader(*participant, "/t", reliable(3));
  for (std::uint64_t i = 3; i <= 5; ++i) EXPECT_EQ(next(*late), i);
  ASSERT_TRUE(eventually([] { return connections() == 0; }));
  ASSERT_TRUE(publish(*writer, 6));
  EXPECT_EQ(next(*late), 6U);
  EXPECT_EQ(next(*volatile_reader), 6U) << "it has had nothing of what was kept";
  EXPECT_EQ(take(*late), kNothing);
  EXPECT_FALSE(late->losses().any() || volatile_reader->losses().any());
}

TEST_F(SeldomMessages, ThatAreHeldOrUnreadKeepTheConnection) {
  const auto writer = make_seldom_writer(*participant, "/t", reliable(4));
  const auto holds = make_reader(*participant, "/t", reliable(4));
  const auto waits = make_reader(*participant, "/t", reliable(4));
  const auto reads = make_reader(*participant, "/t", reliable(4));
  ASSERT_TRUE(publish(*writer, 1));
  const TakenSample held = take_sample(*holds);
  EXPECT_EQ(next(*reads), 1U);
  ASSERT_TRUE(eventually([&] { return waits->has_data() && connections() == 4; })) << "of two, at both ends";
  EXPECT_EQ(value_of(held), 1U);
  EXPECT_EQ(next(*waits), 1U);
}

TEST_F(SeldomMessages, NeedAQosWithoutSignsOfLifeAndWithAnEnd) {
  QoS all = reliable(1), manual = reliable(1), timed = reliable(1);
  all.history = History::kKeepAll;
  manual.liveliness = Liveliness::kManualByTopic;
  timed.deadline = 1s;
  for (const QoS& qos : {all, manual, timed}) {
    Participant::WriterOptions options;
    options.topic = "/t";
    options.type = number_type();
    options.qos = qos;
    options.seldom = true;
    const auto made = participant->create_writer(options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Errc::invalid_argument);
  }
}

TEST_F(SeldomMessages, OfAReaderThatIsGoneAreKeptNoLonger) {
  const auto writer = make_seldom_writer(*participant, "/t", reliable(4));
  auto reader = make_reader(*participant, "/t", reliable(4));
  ASSERT_TRUE(publish(*writer, 1));
  reader.reset();
  EXPECT_TRUE(matched(*writer, 0));
  EXPECT_TRUE(eventually([&] { return writer->memory_account().published_slots == 0; }));
}

/// Each process publishes and subscribes, as nodes of rclcpp do on /parameter_events.
TEST(SeldomMessagesOfProcesses, CrossAndRest) {
  constexpr std::uint32_t kProcesses = 4;
  TestDomain shared;
  std::vector<std::unique_ptr<Child>> children;
  for (std::uint64_t i = 0; i < kProcesses; ++i) {
    children.push_back(std::make_unique<Child>([&shared, i](Child& self) {
      const auto participant = shared.join();
      const auto writer = make_seldom_writer(*participant, "/all", reliable(10));
      const auto reader = make_reader(*participant, "/all", reliable(10));
      BATON_CHECK(matched(*writer, kProcesses) && matched(*reader, kProcesses));
      BATON_CHECK(connections() == 0);
      self.say();
      for (int turns = 0; turns < 2; ++turns) {
        BATON_CHECK(self.hear() == '.');
        BATON_CHECK(publish(*writer, i));
        std::uint64_t sum = 0;
        for (std::uint32_t n = 0; n < kProcesses; ++n) sum += next(*reader);
        BATON_CHECK(sum == kProcesses * (kProcesses - 1) / 2);
        BATON_CHECK(eventually([] { return connections() == 0; }));
        BATON_CHECK(take(*reader) == kNothing && !reader->losses().any());
        BATON_CHECK(writer->statuses().matched_total == kProcesses && reader->matched() == kProcesses);
        self.say();
      }
      BATON_CHECK(self.hear() == '.');
    }));
  }
  for (int turns = 0; turns < 3; ++turns) {
    for (const auto& child : children) ASSERT_EQ(child->hear(), '.');
    for (const auto& child : children) child->say();
  }
  for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
}

TEST(SeldomMessagesOfProcesses, ThatDieChangeTheLivelinessOfReadersThatRest) {
  TestDomain shared;
  QoS leased = reliable(4);
  leased.lease = 10s;
  Child child([&](Child& self) {
    const auto participant = shared.join();
    const auto writer = make_seldom_writer(*participant, "/t", leased);
    self.say();
    BATON_CHECK(matched(*writer, 1));
    for (std::uint64_t i = 0; self.hear() == '.'; ++i) BATON_CHECK(publish(*writer, i));
  });
  ASSERT_EQ(child.hear(), '.');
  std::atomic<int> changes{0};
  const auto participant = shared.join();
  const auto reader = make_reader(*participant, "/t", leased);
  reader->on_event([&](Event event) { changes += event == Event::kLivelinessChanged ? 1 : 0; });
  ASSERT_TRUE(matched(*reader, 1));
  EXPECT_TRUE(eventually([&] { return changes == 1; }));
  EXPECT_EQ(reader->statuses().alive_now, 1U);
  child.say();
  EXPECT_EQ(next(*reader), 0U);
  ASSERT_TRUE(eventually([] { return connections() == 0; }));
  settle(*participant);
  EXPECT_EQ(changes, 1) << "neither a connection nor a rest is a change";
  child.kill();
  EXPECT_TRUE(eventually([&] { return changes == 2; }));
  EXPECT_EQ(reader->statuses().alive_now, 0U);
  reader->on_event(nullptr);
}

// --- peers that break the rules ---

AnnounceFrame seldom_writer(const Gid& gid) {
  AnnounceFrame frame;
  frame.gid = gid;
  frame.is_writer = frame.seldom = true;
  frame.topic = "t";
  frame.type_name = number_type().name;
  frame.type_hash = number_type().hash;
  frame.skeleton_bytes = 8;
  return frame;
}

TEST(HostileSeldomMessages, AReaderThatDoesNotAttachKeepsAsManyMessagesAsTheDepth) {
  TestDomain domain;
  Child hostile([&](Child& self) {
    RawPeer peer(domain.path());
    BATON_CHECK(peer.await_peers(1));
    peer.announce(false);
    BATON_CHECK(!peer.await(FrameType::kCall).second.payload.empty());
    self.say();
    BATON_CHECK(self.hear() == '.');
    BATON_CHECK(peer.count(FrameType::kCall) == 1);
  });
  const auto participant = domain.join();
  const auto writer = make_seldom_writer(*participant, "t", QoS(4));
  ASSERT_TRUE(matched(*writer, 1));
  for (std::uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(publish(*writer, i));
  ASSERT_EQ(hostile.hear(), '.');
  EXPECT_LE(writer->memory_account().published_slots, 4U);
  EXPECT_FALSE(writer->wait_for_queues(1ms));
  const auto reader = make_reader(*participant, "t", QoS(4));
  ASSERT_TRUE(publish(*writer, 101));
  EXPECT_EQ(next(*reader), 101U);
  hostile.say();
  EXPECT_EQ(hostile.wait(), 0);
  EXPECT_TRUE(matched(*writer, 1)) << "the honest one";
  EXPECT_TRUE(eventually([&] { return writer->memory_account().published_slots == 0; }));
}

TEST(HostileSeldomMessages, CallsAndRestsAtAnyTimeCostOneConnectionAtATime) {
  TestDomain domain;
  Child hostile([&](Child&) {
    RawPeer peer(domain.path());
    BATON_CHECK(peer.await_peers(1));
    const auto [victim, announced] = peer.await_announcement();
    const Gid reader = announced.gid;
    const Gid writer = peer.id();
    peer.send(victim, FrameType::kAnnounce, encode(seldom_writer(writer)));
    const Payload pair = encode(PairFrame{writer, reader});
    for (int i = 0; i < 3; ++i) peer.send(victim, FrameType::kRest, pair);
    for (int i = 0; i < 100; ++i) {
      peer.send(victim, FrameType::kCall, pair);
      peer.send(victim, FrameType::kCall, pair);
      if (i == 0) BATON_CHECK(!peer.await(FrameType::kAttach).second.payload.empty());
      peer.send(victim, FrameType::kRest, pair);
    }
    const Gid last = peer.id(1);  // frames are handled in their order
    peer.send(victim, FrameType::kAnnounce, encode(seldom_writer(last)));
    peer.send(victim, FrameType::kCall, encode(PairFrame{last, reader}));
    BATON_CHECK(!peer.await(FrameType::kAttach).second.payload.empty());
    BATON_CHECK(peer.count(FrameType::kAttach) == 2);
    BATON_CHECK(peer.gone.empty());
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  std::size_t most = 0;
  EXPECT_TRUE(eventually([&] {
    most = std::max(most, connections());
    return reader->statuses().matched_total == 2;
  }));
  EXPECT_EQ(hostile.wait(), 0);
  EXPECT_LE(std::max(most, connections()), 2U) << "one for each writer";
  EXPECT_TRUE(matched(*reader, 0));
  EXPECT_EQ(reader->statuses().matched_total, 2U);
}

TEST(HostileSeldomMessages, ACallThatCannotBeEndsThePeer) {
  struct CallLie {
    const char* name;
    void (*change)(AnnounceFrame&);
  };
  const CallLie lies[] = {
      {"does not announce that it calls", [](AnnounceFrame& frame) { frame.seldom = false; }},
      {"is a reader", [](AnnounceFrame& frame) { frame.is_writer = false; }},
      {"has another topic", [](AnnounceFrame& frame) { frame.topic = "u"; }},
      {"has another type", [](AnnounceFrame& frame) { frame.type_hash[0] ^= 0xFF; }},
      {"offers less", [](AnnounceFrame& frame) { frame.qos.reliability = Reliability::kBestEffort; }},
  };
  for (const CallLie& lie : lies) {
    SCOPED_TRACE(lie.name);
    TestDomain domain;
    Child hostile([&](Child&) {
      RawPeer peer(domain.path());
      BATON_CHECK(peer.await_peers(1));
      const auto [victim, announced] = peer.await_announcement();
      AnnounceFrame frame = seldom_writer(peer.id());
      frame.qos.reliability = Reliability::kReliable;
      lie.change(frame);
      peer.send(victim, FrameType::kAnnounce, encode(frame));
      const Gid reader = announced.gid;
      peer.send(victim, FrameType::kCall, encode(PairFrame{peer.id(), reader}));
      BATON_CHECK(peer.await_gone());
    });
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", reliable(4));
    EXPECT_EQ(hostile.wait(), 0);
    EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::protocol_violation); }));
  }
}

// The reader was replaced, so it does not try again, and the message that the writer keeps for it comes to nobody.
TEST(SeldomWriter, ThatRefusesAReaderWhichMatchesNoMoreHasItsMessageCountedAsLost) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  RawPeer peer(domain.path());
  const PeerId from = peer.await(FrameType::kAnnounce).first;
  peer.send(from, FrameType::kAnnounce, encode(seldom_writer(peer.id())));
  ASSERT_TRUE(matched(*reader, 1));
  reader->stop_matching();
  const PairFrame pair{peer.id(), reader->gid()};
  peer.send(from, FrameType::kCall, encode(pair));
  ASSERT_FALSE(peer.await(FrameType::kAttach).second.payload.empty()) << "it still gets what is kept for it";
  RefusedFrame refused;
  static_cast<PairFrame&>(refused) = pair;
  refused.code = Errc::limit_reached;
  peer.send(from, FrameType::kRefused, encode(refused));
  EXPECT_TRUE(eventually([&] { return reader->losses().interrupted == 1; }));
  EXPECT_EQ(reader->matched(), 0U);
}

TEST(SeldomWriter, ThatEndsBeforeACalledReaderIsConnectedHasItsMessageCountedAsLost) {
  for (const bool refuses : {false, true}) {
    SCOPED_TRACE(refuses);
    TestDomain domain;
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t");
    RawPeer peer(domain.path());
    const PeerId from = peer.await(FrameType::kAnnounce).first;
    peer.send(from, FrameType::kAnnounce, encode(seldom_writer(peer.id())));
    ASSERT_TRUE(matched(*reader, 1));
    RefusedFrame pair;
    pair.writer = peer.id();
    pair.reader = reader->gid();
    pair.code = Errc::limit_reached;
    peer.send(from, FrameType::kCall, encode(static_cast<PairFrame&>(pair)));
    ASSERT_FALSE(peer.await(FrameType::kAttach).second.payload.empty());
    if (refuses) {
      peer.send(from, FrameType::kRefused, encode(pair));
      ASSERT_FALSE(peer.await(FrameType::kAttach).second.payload.empty()) << "it tries again";
    }
    EXPECT_EQ(reader->losses().interrupted, 0U);
    peer.send(from, FrameType::kWithdraw, encode_gid(peer.id()));
    ASSERT_TRUE(matched(*reader, 0));
    EXPECT_EQ(reader->losses().interrupted, 1U);
  }
}

// Each such reader would plan one more attempt for each CALL, and each attempt would plan the next one.
TEST(HostileSeldomMessages, ThatAreRefusedAndCalledAgainCauseOneAttemptInEachPause) {
  constexpr std::size_t kCalls = 200;
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  RawPeer peer(domain.path());
  const PeerId from = peer.await(FrameType::kAnnounce).first;
  peer.send(from, FrameType::kAnnounce, encode(seldom_writer(peer.id())));
  ASSERT_TRUE(matched(*reader, 1));
  RefusedFrame pair;
  pair.writer = peer.id();
  pair.reader = reader->gid();
  pair.code = Errc::limit_reached;
  for (std::size_t i = 0; i < kCalls; ++i) {
    peer.send(from, FrameType::kCall, encode(static_cast<PairFrame&>(pair)));
    peer.send(from, FrameType::kRefused, encode(pair));
  }
  for (int pauses = 0; pauses < 3; ++pauses) {  // 0, 100 and 200 ms
    ASSERT_FALSE(peer.await(FrameType::kAttach).second.payload.empty());
    peer.send(from, FrameType::kRefused, encode(pair));
  }
  EXPECT_LT(peer.count(FrameType::kAttach), kCalls / 10) << "on a slow machine more pauses are over";
}

TEST(SeldomWriter, WhoseIdAnotherProcessHadIsAttachedToWhenItHasTheId) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  RawPeer first(domain.path()), second(domain.path());
  const PeerId from_first = first.await(FrameType::kAnnounce).first,
               from_second = second.await(FrameType::kAnnounce).first;
  AnnounceFrame frame = seldom_writer(Gid{77});
  frame.topic = "u";
  first.send(from_first, FrameType::kAnnounce, encode(frame));
  ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == 2; }));
  second.send(from_second, FrameType::kAnnounce, encode(seldom_writer(Gid{77})));
  second.send(from_second, FrameType::kCall, encode(PairFrame{Gid{77}, reader->gid()}));
  second.send(from_second, FrameType::kAnnounce, encode(seldom_writer(second.id(1))));
  ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == 3; }));
  EXPECT_EQ(second.count(FrameType::kAttach), 0U);
  first.send(from_first, FrameType::kWithdraw, encode_gid(Gid{77}));
  const Payload attach = second.await(FrameType::kAttach).second.payload;
  ASSERT_FALSE(attach.empty());
  EXPECT_EQ(decode_attach(attach).or_throw().writer, Gid{77});
}

// A pair that rests takes room as connections do. One for which there is no room attaches at once, and is refused in words.
TEST(HostileSeldomMessages, OfACrowdThatRestsTakeTheRoomOfItsConnections) {
  constexpr std::size_t kPairs = 100;
  TestDomain domain;
  const auto participant = domain.join();
  RawPeer peer(domain.path());
  ASSERT_TRUE(peer.await_peers(1));
  std::uint16_t number = 0;
  const auto announce = [&](const std::string& topic, bool is_writer, bool seldom) {
    AnnounceFrame frame = seldom_writer(peer.id(++number));
    frame.topic = topic;
    frame.is_writer = is_writer;
    frame.seldom = seldom;
    peer.send(peer.peers[0], FrameType::kAnnounce, encode(frame));
    return frame.gid;
  };
  std::size_t room = kConnectionBytesOfProcess, attached = 0;
  std::vector<std::shared_ptr<Reader>> readers;
  Gid deep{};
  for (const std::uint32_t depth : {kMaxDepth, 4096U, 64U, 1U}) {
    const std::string topic = "t" + std::to_string(depth);
    readers.push_back(make_reader(*participant, topic, QoS(depth)));
    const std::size_t each = readers.back()->impl().connection_bytes();
    for (; room >= each; room -= each, ++attached) {
      const Gid writer = announce(topic, true, false);
      if (depth == kMaxDepth) deep = writer;
    }
  }
  ASSERT_TRUE(eventually([&] { return peer.count(FrameType::kAttach) == attached; }));
  const std::size_t resting = room / kRestingBytes;
  ASSERT_LT(resting, kPairs);
  const auto reader = make_reader(*participant, "s");
  for (std::size_t i = 0; i < kPairs; ++i) announce("s", true, true);
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::limit_reached); }));
  EXPECT_TRUE(matched(*reader, static_cast<std::uint32_t>(resting)));
  const auto writer = make_seldom_writer(*participant, "w");
  announce("w", false, false);
  EXPECT_FALSE(peer.await(FrameType::kCall).second.payload.empty()) << "nothing is published";
  EXPECT_EQ(writer->matched(), 0U);
  EXPECT_EQ(peer.count(FrameType::kAttach), attached);
  peer.send(peer.peers[0], FrameType::kWithdraw, encode_gid(deep));
  EXPECT_TRUE(eventually([&] { return peer.count(FrameType::kAttach) > attached; })) << "there is room again";
}

// More readers than the writer is matched with at a time: the last of them is matched after it has attached.
TEST(SeldomWriter, AReaderThatAttachesBeforeItIsMatchedRestsAndIsCalledLikeAnother) {
  std::mutex gate;  // outlives the participant that waits for it
  TestDomain domain;
  const auto participant = domain.join();
  RawPeer peer(domain.path());
  ASSERT_TRUE(peer.await_peers(1));
  QoS late;
  late.durability = Durability::kTransientLocal;
  for (std::uint16_t i = 1; i <= 40; ++i) peer.announce(peer.id(i), false, late);
  const Gid reader = peer.announce(peer.id(100), false);
  ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == 41; }));
  std::shared_ptr<Writer> writer;
  {
    const std::lock_guard<std::mutex> closed(gate);
    participant->impl().post([&gate] { const std::lock_guard<std::mutex> passed(gate); });
    writer = make_seldom_writer(*participant, "t");
    ASSERT_FALSE(peer.await(FrameType::kAnnounce).second.payload.empty());
    AttachFrame attach;
    attach.writer = writer->gid();
    attach.reader = reader;
    attach.connection_bytes = 4096;
    const os::CreatedSegment segment = os::create_segment("test", 4096, os::Writers::kBothEnds).or_throw();
    for (const PeerId to : peer.peers) {
      peer.send(to, FrameType::kAttach, encode(attach),
                {std::make_shared<const os::UniqueFd>(os::duplicate(segment.fd.get()))});
    }
    std::this_thread::sleep_for(100ms);
  }
  ASSERT_FALSE(peer.await(FrameType::kAttached).second.payload.empty());
  ASSERT_FALSE(peer.await(FrameType::kRest).second.payload.empty());
  ASSERT_TRUE(publish(*writer, 1));
  EXPECT_FALSE(peer.await(FrameType::kCall).second.payload.empty());
}

}  // namespace
}  // namespace baton::transport::test
