// SPDX-License-Identifier: Apache-2.0
// Disconnected is not dead (docs/format/handshake.md, section 6): what a process holds stays its own when its connection ends for
// whatever reason, until it gives that back, says that it holds nothing, or dies. Then everything comes back. Real processes.
#include <sys/resource.h>

#include <array>
#include <atomic>

#include "endpoint_test_support.hpp"

namespace baton::transport::test {
namespace {

constexpr std::uint64_t kKept = 4;

/// Takes samples 1 to kKept and keeps them.
std::vector<TakenSample> keep_samples(Reader& reader) {
  std::vector<TakenSample> kept;
  for (std::uint64_t i = 1; i <= kKept; ++i) {
    kept.push_back(take_sample(reader));
    BATON_CHECK(value_of(kept.back()) == i);
  }
  return kept;
}

bool intact(const std::vector<TakenSample>& kept) {
  for (std::uint64_t i = 0; i < kKept; ++i) {
    if (value_of(kept[i]) != i + 1) return false;
  }
  return true;
}

/// Publishes enough to use every slot several times over; fewer samples are refused than are published.
void publish_many(Writer& writer, std::uint64_t first) {
  for (std::uint64_t i = first; i < first + 200; ++i) static_cast<void>(publish(writer, i, 200'000).or_throw());
}

memory::PoolOptions few_slots() {
  memory::PoolOptions pool = small_pool();
  pool.slot_count = 64;
  return pool;
}

std::shared_ptr<Writer> make_big_writer(Participant& participant) {
  return make_writer(participant, "t", QoS(), number_type(), few_slots());
}

void publish_first(Writer& writer) {
  for (std::uint64_t i = 1; i <= kKept; ++i) publish(writer, i, 200'000).or_throw();
}

bool nothing_published(Writer& writer) {
  return eventually([&] { return writer.memory_account().published_slots == 0; });
}

TEST(Disconnected, SamplesOutliveTheNodeTheyWereTakenBy) {
  TestDomain domain;
  Child subscriber([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    std::vector<TakenSample> kept;
    {
      const auto participant = domain.join();
      const auto reader = make_reader(*participant, "t");
      BATON_CHECK(matched(*reader, 1));
      self.say();
      kept = keep_samples(*reader);
    }
    self.say();
    BATON_CHECK(self.hear() == '.');
    BATON_CHECK(intact(kept));
    kept.clear();
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_big_writer(*participant);
  subscriber.say();
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 1));
  publish_first(*writer);
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 0));
  publish_many(*writer, 100);
  EXPECT_EQ(writer->memory_account().published_slots, kKept);
  subscriber.say();
  EXPECT_EQ(subscriber.hear(), '.') << "a held sample was overwritten";
  EXPECT_TRUE(nothing_published(*writer)) << "what was given back after the node's end comes back";
  subscriber.say();
  EXPECT_EQ(subscriber.wait(), 0);
}

TEST(Disconnected, WhatAProcessHoldsAfterItsNodesEndComesBackWhenItIsKilled) {
  TestDomain domain;
  Child subscriber([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    std::vector<TakenSample> kept;
    {
      const auto participant = domain.join();
      const auto reader = make_reader(*participant, "t");
      self.say();
      kept = keep_samples(*reader);
    }
    self.say();
    ::pause();
  });
  const auto participant = domain.join();
  const auto writer = make_big_writer(*participant);
  subscriber.say();
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 1));
  publish_first(*writer);
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 0));
  publish_many(*writer, 100);
  EXPECT_EQ(writer->memory_account().published_slots, kKept);
  subscriber.kill();
  EXPECT_TRUE(nothing_published(*writer));
}

TEST(Disconnected, AForkedChildOfTheHolderKeepsNothingPinned) {
  TestDomain domain;
  Child subscriber([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    std::vector<TakenSample> kept;
    {
      const auto participant = domain.join();
      const auto reader = make_reader(*participant, "t");
      self.say();
      kept = keep_samples(*reader);
    }
    if (::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, 0);
      ::alarm(300);
      kept.clear();
      self.say();
      self.hear();
      ::_exit(0);
    }
    ::pause();
  });
  const auto participant = domain.join();
  const auto writer = make_big_writer(*participant);
  subscriber.say();
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 1));
  publish_first(*writer);
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 0));
  EXPECT_EQ(writer->memory_account().published_slots, kKept) << "the child gives nothing of its parent's back";
  subscriber.kill();
  EXPECT_TRUE(nothing_published(*writer)) << "the child does not keep its parent's samples";
  subscriber.say();
}

TEST(Disconnected, ASubscriberWithoutDescriptorsKeepsItsSamplesAndComesBack) {
  TestDomain domain;
  Child subscriber([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t");
    BATON_CHECK(matched(*reader, 1));
    self.say();
    const std::vector<TakenSample> kept = keep_samples(*reader);
    NoDescriptors shortage;
    self.say();  // now a new segment's descriptor cannot be received
    BATON_CHECK(eventually([&] { return domain.diagnostics().has(Errc::out_of_descriptors); }));
    BATON_CHECK(matched(*reader, 0));
    self.say();
    BATON_CHECK(self.hear() == '.');
    BATON_CHECK(intact(kept));
    shortage.release();
    BATON_CHECK(matched(*reader, 1));
    self.say();
    BATON_CHECK(self.hear() == '.');
    BATON_CHECK(intact(kept));
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_big_writer(*participant);
  subscriber.say();
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 1));
  publish_first(*writer);
  ASSERT_EQ(subscriber.hear(), '.');
  writer->trim();
  publish(*writer, 99, 200'000).or_throw();
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 0));
  publish_many(*writer, 100);
  subscriber.say();
  ASSERT_EQ(subscriber.hear(), '.') << "a held sample was overwritten, or the subscriber did not come back";
  ASSERT_TRUE(matched(*writer, 1));
  publish_many(*writer, 1000);
  subscriber.say();
  EXPECT_EQ(subscriber.hear(), '.');
  subscriber.kill();
  EXPECT_TRUE(nothing_published(*writer));
}

/// Makes the hub give `other` up: more frames than a stopped process may leave unread.
void overflow(Participant& participant, const Writer& writer) {
  for (int i = 0; i < 100'000 && writer.matched() > 0; ++i)
    participant.add_node(std::string(1000, 'x') + std::to_string(i));
}

TEST(Disconnected, AStoppedProcessThatWasGivenUpFindsItsSamplesAndTheOthersIntactWhenItGoesOn) {
  TestDomain domain;
  Child stopped([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t");
    const auto writer = make_writer(*participant, "back", QoS(), number_type(), few_slots());
    BATON_CHECK(matched(*reader, 1) && matched(*writer, 1));
    publish_first(*writer);
    std::vector<TakenSample> kept = keep_samples(*reader);
    self.say();
    BATON_CHECK(self.hear() == '.');  // stopped here, and goes on
    BATON_CHECK(intact(kept));
    // The messages that waited unread were given up with the connection, or are what they were: never later ones.
    for (TakenSample sample = reader->take().or_throw(); sample; sample = reader->take().or_throw()) {
      const std::uint64_t value = value_of(sample);
      BATON_CHECK((value > kKept && value <= 2 * kKept) || value >= 2000);
    }
    BATON_CHECK(matched(*reader, 1) && matched(*writer, 1));
    publish_many(*writer, 500);
    BATON_CHECK(intact(kept));
    self.say();
    BATON_CHECK(self.hear() == '.');
    BATON_CHECK(intact(kept));
    // The publisher's process may know the new connection before this one does.
    BATON_CHECK(eventually([&] { return reader->statuses().lost_total > 0; }));
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_big_writer(*participant);
  const auto back = make_reader(*participant, "back");
  stopped.say();
  ASSERT_TRUE(matched(*writer, 1) && matched(*back, 1));
  publish_first(*writer);
  std::vector<TakenSample> kept;
  for (std::uint64_t i = 1; i <= kKept; ++i) kept.push_back(take_sample(*back));
  ASSERT_TRUE(intact(kept));
  ASSERT_EQ(stopped.hear(), '.');
  stopped.stop();
  for (std::uint64_t i = kKept + 1; i <= 2 * kKept; ++i) publish(*writer, i, 200'000).or_throw();
  overflow(*participant, *writer);
  ASSERT_TRUE(matched(*writer, 0)) << "the stopped process was not given up";
  publish_many(*writer, 100);
  EXPECT_EQ(writer->memory_account().published_slots, kKept);
  stopped.say();
  stopped.kill(SIGCONT);
  ASSERT_EQ(stopped.hear(), '.') << "a held sample was overwritten";
  EXPECT_TRUE(intact(kept)) << "the other one's samples are its own, too";
  ASSERT_TRUE(matched(*writer, 1) && matched(*back, 1));
  publish_many(*writer, 2000);
  stopped.say();
  EXPECT_EQ(stopped.hear(), '.');
  EXPECT_TRUE(intact(kept));
  stopped.kill();
  EXPECT_TRUE(nothing_published(*writer));
}

TEST(Disconnected, AReplayAfterADisconnectionDeliversNothingTwice) {
  TestDomain domain;
  Child stopped([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(8).transient_local());
    std::atomic<int> lost{0};
    reader->on_event([&](Event event) { lost += event == Event::kMessageLost ? 1 : 0; });
    BATON_CHECK(matched(*reader, 1));
    for (std::uint64_t i = 1; i <= 6; ++i) BATON_CHECK(value_of(take_sample(*reader)) == i);
    self.say();
    BATON_CHECK(self.hear() == '.');
    for (std::uint64_t i = 7; i <= 9; ++i) BATON_CHECK(value_of(take_sample(*reader)) == i);
    BATON_CHECK(take(*reader) == kNothing);
    BATON_CHECK(reader->statuses().lost_total == 0);
    const auto posted =
        make_reader(*participant, "u");  // events come in their order: this one's is behind the reader's
    std::atomic<bool> came{false};
    posted->on_event([&](Event) { came = true; });
    const auto match = make_writer(*participant, "u");
    BATON_CHECK(eventually([&] { return came.load(); }));
    BATON_CHECK(lost == 0);
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(8).transient_local());
  stopped.say();
  ASSERT_TRUE(matched(*writer, 1));
  for (std::uint64_t i = 1; i <= 6; ++i) publish(*writer, i).or_throw();
  ASSERT_EQ(stopped.hear(), '.');
  stopped.stop();
  overflow(*participant, *writer);
  ASSERT_TRUE(matched(*writer, 0));
  for (std::uint64_t i = 7; i <= 9; ++i) publish(*writer, i).or_throw();
  stopped.say();
  stopped.kill(SIGCONT);
  EXPECT_EQ(stopped.hear(), '.');
  stopped.say();
  EXPECT_EQ(stopped.wait(), 0);
}

TEST(Disconnected, APublisherThatGetsTheIdOfOneThatEndedIsHeardFromItsFirstMessageOn) {
  TestDomain domain;
  Participant::WriterOptions options;
  options.topic = "t";
  options.node = "test_writer";
  options.type = number_type();
  options.pool = small_pool();
  options.gid[0] = 77;
  const auto publish_and_wait = [&domain, options](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    for (int round = 0; round < 2; ++round) {
      const auto writer = participant->create_writer(options).or_throw();
      BATON_CHECK(matched(*writer, 1));
      for (std::uint64_t i = 1; i <= 5; ++i) publish(*writer, i).or_throw();
      self.say();
      BATON_CHECK(self.hear() == '.');
    }
    self.say();
    ::pause();
  };
  Child first(publish_and_wait), second(publish_and_wait);
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  for (Child* process : {&first, &second}) {
    process->say();
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(process->hear(), '.');
      ASSERT_TRUE(matched(*reader, 1));
      for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_EQ(value_of(take_sample(*reader)), i) << "round " << round;
      if (round == 1) break;
      process->say();
    }
    process->kill();
    ASSERT_TRUE(matched(*reader, 0));
  }
  EXPECT_EQ(reader->statuses().lost_total, 0U);
}

TEST(Disconnected, APublisherWithoutDescriptorsReleasesWhatASubscriberHeldOnceThatIsKilled) {
  TestDomain domain;
  Child subscriber([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t");
    BATON_CHECK(matched(*reader, 1));
    self.say();
    const std::vector<TakenSample> kept = keep_samples(*reader);
    self.say();
    BATON_CHECK(self.hear() == '.');
    // An endpoint whose connection needs descriptors that the publisher has not got.
    const auto another = make_reader(*participant, "t");
    self.say();
    ::pause();
  });
  const auto participant = domain.join();
  const auto writer = make_big_writer(*participant);
  subscriber.say();
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 1));
  publish_first(*writer);
  ASSERT_EQ(subscriber.hear(), '.');
  const NoDescriptors shortage;
  subscriber.say();
  ASSERT_EQ(subscriber.hear(), '.');
  ASSERT_TRUE(matched(*writer, 0)) << "the connection ended for want of descriptors";
  EXPECT_EQ(writer->memory_account().published_slots, kKept);
  subscriber.kill();
  EXPECT_TRUE(nothing_published(*writer)) << "its later death is seen";
}

}  // namespace
}  // namespace baton::transport::test
