// SPDX-License-Identifier: Apache-2.0
// Who may hold how many samples of a publisher, and what a subscription that wants all of them cannot do to the others. The rules:
// docs/format/qos.md; their arithmetic: grants_test.cpp.
#include <grp.h>

#include "endpoint_test_support.hpp"
#include "reader.hpp"

namespace baton::transport::test {
namespace {

memory::PoolOptions pool_of(std::uint32_t slots) {
  memory::PoolOptions pool = small_pool();
  pool.max_message_bytes = std::size_t{64} << 10;
  pool.slot_count = slots;
  return pool;
}

std::size_t count(Diagnostics& diagnostics, Errc code) {
  const std::lock_guard<std::mutex> lock(diagnostics.mutex);
  std::size_t found = 0;
  for (const Diagnostic& entry : diagnostics.list) found += entry.code == code ? 1 : 0;
  return found;
}

/// What `writer` has granted to each of its readers, as every process is told.
std::map<Gid, Holding> rows_of(Participant& participant, const Writer& writer) {
  std::map<Gid, Holding> rows;
  std::vector<Holding> all = participant.holdings(60s).or_throw();
  for (Holding& holding : all) {
    if (holding.writer == writer.gid()) rows[holding.reader] = std::move(holding);
  }
  return rows;
}

TEST(EndpointsGrants, ThreeHundredSubscriptionsAtOneDefaultPublisherAllGetTheirDefault) {
  TestDomain domain;
  Child others([&](Child& self) {
    const auto participant = domain.join();
    std::vector<std::shared_ptr<Reader>> readers;
    for (int i = 0; i < 300; ++i) readers.push_back(make_reader(*participant, "t"));
    for (const auto& reader : readers) BATON_CHECK(matched(*reader, 1));
    self.say();
    self.hear();
    for (const auto& reader : readers) BATON_CHECK(value_of(take_sample(*reader)) == 7);
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), memory::PoolOptions());
  ASSERT_EQ(others.hear(), '.');
  ASSERT_TRUE(matched(*writer, 300));
  for (const auto& [reader, row] : rows_of(*participant, *writer)) {
    EXPECT_EQ(row.granted, QoS().held);
    EXPECT_EQ(row.slot_count, memory::kDefaultSlots);
    EXPECT_EQ(row.promised, 300 * QoS().held);
  }
  publish(*writer, 7).or_throw();
  others.say();
  EXPECT_EQ(others.wait(), 0);
}

TEST(EndpointsGrants, AWishThatNeverFitsIsAnErrorOnBothSidesThatNamesTheNumbersAndIsNotRepeated) {
  TestDomain domain;
  const auto participant = domain.join();
  auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(256));
  std::atomic<int> events{0};
  const auto reader = make_reader(*participant, "t", QoS().hold(300));
  reader->on_event([&](Event event) { events += event == Event::kIncompatibleQos ? 1 : 0; });
  const auto told = [](const Statuses& now) { return now.incompatible_qos_total == 1 && now.refused_now == 1; };
  ASSERT_TRUE(eventually([&] { return told(reader->statuses()); }));
  ASSERT_TRUE(eventually([&] { return told(writer->statuses()); }));
  for (const std::string& text : {reader->statuses().last_incompatibility, writer->statuses().last_incompatibility}) {
    for (const char* number : {"300", "119", "256", "PublisherOptions::slot_count", "642"}) {
      EXPECT_NE(text.find(number), std::string::npos) << number << " in: " << text;
    }
  }
  ASSERT_TRUE(eventually([&] { return count(domain.diagnostics(), Errc::incompatible_qos) == 2; }));
  // Others are served, and nothing is said again: a temporary refusal is tried again after 100 ms.
  const auto other = make_reader(*participant, "t");
  EXPECT_TRUE(matched(*other, 1));
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(count(domain.diagnostics(), Errc::incompatible_qos), 2U);
  EXPECT_EQ(reader->statuses().incompatible_qos_total, 1U);
  EXPECT_EQ(reader->matched(), 0U);
  // A publisher that can serve it does so.
  writer.reset();
  EXPECT_TRUE(eventually([&] { return reader->statuses().refused_now == 0; }));
  writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(642));
  EXPECT_TRUE(matched(*reader, 1));
  EXPECT_EQ(rows_of(*participant, *writer)[reader->gid()].granted, 300U);
}

TEST(EndpointsGrants, AWishThatDoesNotFitNowIsRefusedWholeAndServedWholeLater) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(256));
  auto first = make_reader(*participant, "t", QoS().hold(100));
  ASSERT_TRUE(matched(*first, 1));
  const auto second = make_reader(*participant, "t", QoS().hold(100));
  ASSERT_TRUE(eventually([&] { return second->statuses().refused_now == 1; }));
  EXPECT_EQ(writer->statuses().refused_now, 1U);
  EXPECT_NE(second->statuses().last_refusal.find("100 of them to its process (or user), which gets at most 178"),
            std::string::npos)
      << second->statuses().last_refusal;
  EXPECT_EQ(second->statuses().incompatible_qos_total, 0U);
  Holding row = rows_of(*participant, *writer)[second->gid()];
  EXPECT_EQ(row.standing, Holding::Standing::kRefused);
  EXPECT_EQ(row.wished, 100U);
  EXPECT_NE(row.reason.find("178"), std::string::npos) << row.reason;
  first.reset();
  ASSERT_TRUE(matched(*second, 1));
  row = rows_of(*participant, *writer)[second->gid()];
  EXPECT_EQ(row.standing, Holding::Standing::kConnected);
  EXPECT_EQ(row.granted, 100U);
  EXPECT_EQ(second->statuses().refused_now, 0U);
  EXPECT_EQ(writer->statuses().refused_now, 0U);
}

TEST(EndpointsGrants, ADefaultWishGetsWhatIsLeftAndBothSidesSaySo) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(16));
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  const Holding row = rows_of(*participant, *writer)[reader->gid()];
  EXPECT_EQ(row.granted, 7U);
  EXPECT_EQ(row.wished, 8U);
  EXPECT_FALSE(row.reason.empty());
  EXPECT_TRUE(eventually([&] { return count(domain.diagnostics(), Errc::limit_reached) == 2; }));
}

TEST(EndpointsGrants, TooFewSlotsForAnySubscriptionAreRefusedAtOnce) {
  TestDomain domain;
  const auto participant = domain.join();
  Participant::WriterOptions options;
  options.topic = "t";
  options.type = number_type();
  options.pool = pool_of(3);
  const auto refused = participant->create_writer(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  EXPECT_NE(refused.error().message.find("slot_count"), std::string::npos) << refused.error().message;
}

TEST(EndpointsGrants, AGreedyProcessLeavesHonestOnesTheirDefault) {
  TestDomain domain;
  Child greedy([&](Child& self) {
    const auto participant = domain.join();
    std::vector<std::shared_ptr<Reader>> readers;
    for (std::uint32_t wish = 65536; wish > 0; wish /= 2) {
      for (int i = 0; i < 8; ++i) readers.push_back(make_reader(*participant, "t", QoS(1).hold(wish)));
    }
    const auto answered = [](const auto& reader) { return reader->matched() + reader->statuses().refused_now == 1; };
    BATON_CHECK(eventually([&] { return std::all_of(readers.begin(), readers.end(), answered); }));
    self.say();
    self.hear();
  });
  Child honest([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    std::vector<std::shared_ptr<Reader>> readers;
    for (int i = 0; i < 5; ++i) readers.push_back(make_reader(*participant, "t"));
    for (const auto& reader : readers) BATON_CHECK(matched(*reader, 1));
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(256));
  ASSERT_EQ(greedy.hear(), '.');
  const auto before = rows_of(*participant, *writer);
  ASSERT_FALSE(before.empty());
  EXPECT_LE(before.begin()->second.promised, 178U);
  EXPECT_GE(before.begin()->second.promised, 170U);
  honest.say();
  ASSERT_EQ(honest.hear(), '.');
  std::uint32_t full = 0;
  for (const auto& [reader, row] : rows_of(*participant, *writer)) {
    full += before.count(reader) == 0 && row.granted == QoS().held ? 1 : 0;
  }
  EXPECT_EQ(full, 5U);
  honest.say();
  EXPECT_EQ(honest.wait(), 0);
  greedy.say();
  EXPECT_EQ(greedy.wait(), 0);
}

TEST(EndpointsGrants, SamplesOfSubscriptionsThatEndedCountToTheirProcess) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(256));
  auto reader = make_reader(*participant, "t", QoS().keep_all(100).hold(100));
  ASSERT_TRUE(matched(*reader, 1));
  std::vector<TakenSample> kept;
  for (std::uint64_t i = 0; i < 100; ++i) {
    publish(*writer, i).or_throw();
    kept.push_back(take_sample(*reader));
  }
  reader = make_reader(*participant, "t", QoS().hold(100));
  ASSERT_TRUE(eventually([&] { return reader->statuses().refused_now == 1; }));
  bool left = false;
  for (const auto& [gid, row] : rows_of(*participant, *writer)) {
    if (row.standing != Holding::Standing::kLeft) continue;
    left = true;
    EXPECT_EQ(row.held, 100U);
    EXPECT_EQ(row.promised, 100U);
  }
  EXPECT_TRUE(left);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(value_of(kept[i]), i);
  kept.clear();
  publish(*writer, 1).or_throw();
  EXPECT_TRUE(matched(*reader, 1));
}

TEST(EndpointsGrants, AProcessWithSeveralConnectionsHasOneShare) {
  TestDomain domain;
  Child greedy([&](Child& self) {
    // Two names of one directory: two hubs, of which each has a connection to the publisher.
    ParticipantOptions again;
    again.domain = 0;
    again.runtime_directory = domain.path() + "/.";
    const std::shared_ptr<Participant> participants[] = {domain.join(), Participant::join(again).or_throw()};
    BATON_CHECK(participants[0] != participants[1]);
    std::vector<std::shared_ptr<Reader>> readers;
    for (int i = 0; i < 30; ++i) {
      for (const auto& participant : participants) readers.push_back(make_reader(*participant, "t"));
    }
    const auto answered = [](const auto& reader) { return reader->matched() + reader->statuses().refused_now == 1; };
    BATON_CHECK(eventually([&] { return std::all_of(readers.begin(), readers.end(), answered); }));
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(256));
  ASSERT_EQ(greedy.hear(), '.');
  const auto rows = rows_of(*participant, *writer);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.begin()->second.promised, 178U);
  greedy.say();
  EXPECT_EQ(greedy.wait(), 0);
}

TEST(EndpointsGrants, AllProcessesOfAnotherUserTogetherHaveOneShare) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start processes of other users";
  constexpr gid_t kGroup = 54321;
  TestDomain domain;
  ASSERT_EQ(::chown(domain.path().c_str(), 54001, kGroup), 0);
  ASSERT_EQ(::chmod(domain.path().c_str(), 02770), 0);
  const auto become = [](uid_t user) {
    BATON_CHECK(::setgroups(0, nullptr) == 0 && ::setgid(kGroup) == 0 && ::setuid(user) == 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // setuid() took it back
  };
  // Two processes of one other user, which want all; they start one after the other.
  const auto greedy = [&](Child& self) {
    become(54002);
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    std::vector<std::shared_ptr<Reader>> readers;
    for (int i = 0; i < 40; ++i) readers.push_back(make_reader(*participant, "t"));
    const auto answered = [](const auto& reader) { return reader->matched() + reader->statuses().refused_now == 1; };
    BATON_CHECK(eventually([&] { return std::all_of(readers.begin(), readers.end(), answered); }));
    self.say();
    self.hear();
  };
  Child publisher([&](Child& self) {
    become(54001);
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(256));
    self.say();
    BATON_CHECK(self.hear() == '.');
    const auto rows = rows_of(*participant, *writer);
    BATON_CHECK(!rows.empty());
    BATON_CHECK(rows.begin()->second.promised == 178);
    self.say();
    self.hear();
  });
  Child first(greedy), second(greedy);
  Child honest([&](Child& self) {
    become(54003);
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t");
    BATON_CHECK(matched(*reader, 1));
    self.say();
    self.hear();
  });
  ASSERT_EQ(publisher.hear(), '.');
  for (Child* child : {&first, &second, &publisher, &honest}) {
    child->say();
    ASSERT_EQ(child->hear(), '.');
  }
  for (Child* child : {&first, &second, &publisher, &honest}) {
    child->say();
    EXPECT_EQ(child->wait(), 0);
  }
}

/// Advances the cursor of a connection over everything that was published, as a reader that takes it and gives nothing back.
void take_all_and_keep_it(Reader& reader) {
  os::HotVector<ConnectionRef> connections;
  reader.impl().append_connections(&connections);
  BATON_CHECK(connections.size() == 1);
  ReaderConnection& connection = *connections[0];
  const auto unread = connection.channel->queue().size();
  connection.layout.cursor->fetch_add(unread);
}

TEST(EndpointsGrants, AReaderThatHoldsMoreThanItWasGrantedIsExpelledAndPinsNothing) {
  TestDomain domain;
  Child hostile([&](Child& self) {
    const auto participant = domain.join();
    // Granted one sample; a long queue lets it take many.
    const auto reader = make_reader(*participant, "t", QoS(1000).hold(1));
    BATON_CHECK(matched(*reader, 1));
    self.say();
    BATON_CHECK(self.hear() == '.');
    take_all_and_keep_it(*reader);
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(64));
  const auto honest = make_reader(*participant, "t");
  ASSERT_EQ(hostile.hear(), '.');
  ASSERT_TRUE(matched(*writer, 2));
  // Messages above 64 KiB take a slot each.
  const std::size_t bytes = (std::size_t{64} << 10) - 1;
  for (std::uint64_t i = 1; i <= 62; ++i) publish(*writer, i, bytes).or_throw();
  hostile.say();
  ASSERT_EQ(hostile.hear(), '.');
  for (std::uint64_t i = 63; i <= 200; ++i) ASSERT_TRUE(publish(*writer, i, bytes).ok()) << i;
  EXPECT_TRUE(matched(*writer, 1));
  EXPECT_TRUE(eventually([&] {
    return domain.diagnostics().text(Errc::protocol_violation).find("more than the 1 samples it was granted") !=
           std::string::npos;
  }));
  EXPECT_EQ(value_of(take_sample(*honest)), 191U);
  hostile.say();
  hostile.wait();
}

// An honest subscription with a long queue is stopped while it holds its samples: they are the oldest messages of the publisher, behind
// which its queue fills all the other slots.
TEST(EndpointsGrants, ASubscriptionThatSleepsOnALongQueueStopsNoPublisher) {
  for (const memory::Policy policy :
       {memory::Policy::kBestEffort, memory::Policy::kMediumEffort, memory::Policy::kWorstEffort}) {
    TestDomain domain;
    const auto participant = domain.join();
    memory::PoolOptions pool = pool_of(64);
    pool.policy = policy;
    const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool);
    const auto sleepy = make_reader(*participant, "t", QoS(65536));
    const auto honest = make_reader(*participant, "t", QoS(2));
    ASSERT_TRUE(matched(*writer, 2));
    const std::size_t bytes = (std::size_t{64} << 10) - 1;
    std::vector<TakenSample> held;
    for (std::uint64_t i = 1; i <= 500; ++i) {
      ASSERT_TRUE(publish(*writer, i, bytes).ok()) << i << " with policy " << static_cast<int>(policy);
      if (i <= 8) held.push_back(take_sample(*sleepy));
      if (i % 100 == 0) {
        EXPECT_EQ(value_of(take_sample(*honest)), i - 1);
      }
    }
    for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_EQ(value_of(held[i - 1]), i) << "what is held stays";
    held.clear();
    // The newest messages waited for it: as many as the queues' share of the slots.
    std::uint64_t last = 0, got = 0;
    for (std::uint64_t value = take(*sleepy); value != kNothing; value = take(*sleepy)) {
      EXPECT_GT(value, last);
      last = value;
      ++got;
    }
    EXPECT_EQ(last, 500U);
    EXPECT_GE(got, 10U);
  }
}

TEST(EndpointsGrants, AReaderAtItsLimitNeverTakesOneMoreToGiveItUp) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto first = make_writer(*participant, "t"), second = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(2).hold(1));
  ASSERT_TRUE(matched(*reader, 2));
  publish(*first, 1).or_throw();
  const TakenSample held = take_sample(*reader);
  publish(*first, 2).or_throw();  // waits: the limit is reached
  publish(*second, 3).or_throw();
  publish(*second, 4).or_throw();
  EXPECT_EQ(take(*reader), 3U) << "of the others the newest two count";
  EXPECT_EQ(take(*reader), 4U);
  EXPECT_EQ(rows_of(*participant, *first)[reader->gid()].unread, 1U);
  EXPECT_EQ(reader->take().error().code, Errc::held_limit);
}

}  // namespace
}  // namespace baton::transport::test
