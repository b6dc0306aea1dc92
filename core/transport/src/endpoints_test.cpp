// SPDX-License-Identifier: Apache-2.0
// Writers and readers of one process: they take the same way through sockets' frames, queues and segments as those of two,
// only that the frames do not leave the process. Real processes: endpoints_processes_test.cpp.
#include <algorithm>
#include <atomic>
#include <future>
#include <tuple>

#include <poll.h>

#include "baton/os/clock.hpp"
#include "endpoint_test_support.hpp"
#include "participant.hpp"

namespace baton::transport::test {
namespace {

using Endpoints = OneProcess;

TEST_F(Endpoints, AMessageArrivesWithItsMetadata) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  EXPECT_FALSE(reader->take().value());
  ASSERT_EQ(publish(*writer, 42).value(), 1U);
  const TakenSample sample = reader->take().or_throw();
  ASSERT_TRUE(sample);
  EXPECT_EQ(value_of(sample), 42U);
  EXPECT_EQ(sample.size_bytes(), 8U);
  EXPECT_EQ(sample.sequence(), 1U);
  EXPECT_EQ(sample.header().sequence, 1U);
  EXPECT_EQ(std::memcmp(sample.header().publisher_id, writer->gid().data(), 16), 0);
  EXPECT_FALSE(reader->take().value());
}

TEST_F(Endpoints, AnEndpointKeepsTheGidThatItWasGiven) {
  Participant::WriterOptions writing;
  writing.topic = "t";
  writing.type = number_type();
  writing.pool = small_pool();
  writing.gid = {1, 2, 3};
  Participant::ReaderOptions reading;
  reading.topic = "t";
  reading.type = number_type();
  reading.gid = {4, 5, 6};
  const auto writer = participant->create_writer(writing).or_throw();
  auto reader = participant->create_reader(reading).or_throw();
  ASSERT_TRUE(matched(*reader, 1));
  EXPECT_EQ(writer->gid(), writing.gid);
  EXPECT_EQ(writer->matched_readers(), std::vector<Gid>{reading.gid});
  publish(*writer, 7).or_throw();
  EXPECT_EQ(std::memcmp(reader->take().or_throw().header().publisher_id, writing.gid.data(), 16), 0);
  EXPECT_EQ(participant->create_reader(reading).error().code, Errc::already_exists);
  reader.reset();
  EXPECT_TRUE(eventually([&] { return writer->matched_readers().empty(); }));
  EXPECT_TRUE(participant->create_reader(reading).ok());
}

TEST_F(Endpoints, OneParticipantPerDirectoryAndDomain) {
  EXPECT_EQ(participant, domain.join());
  EXPECT_NE(participant, domain.join(1));
}

TEST_F(Endpoints, KeepLastLosesTheOldestAndCountsThem) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(3));
  ASSERT_TRUE(matched(*reader, 1));
  for (std::uint64_t i = 1; i <= 10; ++i) publish(*writer, i).or_throw();
  EXPECT_EQ(take(*reader), 8U);
  EXPECT_EQ(reader->statuses().lost_total, 7U);
  EXPECT_EQ(take(*reader), 9U);
  EXPECT_EQ(take(*reader), 10U);
  EXPECT_EQ(take(*reader), kNothing);
  EXPECT_EQ(reader->statuses().lost_total, 7U);
}

TEST_F(Endpoints, AReaderThatDoesNotKnowTheFirstNumberCountsWhatIsMissingFromTheFirstMessageOn) {
  Participant::WriterOptions options;
  options.topic = "t";
  options.node = "relay";
  options.type = number_type();
  options.pool = small_pool();
  options.relayed = true;
  const auto writer = participant->create_writer(options).or_throw();
  const auto reader = make_reader(*participant, "t", QoS(2));
  ASSERT_TRUE(matched(*reader, 1));
  for (const std::uint64_t sequence :
       {101U, 102U, 105U, 106U}) {  // the first two are evicted; 103 and 104 were lost on the way
    const memory::Chunk chunk = writer->loan_sized(8).or_throw();
    std::memcpy(chunk.message(), &sequence, 8);
    Origin origin;
    origin.sequence = sequence;
    PublishInfo info;
    info.origin = &origin;
    writer->publish(chunk, info).or_throw();
  }
  EXPECT_EQ(take(*reader), 105U);
  EXPECT_EQ(reader->statuses().lost_total, 2U) << "what came before the first message that arrived here is unknown";
  EXPECT_EQ(take(*reader), 106U);
  EXPECT_EQ(reader->statuses().lost_total, 2U);
}

TEST_F(Endpoints, HoldingsSayWhoHasWhichMessages) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(3));
  ASSERT_TRUE(matched(*reader, 1));
  for (std::uint64_t i = 1; i <= 3; ++i) publish(*writer, i).or_throw();
  TakenSample first = reader->take().or_throw();
  const TakenSample second = reader->take().or_throw();
  first = {};
  std::vector<Holding> holdings = participant->holdings(std::chrono::seconds(30)).or_throw();
  ASSERT_EQ(holdings.size(), 1U);
  EXPECT_EQ(holdings[0].writer, writer->gid());
  EXPECT_EQ(holdings[0].reader, reader->gid());
  EXPECT_EQ(holdings[0].unread, 1U);
  EXPECT_EQ(holdings[0].held, 1U);
  ASSERT_EQ(holdings[0].chunks.size(), 1U);
  EXPECT_EQ(holdings[0].chunks[0].sequence, second.sequence());
  EXPECT_EQ(holdings[0].chunks[0].size_bytes, second.size_bytes());
}

TEST_F(Endpoints, HoldingsCountTheBytesOfAllHeldMessagesAndListTheOldest) {
  const auto writer = make_writer(*participant, "t");
  QoS qos(12);
  qos.held = 12;
  const auto reader = make_reader(*participant, "t", qos);
  ASSERT_TRUE(matched(*reader, 1));
  for (std::uint64_t i = 1; i <= 12; ++i) publish(*writer, i).or_throw();
  std::vector<TakenSample> kept;
  for (int i = 0; i < 12; ++i) kept.push_back(reader->take().or_throw());
  const std::vector<Holding> holdings = participant->holdings(std::chrono::seconds(30)).or_throw();
  ASSERT_EQ(holdings.size(), 1U);
  EXPECT_EQ(holdings[0].held, 12U);
  EXPECT_EQ(holdings[0].chunks.size(), Holding::kMostChunks);
  EXPECT_EQ(holdings[0].held_bytes, 12U * kept[0].size_bytes());
}

TEST_F(Endpoints, SeveralWritersAreMergedBySourceTime) {
  const auto a = make_writer(*participant, "t"), b = make_writer(*participant, "t"), c = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(100));
  ASSERT_TRUE(matched(*reader, 3));
  std::uint64_t value = 0;
  for (const auto& writer : {b, a, c, c, a, b, a}) publish(*writer, ++value).or_throw();
  for (std::uint64_t i = 1; i <= value; ++i) EXPECT_EQ(take(*reader), i);
  EXPECT_EQ(take(*reader), kNothing);
}

TEST_F(Endpoints, AReaderThatMatchesNoMoreKeepsItsPublishersAndGetsNoOthers) {
  auto early = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  EXPECT_EQ(reader->publishers(), (std::map<Gid, bool>{{early->gid(), true}}));
  reader->stop_matching();
  const auto late = make_writer(*participant, "t");
  const auto other = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*other, 2));
  EXPECT_EQ(other->publishers(), (std::map<Gid, bool>{{early->gid(), true}, {late->gid(), true}}));
  EXPECT_EQ(late->matched_readers(), std::vector<Gid>{other->gid()});
  publish(*late, 1).or_throw();
  publish(*early, 2).or_throw();
  EXPECT_EQ(take(*reader), 2U);
  early.reset();
  EXPECT_TRUE(eventually([&] { return reader->publishers().empty(); }));
}

TEST_F(Endpoints, AReaderNamesThePublishersThatAreGoneUntilTheirMessagesAreTaken) {
  auto silent = make_writer(*participant, "t"), first = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 2));
  const Gid gid = first->gid();
  publish(*first, 1).or_throw();
  ASSERT_TRUE(eventually([&] { return static_cast<bool>(reader->take_from(gid).or_throw()); })) << "with its segment";
  publish(*first, 2).or_throw();
  EXPECT_TRUE(reader->gone_publishers().empty());
  silent.reset();
  first.reset();
  ASSERT_TRUE(matched(*reader, 0));
  const std::vector<EndpointInfo> gone = reader->gone_publishers();
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].gid, gid);
  EXPECT_EQ(gone[0].topic, "t");
  EXPECT_TRUE(gone[0].is_writer);
  EXPECT_EQ(gone[0].local_pid, ::getpid());
  EXPECT_EQ(value_of(reader->take_from(gid).or_throw()), 2U);
  EXPECT_TRUE(reader->gone_publishers().empty());
}

TEST_F(Endpoints, WhoTakesFromOneWriterLeavesTheMessagesOfTheOthers) {
  const auto first = make_writer(*participant, "t"), second = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(2).hold(1));
  ASSERT_TRUE(matched(*reader, 2));
  for (std::uint64_t i = 0; i < 2; ++i) {
    publish(*first, i).or_throw();
    publish(*second, 10 + i).or_throw();
  }
  const TakenSample held = reader->take_from(second->gid()).or_throw();
  EXPECT_EQ(value_of(held), 10U) << "older ones of the other do not count, and KEEP_LAST gives none up";
  EXPECT_EQ(reader->take_from(second->gid()).error().code, Errc::held_limit);
  TakenSample other = reader->take_from(first->gid()).or_throw();
  EXPECT_EQ(value_of(other), 0U);
  other.release();
  EXPECT_EQ(value_of(reader->take_from(first->gid()).or_throw()), 1U);
  EXPECT_FALSE(reader->take_from(first->gid()).or_throw());
  EXPECT_FALSE(reader->take_from(Gid{}).or_throw()) << "of a writer that nobody knows";
}

TEST_F(Endpoints, KeepLastCountsOverAllWritersTogether) {
  const auto a = make_writer(*participant, "t"), b = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(4));
  ASSERT_TRUE(matched(*reader, 2));
  for (std::uint64_t i = 1; i <= 4; ++i) publish(*a, i).or_throw();
  for (std::uint64_t i = 5; i <= 7; ++i) publish(*b, i).or_throw();
  for (std::uint64_t i = 4; i <= 7; ++i) EXPECT_EQ(take(*reader), i);
  EXPECT_EQ(take(*reader), kNothing);
  EXPECT_EQ(reader->statuses().lost_total, 3U);
}

TEST_F(Endpoints, KeepAllRefusesToPublishWhenTheQueueIsFull) {
  const auto writer = make_writer(*participant, "t", QoS().keep_all());
  const auto reader = make_reader(*participant, "t", QoS().keep_all(3));
  const auto other = make_reader(*participant, "t", QoS(2));
  ASSERT_TRUE(matched(*writer, 2) && matched(*reader, 1) && matched(*other, 1));
  for (std::uint64_t i = 1; i <= 3; ++i) publish(*writer, i).or_throw();
  EXPECT_EQ(publish(*writer, 4).error().code, Errc::queue_full);
  EXPECT_EQ(take(*reader), 1U);
  EXPECT_TRUE(publish(*writer, 4).ok());
  for (std::uint64_t i = 2; i <= 4; ++i) EXPECT_EQ(take(*reader), i);
  EXPECT_EQ(reader->statuses().lost_total, 0U);
  EXPECT_EQ(take(*other), 3U);  // the refused message went to nobody
  EXPECT_EQ(take(*other), 4U);
}

TEST_F(Endpoints, ABestEffortReaderNeverHoldsAWriterUp) {
  const auto writer = make_writer(*participant, "t", QoS().keep_all());
  const auto reader = make_reader(*participant, "t", QoS().keep_all(2).best_effort());
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_TRUE(publish(*writer, i).ok());
  EXPECT_EQ(take(*reader), 4U);
  EXPECT_EQ(take(*reader), 5U);
}

TEST_F(Endpoints, SamplesHeldOfOnePublisherDoNotHoldUpTheOthersMessages) {
  const auto first = make_writer(*participant, "t"), second = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(10).hold(1));
  ASSERT_TRUE(matched(*reader, 2));
  publish(*first, 1).or_throw();
  publish(*first, 2).or_throw();
  publish(*second, 3).or_throw();
  TakenSample held = reader->take().or_throw();
  EXPECT_EQ(take(*reader), 3U);
  EXPECT_EQ(reader->take().error().code, Errc::held_limit);
  EXPECT_FALSE(reader->has_data());
  held.release();
  EXPECT_EQ(take(*reader), 2U);
}

TEST_F(Endpoints, DurationsNearTheEndOfTimeAreEndless) {
  QoS qos(10);
  qos.deadline = qos.lease = qos.lifespan = kInfinite - 1ns;
  qos.liveliness = Liveliness::kManualByTopic;
  const auto writer = make_writer(*participant, "t", qos);
  const auto reader = make_reader(*participant, "t", qos);
  ASSERT_TRUE(matched(*reader, 1));
  publish(*writer, 1).or_throw();
  EXPECT_EQ(take(*reader), 1U);
  EXPECT_EQ(reader->statuses().deadline_missed_total, 0U);
  EXPECT_EQ(reader->statuses().alive_now, 1U);
}

TEST_F(Endpoints, MessagesThatWaitForTheHeldLimitAreCountedAndReportedOnce) {
  const auto writer = make_writer(*participant, "t"), other = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(10).hold(2));
  WaitSet waits;
  waits.add(reader).or_throw();
  ASSERT_TRUE(matched(*reader, 2));
  std::vector<TakenSample> kept;
  const auto fill = [&] {
    while (kept.size() < 2) {
      publish(*writer, 1).or_throw();
      kept.push_back(take_sample(*reader));
    }
  };
  // What a publisher does that goes on, and an executor that waits for messages.
  const auto goes_on = [&](std::uint64_t total) {
    return eventually([&] {
      publish(*writer, 2).or_throw();
      static_cast<void>(waits.wait(10ms));
      return reader->statuses().held_limit_total == total;
    });
  };
  fill();
  EXPECT_EQ(reader->statuses().held_limit_now, 0U) << "nothing waits";
  publish(*other, 3).or_throw();
  EXPECT_EQ(take_sample(*reader).header().sequence, 1U) << "the other publisher's messages do not wait";
  EXPECT_TRUE(goes_on(1));
  EXPECT_EQ(reader->statuses().held_limit_now, 1U);
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::held_limit); }));
  kept.clear();
  while (reader->take().or_throw()) {
  }
  EXPECT_EQ(reader->statuses().held_limit_now, 0U);
  fill();
  EXPECT_TRUE(goes_on(2)) << "counted again";
  std::atomic<bool> drained{false};  // a second report would be posted by now
  participant->impl().post([&] { drained = true; });
  EXPECT_TRUE(eventually([&] { return drained.load(); }));
  EXPECT_EQ(domain.diagnostics().count(Errc::held_limit), 1U) << "but not reported again";
}

TEST_F(Endpoints, TheHeldLimitIsAnErrorThatARelaseCures) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(10).hold(2));
  ASSERT_TRUE(matched(*reader, 1));
  for (std::uint64_t i = 1; i <= 5; ++i) publish(*writer, i).or_throw();
  TakenSample first = reader->take().or_throw();
  const TakenSample second = reader->take().or_throw();
  const Result<TakenSample> third = reader->take();
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, Errc::held_limit);
  EXPECT_NE(third.error().message.find("'t'"), std::string::npos);
  first.release();
  EXPECT_EQ(take(*reader), 3U);
}

TEST_F(Endpoints, ADescriptorRestsAtTheHeldLimitUntilSomethingChanges) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(5).hold(1));
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  ::pollfd entry{reader->pollable_fd().or_throw(), POLLIN, 0};
  settle(*participant);  // the publisher has the socket and has notified once for it
  EXPECT_EQ(take(*reader), kNothing);
  for (std::uint64_t i = 1; i <= 3; ++i) publish(*writer, i).or_throw();
  TakenSample held = reader->take().or_throw();
  EXPECT_EQ(::poll(&entry, 1, 0), 1);
  EXPECT_EQ(reader->take().error().code, Errc::held_limit);
  EXPECT_EQ(::poll(&entry, 1, 0), 0);
  publish(*writer, 4).or_throw();
  EXPECT_EQ(::poll(&entry, 1, 20000), 1);
  EXPECT_EQ(reader->take().error().code, Errc::held_limit);
  EXPECT_EQ(::poll(&entry, 1, 0), 0);
  held.release();
  EXPECT_EQ(::poll(&entry, 1, 20000), 1);
  for (std::uint64_t i = 2; i <= 4; ++i) EXPECT_EQ(take(*reader), i);
  EXPECT_EQ(take(*reader), kNothing);
  EXPECT_EQ(::poll(&entry, 1, 0), 0);
}

TEST_F(Endpoints, HeldSamplesKeepTheirContentWhateverIsPublished) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(1).hold(4));
  ASSERT_TRUE(matched(*reader, 1));
  std::vector<TakenSample> held;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    publish(*writer, i).or_throw();
    held.push_back(reader->take().or_throw());
  }
  for (std::uint64_t i = 100; i < 1100; ++i) publish(*writer, i).or_throw();
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(value_of(held[i - 1]), i);
}

TEST_F(Endpoints, ALateReaderGetsTheHistoryOfATransientLocalWriter) {
  const auto writer = make_writer(*participant, "t", QoS(3).transient_local());
  for (std::uint64_t i = 1; i <= 5; ++i) publish(*writer, i).or_throw();
  const auto late = make_reader(*participant, "t", QoS(10).transient_local());
  const auto shallow = make_reader(*participant, "t", QoS(2).transient_local());
  const auto fresh = make_reader(*participant, "t", QoS(10));
  ASSERT_TRUE(matched(*writer, 3) && matched(*late, 1) && matched(*shallow, 1) && matched(*fresh, 1));
  publish(*writer, 6).or_throw();
  for (std::uint64_t i = 3; i <= 6; ++i) EXPECT_EQ(take(*late), i);
  EXPECT_EQ(late->statuses().lost_total, 0U);
  EXPECT_EQ(take(*shallow), 5U);
  EXPECT_EQ(take(*shallow), 6U);
  EXPECT_EQ(take(*fresh), 6U);
}

TEST_F(Endpoints, AnExpiredMessageIsNotDelivered) {
  QoS qos;
  qos.lifespan = 1s;  // the second message is taken before it is over, also on a busy machine
  const auto writer = make_writer(*participant, "t", qos);
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  publish(*writer, 1).or_throw();
  std::this_thread::sleep_for(1100ms);
  publish(*writer, 2).or_throw();
  EXPECT_EQ(take(*reader), 2U);
  EXPECT_EQ(reader->statuses().lost_total, 0U);
}

TEST_F(Endpoints, TheShorterLifespanOfBothEndsCounts) {
  QoS shorter;
  shorter.lifespan = 1ms;
  const auto endless = make_writer(*participant, "a"), ends_soon = make_writer(*participant, "b", shorter);
  const auto asks = make_reader(*participant, "a", shorter), takes_all = make_reader(*participant, "b");
  ASSERT_TRUE(matched(*asks, 1) && matched(*takes_all, 1));
  for (const auto& writer : {endless, ends_soon}) publish(*writer, 1).or_throw();
  std::this_thread::sleep_for(5ms);
  for (const auto& reader : {asks, takes_all}) {
    EXPECT_FALSE(reader->take().or_throw());
    EXPECT_EQ(reader->losses().lifespan, 1U);
  }
}

TEST_F(Endpoints, AReaderKnowsHowMuchIsUnread) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  EXPECT_EQ(reader->unread(), 0U);
  for (std::uint64_t i = 1; i <= 3; ++i) publish(*writer, i).or_throw();
  EXPECT_EQ(reader->unread(), 3U);
  const TakenSample sample = reader->take().or_throw();
  EXPECT_EQ(reader->unread(), 2U);
}

TEST_F(Endpoints, AMissedDeadlineIsReportedOnBothSidesFromTheFirstMessageOn) {
  QoS qos;
  qos.deadline = 20ms;
  const auto writer = make_writer(*participant, "t", qos);
  const auto reader = make_reader(*participant, "t", qos);
  std::atomic<int> events{0};
  reader->on_event([&](Event event) { events += event == Event::kDeadlineMissed ? 1 : 0; });
  ASSERT_TRUE(matched(*reader, 1));
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(writer->statuses().deadline_missed_total, 0U);
  EXPECT_EQ(reader->statuses().deadline_missed_total, 0U);
  EXPECT_EQ(reader->newest_ns(), 0);
  publish(*writer, 1).or_throw();
  EXPECT_GT(reader->newest_ns(), 0);
  EXPECT_TRUE(eventually([&] { return writer->statuses().deadline_missed_total >= 2; }));
  EXPECT_TRUE(eventually([&] { return reader->statuses().deadline_missed_total >= 2 && events >= 2; }));
}

TEST_F(Endpoints, ManualLivelinessIsLostAndComesBack) {
  QoS qos;
  qos.liveliness = Liveliness::kManualByTopic;
  qos.lease = 40ms;
  const auto writer = make_writer(*participant, "t", qos);
  const auto reader = make_reader(*participant, "t", qos);
  ASSERT_TRUE(matched(*reader, 1));
  EXPECT_TRUE(eventually([&] { return reader->statuses().not_alive_now == 1; }));
  EXPECT_TRUE(eventually([&] { return writer->statuses().liveliness_lost_total == 1; }));
  EXPECT_TRUE(eventually([&] {
    writer->assert_liveliness();
    return reader->statuses().alive_now == 1;
  }));
}

TEST_F(Endpoints, IncompatibleQosIsReportedOnBothSidesAndNothingFlows) {
  const auto writer = make_writer(*participant, "t", QoS().best_effort());
  const auto reader = make_reader(*participant, "t", QoS());
  EXPECT_TRUE(eventually([&] { return writer->statuses().incompatible_qos_total == 1; }));
  EXPECT_TRUE(eventually([&] { return reader->statuses().incompatible_qos_total == 1; }));
  EXPECT_NE(reader->statuses().last_incompatibility.find("reliability"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::incompatible_qos); }));
  EXPECT_EQ(writer->matched(), 0U);
}

TEST_F(Endpoints, ADifferingDefinitionIsRefusedWithTheDifference) {
  TypeInfo other = number_type(2);
  other.definition = "uint64 value\nuint8 extra\n";
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(), other);
  EXPECT_TRUE(eventually([&] { return writer->statuses().incompatible_type_total == 1; }));
  EXPECT_TRUE(eventually(
      [&] { return reader->statuses().last_incompatibility.find("- here:  uint8 extra") != std::string::npos; }));
  EXPECT_TRUE(eventually(
      [&] { return writer->statuses().last_incompatibility.find("- there: uint8 extra") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::type_mismatch); }));
  EXPECT_EQ(reader->matched(), 0U);
}

TEST_F(Endpoints, AnotherTypeNameIsRefused) {
  TypeInfo other = number_type();
  other.name = "test/Other";
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS(), other);
  EXPECT_TRUE(eventually([&] { return reader->statuses().incompatible_type_total == 1; }));
  EXPECT_TRUE(eventually([&] { return writer->statuses().incompatible_type_total == 1; }));
}

TEST_F(Endpoints, EndpointsMayGoInAnyOrderWhileSamplesLive) {
  std::string order = "prw";
  do {
    std::shared_ptr<Participant> process = participant ? std::move(participant) : domain.join();
    auto writer = make_writer(*process, "t");
    auto reader = make_reader(*process, "t");
    ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
    publish(*writer, 7).or_throw();
    publish(*writer, 8).or_throw();
    TakenSample sample = reader->take().or_throw();
    for (const char goes : order) {
      if (goes == 'p') process.reset();
      if (goes == 'r') reader.reset();
      if (goes == 'w') writer.reset();
    }
    EXPECT_EQ(value_of(sample), 7U) << order;
    sample.release();
    EXPECT_FALSE(sample);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Endpoints, APublisherThatIsExpelledLosesThisReaderOnly) {
  const auto writer = make_writer(*participant, "t");
  const auto other = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  const auto beside = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 2) && matched(*other, 2) && matched(*reader, 2) && matched(*beside, 2));
  publish(*writer, 1).or_throw();
  Result<TakenSample> kept = reader->take();
  ASSERT_TRUE(kept.ok() && *kept);
  reader->expel(kept->publisher(), "it changed a message");
  reader->expel(kept->publisher(), "once more");  // of a connection that is gone
  EXPECT_EQ(reader->matched(), 1U);
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::malformed_message); }));
  EXPECT_NE(domain.diagnostics().text(Errc::malformed_message).find("it changed a message"), std::string::npos);
  EXPECT_TRUE(matched(*writer, 1));
  publish(*writer, 2).or_throw();
  publish(*other, 3).or_throw();
  EXPECT_EQ(take(*reader), 3U);
  EXPECT_EQ(take(*beside), 1U);
  EXPECT_EQ(take(*beside), 2U);
}

TEST_F(Endpoints, UnreadMessagesOfAWriterThatLeftStayReadable) {
  auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  for (std::uint64_t i = 1; i <= 5; ++i) publish(*writer, i).or_throw();
  writer.reset();
  ASSERT_TRUE(matched(*reader, 0));
  EXPECT_TRUE(reader->has_data());
  for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(take(*reader), i);
  EXPECT_EQ(take(*reader), kNothing);
  EXPECT_FALSE(reader->has_data());
}

TEST_F(Endpoints, AReaderGetsWhatAWriterPublishedThatEndedBeforeTheReaderKnewOfTheirConnection) {
  const auto reader = make_reader(*participant, "t");
  const auto hold = [&](std::future<void> until) {
    participant->impl().post([until = std::make_shared<std::future<void>>(std::move(until))] { until->wait(); });
  };
  // The background thread answers ATTACH, and handles the answer only after the writer has ended.
  std::promise<void> writer_exists, writer_ended;
  hold(writer_exists.get_future());
  auto writer = make_writer(*participant, "t");
  hold(writer_ended.get_future());
  writer_exists.set_value();
  ASSERT_TRUE(matched(*writer, 1));
  EXPECT_EQ(reader->matched(), 0U);
  publish(*writer, 42).or_throw();
  publish(*writer, 43).or_throw();
  writer.reset();
  EXPECT_EQ(take(*reader), 42U);
  writer_ended.set_value();
  settle(*participant);
  EXPECT_EQ(take(*reader), 43U);
  EXPECT_EQ(reader->matched(), 0U);
  EXPECT_EQ(reader->statuses().lost_total, 0U);
}

TEST_F(Endpoints, AReaderGetsTheMessageOfEveryWriterThatEndsAtOnce) {
  const auto reader = make_reader(*participant, "t");
  for (std::uint64_t i = 0; i < 1000; ++i) {
    auto writer = make_writer(*participant, "t");
    while (writer->matched() == 0) std::this_thread::yield();
    publish(*writer, i).or_throw();
    writer.reset();
    ASSERT_EQ(value_of(take_sample(*reader)), i);
  }
  settle(*participant);
  EXPECT_EQ(domain.diagnostics().count(Errc::protocol_violation), 0U);
}

TEST_F(Endpoints, AConnectionWithoutAWriterIsUnmappedWhenItsLastSampleIsReleasedWithoutAnotherTake) {
  const auto maps = [] {
    std::ifstream file("/proc/self/maps");
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    std::size_t count = 0;
    for (const char* name : {"memfd:baton-connection", "memfd:baton-data"})
      for (std::size_t at = all.find(name); at != std::string::npos; at = all.find(name, at + 1)) ++count;
    return count;
  };
  const auto reader = make_reader(*participant, "t");
  const std::size_t before = maps();
  auto writer = make_writer(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  for (const std::uint64_t value : {1U, 2U}) publish(*writer, value).or_throw();
  TakenSample first = take_sample(*reader);
  writer.reset();
  ASSERT_TRUE(matched(*reader, 0));
  first = {};
  settle(*participant);
  ASSERT_GT(maps(), before) << "a message is unread";
  TakenSample last = take_sample(*reader);
  settle(*participant);
  EXPECT_EQ(value_of(last), 2U);
  EXPECT_GT(maps(), before) << "a sample is held";
  last = {};
  EXPECT_TRUE(eventually([&] { return maps() == before; })) << "what disposes of it has a thread of its own";
}

TEST_F(Endpoints, AShareOfALoanKeepsAWriterOpenWithoutItsHandle) {
  const auto reader = make_reader(*participant, "t");
  auto writer = make_writer(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  WriterShare share(*writer);
  WriterShare other = std::move(share);
  share.reset();  // empty: nothing happens
  const memory::Chunk chunk = writer->loan_sized(8).or_throw();
  const std::weak_ptr<Writer> handle = writer;
  writer.reset();
  EXPECT_TRUE(handle.expired());
  const std::uint64_t value = 5;
  std::memcpy(chunk.message(), &value, sizeof value);
  other->publish(chunk).or_throw();
  EXPECT_EQ(value_of(take_sample(*reader)), 5U);
  EXPECT_EQ(reader->matched(), 1U);
  other.reset();
  EXPECT_TRUE(matched(*reader, 0));
}

TEST_F(Endpoints, WhatIsSentBesideAMessageIsNotSentBesideTheNextOneInItsMemory) {
  const auto reader = make_reader(*participant, "t");
  auto writer = make_writer(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  PublishInfo info;
  info.correlation_sequence = 9;
  info.attachment[0] = 9;
  const memory::ChunkHeader* memory = nullptr;
  for (const bool beside : {true, false}) {
    const memory::Chunk chunk = writer->loan_growing().or_throw();
    if (memory == nullptr) memory = chunk.header;
    ASSERT_EQ(chunk.header, memory);
    Result<std::uint64_t> published = beside ? writer->publish(chunk, info) : writer->publish(chunk);
    std::move(published).or_throw();
    {
      const TakenSample sample = take_sample(*reader);
      EXPECT_EQ(sample.header().correlation_sequence, beside ? 9U : 0U);
      EXPECT_EQ(sample.header().attachment[0], beside ? 9 : 0);
      EXPECT_TRUE(std::equal(writer->gid().begin(), writer->gid().end(), sample.header().publisher_id));
    }
    (void)writer->memory_account();  // collects
  }
}

TEST_F(Endpoints, WhatWasMeantForAWriterThatEndedIsNotTakenForALaterOneWithItsGid) {
  const auto reader = make_reader(*participant, "t");
  Participant::WriterOptions options;
  options.topic = "t";
  options.type = number_type();
  options.pool = small_pool();
  options.gid = {7, 7};
  auto writer = participant->create_writer(options).or_throw();
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  settle(*participant);
  std::promise<void> began;
  participant->impl().post([&] { began.get_future().wait(); });
  // CLOSED of the first waits in the queue; behind it comes ATTACH to the second, which CLOSED must not end.
  writer->impl().end_connection(kSelf, reader->gid(), Error{Errc::limit_reached, "no room"});
  writer.reset();
  writer = participant->create_writer(options).or_throw();
  began.set_value();
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  publish(*writer, 5).or_throw();
  EXPECT_EQ(value_of(take_sample(*reader)), 5U);
  settle(*participant);
  EXPECT_EQ(domain.diagnostics().count(Errc::protocol_violation), 0U);
}

TEST_F(Endpoints, AReaderThatIsNeverAskedKeepsNothingOfWritersThatLeftButItsNewestMessages) {
  const auto reader = make_reader(*participant, "t", QoS(3));
  const auto connections = [] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find("memfd:baton-connection") != std::string::npos ? 1 : 0;
    return count;
  };
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto writer = make_writer(*participant, "t");
    ASSERT_TRUE(matched(*reader, 1));
    if (i % 2 == 0) publish(*writer, i).or_throw();
  }
  ASSERT_TRUE(matched(*reader, 0));
  EXPECT_LE(connections(), 3);
  EXPECT_EQ(reader->statuses().lost_total, 7u);
  EXPECT_EQ(take(*reader), 14u);
  EXPECT_EQ(take(*reader), 16u);
  EXPECT_EQ(take(*reader), 18u);
  EXPECT_EQ(take(*reader), kNothing);
  EXPECT_EQ(connections(), 0);
}

TEST_F(Endpoints, ASampleHeldByAReaderThatLeftIsNotOverwritten) {
  const auto writer = make_writer(*participant, "t");
  auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  publish(*writer, 1).or_throw();
  TakenSample sample = reader->take().or_throw();
  reader.reset();
  ASSERT_TRUE(matched(*writer, 0));
  for (std::uint64_t i = 100; i < 400; ++i) publish(*writer, i).or_throw();
  EXPECT_EQ(value_of(sample), 1U);
  sample.release();
  const auto used = [&] { return writer->memory_account().published_slots; };
  publish(*writer, 1).or_throw();
  EXPECT_LE(used(), 1U);
}

TEST_F(Endpoints, WaitForAllAckedEndsWhenEverythingWasTaken) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  EXPECT_TRUE(writer->wait_for_all_acked(0ns).ok());
  publish(*writer, 1).or_throw();
  EXPECT_EQ(writer->wait_for_all_acked(5ms).error().code, Errc::timed_out);
  std::thread taker([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(take(*reader), 1U);
  });
  EXPECT_TRUE(writer->wait_for_all_acked(kPatience).ok());
  taker.join();
}

TEST_F(Endpoints, TheGraphShowsNodesAndEndpointsAndSaysWhenItChanges) {
  const std::uint64_t before = participant->graph_version();
  participant->add_node("camera", "/enclave");
  auto writer = make_writer(*participant, "image");
  EXPECT_NE(participant->wait_graph_change(before, kPatience).value(), before);
  const std::vector<NodeInfo> nodes = participant->nodes();
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].name + nodes[0].enclave, "camera/enclave");
  EXPECT_EQ(nodes[0].pid, ::getpid());
  const auto endpoints = participant->endpoints();
  ASSERT_EQ(endpoints.size(), 1U);
  EXPECT_EQ(endpoints[0].topic, "image");
  EXPECT_EQ(endpoints[0].type_name, "test/Number");
  EXPECT_EQ(endpoints[0].pid, ::getpid());
  EXPECT_TRUE(endpoints[0].is_writer);
  writer.reset();
  participant->remove_node("camera");
  EXPECT_EQ(participant->nodes().size(), 1U) << "a node of the name in another enclave";
  participant->remove_node("camera", "/enclave");
  EXPECT_TRUE(participant->endpoints().empty());
  EXPECT_TRUE(participant->nodes().empty());
  const std::uint64_t now = participant->graph_version();
  EXPECT_EQ(participant->wait_graph_change(now, 5ms).error().code, Errc::timed_out);
}

TEST_F(Endpoints, AQueryForATopicShowsItsEndpointsAndNoOthers) {
  const auto writer = make_writer(*participant, "image"), other = make_writer(*participant, "other");
  const auto reader = make_reader(*participant, "image");
  const auto endpoints = participant->endpoints_of("image");
  ASSERT_EQ(endpoints.size(), 2U);
  for (const EndpointInfo& each : endpoints) {
    EXPECT_EQ(each.topic, "image");
    EXPECT_EQ(each.gid, each.is_writer ? writer->gid() : reader->gid());
    EXPECT_EQ(each.pid, ::getpid());
  }
  EXPECT_NE(endpoints[0].is_writer, endpoints[1].is_writer);
  EXPECT_TRUE(participant->endpoints_of("none").empty());
}

TEST_F(Endpoints, AQueryForTopicsNamesEachOnceWithEachTypeAndEnd) {
  TypeInfo another = number_type(2);
  another.name = "test/Other";
  std::vector<std::shared_ptr<Writer>> writers;
  for (int i = 0; i < 300; ++i) writers.push_back(make_writer(*participant, "image"));  // more than one portion
  writers.push_back(make_writer(*participant, "image", QoS(), another));
  const auto first = make_reader(*participant, "image"), second = make_reader(*participant, "other");
  using Row = std::tuple<std::string, std::string, bool>;
  const auto rows = [&](const std::vector<std::string>& nodes) {
    std::vector<Row> all;
    for (const TopicInfo& each : participant->topics(nodes))
      all.emplace_back(each.topic, each.type_name, each.is_writer);
    return all;
  };
  const std::string name = number_type().name;
  const Row read{"image", name, false}, written{"image", name, true}, other{"image", "test/Other", true};
  EXPECT_EQ(rows({}), (std::vector<Row>{read, written, other, {"other", name, false}}));
  EXPECT_EQ(rows({"none", "test_reader"}), (std::vector<Row>{read, {"other", name, false}}));
  EXPECT_TRUE(rows({"none"}).empty());
  const auto wanted = participant->topics({}, [](const std::string& topic) { return topic == "other"; });
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_EQ(wanted[0].topic, "other");
  EXPECT_EQ(participant->nodes_of_endpoints(), (std::vector<std::string>{"test_reader", "test_writer"}));
}

TEST_F(Endpoints, AnIdThatTheParticipantMakesIsOfItsProcessAndEndsWithThePart) {
  const auto plain = make_writer(*participant, "t");
  Participant::WriterOptions options;
  options.topic = "t";
  options.type = number_type();
  options.part = 200;
  const auto of_part = participant->create_writer(options).value();
  EXPECT_EQ(plain->gid().back(), 0);
  EXPECT_EQ(of_part->gid().back(), 200);
  EXPECT_EQ(prefix_of(of_part->gid()), prefix_of(plain->gid()));
  EXPECT_NE(of_part->gid(), plain->gid());
}

TEST_F(Endpoints, ArgumentsOutsideTheirRangeAreNamed) {
  Participant::WriterOptions options;
  options.type = number_type();
  EXPECT_EQ(participant->create_writer(options).error().code, Errc::invalid_argument);
  options.topic = "t";
  options.qos.depth = 0;
  EXPECT_EQ(participant->create_writer(options).error().code, Errc::invalid_argument);
}

TEST_F(Endpoints, ANodeNameThatOtherProcessesCannotReadIsAnErrorAndNotTheEndOfTheirConnection) {
  Participant::WriterOptions writing;
  writing.topic = "t";
  writing.type = number_type();
  writing.node = std::string(1025, 'x');
  EXPECT_EQ(participant->create_writer(writing).error().code, Errc::invalid_argument);
  Participant::ReaderOptions reading;
  reading.topic = "t";
  reading.type = number_type();
  reading.node = writing.node;
  EXPECT_EQ(participant->create_reader(reading).error().code, Errc::invalid_argument);
  writing.node.pop_back();
  EXPECT_TRUE(participant->create_writer(writing));
}

TEST_F(Endpoints, ManyThreadsMayPublishTakeAndRelease) {
  const auto writer = make_writer(*participant, "t", QoS().keep_all());
  const auto reader = make_reader(*participant, "t", QoS().keep_all(32).hold(16));
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  constexpr std::uint64_t kEach = 2000;
  std::atomic<std::uint64_t> taken{0}, sum{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kEach;) {
        const Result<std::uint64_t> sent = publish(*writer, t * kEach + i);
        if (sent)
          ++i;
        else
          std::this_thread::yield();
      }
    });
    threads.emplace_back([&] {
      while (taken < 2 * kEach) {
        Result<TakenSample> sample = reader->take();
        if (!sample || !*sample) {
          std::this_thread::yield();
          continue;
        }
        sum += value_of(*sample);
        ++taken;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum, (2 * kEach) * (2 * kEach - 1) / 2);
  EXPECT_EQ(reader->statuses().lost_total, 0U);
}

}  // namespace
}  // namespace baton::transport::test
