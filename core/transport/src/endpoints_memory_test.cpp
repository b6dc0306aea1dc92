// SPDX-License-Identifier: Apache-2.0
// What subscriptions hold of a publisher's memory, in bytes: the publisher goes on, and so do the other subscriptions. The rules:
// docs/format/qos.md, "How much memory may readers hold?"; their arithmetic: grants_test.cpp.
#include <cstdlib>

#include "baton/memory/arena.hpp"
#include "endpoint_test_support.hpp"

namespace baton::transport::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kFrame = kMiB - 4096;  // with its header a MiB

memory::PoolOptions pool_of(std::size_t limit_bytes) {
  memory::PoolOptions pool;
  pool.max_message_bytes = 8 * kMiB;
  pool.memory_limit_bytes = limit_bytes;
  return pool;
}

/// As a camera does: a loan whose array gets its size inside.
Result<std::uint64_t> publish_grown(Writer& writer, std::uint64_t value, std::size_t bytes = kFrame) {
  Result<memory::Chunk> chunk = writer.loan_growing();
  if (!chunk) return chunk.error();
  std::memcpy(chunk->message(), &value, 8);
  try {
    memory::content_allocate(chunk->message(), bytes - 8, 8);
  } catch (const Exception& error) {
    writer.abandon(*chunk);
    return Error{error.code(), error.what()};
  }
  return writer.publish(*chunk);
}

/// Takes and keeps until the other side says that it is enough.
struct Hoard {
  std::vector<TakenSample> kept;
  void take_all(Reader& reader) {
    for (;;) {
      Result<TakenSample> sample = reader.take();
      if (!sample || !*sample) return;
      kept.push_back(std::move(*sample));
    }
  }
};

struct HoardingProcess {
  HoardingProcess(TestDomain& domain, const QoS& qos)
      : child([&domain, qos](Child& self) {
          const auto participant = domain.join();
          const auto reader = make_reader(*participant, "t", qos);
          Hoard hoard;
          // 'f': keep the first message, whose segment may still be on its way. 'k': keep all that is there. 'r': release. 'w': wait until it is refused for good. 'm': wait until it is connected.
          for (char what = self.hear(); what != 'e'; what = self.hear()) {
            if (what == 'f') hoard.kept.push_back(take_sample(*reader));
            if (what == 'k') hoard.take_all(*reader);
            if (what == 'r') hoard.kept.clear();
            if (what == 'm') BATON_CHECK(matched(*reader, 1));
            if (what == 'w') BATON_CHECK(eventually([&] { return reader->statuses().incompatible_qos_total == 1; }));
            for (std::size_t i = 0; i < hoard.kept.size(); ++i)
              BATON_CHECK(value_of(hoard.kept[i]) == hoard.kept[i].sequence());
            self.say();
          }
        }) {}
  char does(char what) {
    child.say(what);
    return child.hear();
  }
  Child child;
};

TEST(EndpointsMemory, AProcessThatKeepsAllThatItGetsEndsNeitherThePublisherNorTheOthers) {
  TestDomain domain;
  HoardingProcess greedy(domain, QoS(10).hold(252));  // granted: no size was seen yet
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(64 * kMiB));
  const auto honest = make_reader(*participant, "t", QoS(4));
  ASSERT_TRUE(matched(*writer, 2) && matched(*honest, 1));
  std::uint64_t got = 0;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    const Result<std::uint64_t> published = publish_grown(*writer, i);
    ASSERT_TRUE(published.ok()) << i << ": " << published.error().message;
    if (got < 100) {
      ASSERT_EQ(greedy.does(i == 1 ? 'f' : 'k'), '.') << i;
    }
    EXPECT_EQ(value_of(take_sample(*honest)), i);
    ++got;
  }
  EXPECT_EQ(writer->statuses().dropped_total, 0U);
  EXPECT_EQ(honest->statuses().lost_total, 0U);
  EXPECT_EQ(honest->statuses().matched_total, 1U) << "never disconnected";
  // Now the sizes are known, and what was wished can never be.
  EXPECT_EQ(greedy.does('w'), '.');
  EXPECT_EQ(writer->matched(), 1U);
  const std::string text = writer->statuses().last_refusal;
  for (const char* word : {"252", "memory_limit_bytes", "1048576 bytes"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  EXPECT_NE(domain.diagnostics().text(Errc::limit_reached).find("holds 4"), std::string::npos)
      << domain.diagnostics().text(Errc::limit_reached);
}

TEST(EndpointsMemory, OfOneProcessOnlyTheSubscriptionThatHoldsMuchIsDisconnected) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(64 * kMiB));
  const auto honest = make_reader(*participant, "t", QoS(4)),
             greedy = make_reader(*participant, "t", QoS(10).hold(252));
  ASSERT_TRUE(matched(*writer, 2) && matched(*honest, 1) && matched(*greedy, 1));
  Hoard hoard;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(publish_grown(*writer, i).ok()) << i;
    if (i == 1) hoard.kept.push_back(take_sample(*greedy));
    hoard.take_all(*greedy);
    EXPECT_EQ(value_of(take_sample(*honest)), i);
  }
  EXPECT_GE(hoard.kept.size(), 30U);
  for (std::size_t i = 0; i < hoard.kept.size(); ++i) EXPECT_EQ(value_of(hoard.kept[i]), i + 1);
  EXPECT_TRUE(eventually([&] { return greedy->statuses().refused_now == 1; }));
  EXPECT_EQ(honest->statuses().matched_total, 1U);
  EXPECT_EQ(honest->statuses().lost_total, 0U);
  EXPECT_EQ(writer->statuses().dropped_total, 0U);
}

TEST(EndpointsMemory, AWishBeyondTheMemoryIsRefusedInWordsOnceSizesAreKnown) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(160 * kMiB));
  publish_grown(*writer, 1).or_throw();
  const auto greedy = make_reader(*participant, "t", QoS().hold(252));
  ASSERT_TRUE(eventually([&] { return greedy->statuses().incompatible_qos_total == 1; }));
  // 160 messages: 2 loans, 10 in queues, 148 shared; one subscription gets half of these.
  for (const char* word : {"252", "at most 74 of the publisher's 160 slots", "memory_limit_bytes", "1048576 bytes"}) {
    EXPECT_NE(greedy->statuses().last_incompatibility.find(word), std::string::npos)
        << greedy->statuses().last_incompatibility;
  }
  const auto modest = make_reader(*participant, "t", QoS().hold(74));
  EXPECT_TRUE(matched(*modest, 1));
  const auto second = make_reader(*participant, "t", QoS().hold(60));  // 134 are more than a process gets
  EXPECT_TRUE(eventually([&] { return second->statuses().refused_now == 1; }));
  EXPECT_EQ(second->statuses().incompatible_qos_total, 0U);
  for (const std::uint32_t small : {8U, 32U}) {
    const auto ordinary = make_reader(*participant, "t", QoS().hold(small));
    EXPECT_TRUE(matched(*ordinary, 1)) << small;
  }
}

TEST(EndpointsMemory, FewLargeMessagesAreSharedByAllThatReadThem) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer =
      make_writer(*participant, "t", QoS(1).transient_local(), number_type(), pool_of(12 * kMiB));  // three maps
  std::vector<std::shared_ptr<Reader>> readers;
  for (int i = 0; i < 8; ++i) readers.push_back(make_reader(*participant, "t", QoS(1).transient_local()));
  ASSERT_TRUE(matched(*writer, 8));
  std::vector<TakenSample> held(readers.size());
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(publish_grown(*writer, i, 4 * kMiB - 4096).ok()) << i;
    for (std::size_t n = 0; n < readers.size(); ++n) {
      held[n] = take_sample(*readers[n]);
      EXPECT_EQ(value_of(held[n]), i);
    }
  }
  EXPECT_EQ(writer->matched(), 8U);
  EXPECT_EQ(writer->statuses().dropped_total, 0U);
}

TEST(EndpointsMemory, WhoeverHoldsTooMuchIsConnectedAgainAfterItHasReleased) {
  TestDomain domain;
  HoardingProcess greedy(domain, QoS(4));
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(4), number_type(), pool_of(6 * kMiB));
  ASSERT_TRUE(matched(*writer, 1));
  std::uint64_t i = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(greedy.does('m'), '.');
    ASSERT_TRUE(publish_grown(*writer, ++i).ok());
    ASSERT_EQ(greedy.does('f'), '.');
    while (writer->matched() > 0) {
      ASSERT_TRUE(publish_grown(*writer, ++i).ok()) << i;
      ASSERT_EQ(greedy.does('k'), '.');
      ASSERT_LT(i, 100U);
    }
    for (int more = 0; more < 10; ++more) ASSERT_TRUE(publish_grown(*writer, ++i).ok());
    EXPECT_TRUE(eventually([&] { return writer->statuses().refused_now == 1; }));
    EXPECT_NE(writer->statuses().last_refusal.find("There is memory for 6 messages"), std::string::npos)
        << writer->statuses().last_refusal;
    ASSERT_EQ(greedy.does('r'), '.');
    ASSERT_TRUE(matched(*writer, 1));
  }
  EXPECT_EQ(writer->statuses().dropped_total, 0U);
}

TEST(EndpointsMemory, MessagesThatGrowAfterTheGrantAreCountedAtTheirNewSize) {
  TestDomain domain;
  HoardingProcess greedy(domain, QoS(10).hold(252));
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(64 * kMiB));
  ASSERT_TRUE(matched(*writer, 1));
  std::uint64_t i = 0;
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{10'000}, std::size_t{200'000}, kFrame, 3 * kFrame}) {
    for (int more = 0; more < 40; ++more) {
      const Result<std::uint64_t> published = publish_grown(*writer, ++i, bytes);
      ASSERT_TRUE(published.ok()) << i << ": " << published.error().message;
      ASSERT_EQ(greedy.does(i == 1 ? 'f' : 'k'), '.');
    }
  }
  EXPECT_LE(writer->statuses().dropped_total, 1U);
}

TEST(EndpointsMemory, ManyMessagesThatWaitInAQueueAreNotAllHeldAtOnce) {
  TestDomain domain;
  HoardingProcess greedy(domain, QoS(252).hold(252));
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(64 * kMiB));
  ASSERT_TRUE(matched(*writer, 1));
  std::uint64_t i = 0;
  for (int round = 0; round < 3; ++round) {
    for (int more = 0; more < 100; ++more) ASSERT_TRUE(publish_grown(*writer, ++i).ok()) << i;
    if (round == 0) {
      ASSERT_EQ(greedy.does('f'), '.');
    }
    ASSERT_EQ(greedy.does('k'), '.');
  }
  for (int more = 0; more < 100; ++more) ASSERT_TRUE(publish_grown(*writer, ++i).ok()) << i;
  EXPECT_EQ(writer->statuses().dropped_total, 0U);
}

TEST(EndpointsMemory, SeveralProcessesThatKeepAllLeaveThePublisherItsPart) {
  TestDomain domain;
  std::vector<std::unique_ptr<HoardingProcess>> greedy;
  for (int i = 0; i < 3; ++i) greedy.push_back(std::make_unique<HoardingProcess>(domain, QoS(10).hold(252)));
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(64 * kMiB));
  ASSERT_TRUE(matched(*writer, 3));
  const auto honest = make_reader(*participant, "t", QoS(4));
  ASSERT_TRUE(matched(*writer, 4) && matched(*honest, 1));
  for (std::uint64_t i = 1; i <= 150; ++i) {
    ASSERT_TRUE(publish_grown(*writer, i).ok()) << i;
    EXPECT_EQ(value_of(take_sample(*honest)), i);
    if (i <= 80) {
      for (const auto& each : greedy) ASSERT_EQ(each->does(i == 1 ? 'f' : 'k'), '.');
    }
  }
  EXPECT_EQ(writer->statuses().dropped_total, 0U);
  EXPECT_EQ(honest->statuses().lost_total, 0U);
}

TEST(EndpointsMemory, TheLimitsOfProcessAndDomainCountAsThePublishersOwn) {
  // A process reads them once, and its children inherit what was read: so in a program of its own.
  const std::string only_this = "--gtest_filter=EndpointsMemory.TheLimitsOfProcessAndDomainCountAsThePublishersOwn";
  if ("--gtest_filter=" + ::testing::GTEST_FLAG(filter) != only_this) {
    const pid_t alone = ::fork();
    if (alone == 0) {
      ::execl("/proc/self/exe", "alone", only_this.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(alone, &status, 0), alone);
    EXPECT_EQ(status, 0);
    return;
  }
  for (const char* variable : {"BATON_PROCESS_MEMORY_LIMIT", "BATON_DOMAIN_MEMORY_LIMIT"}) {
    TestDomain domain;
    Child camera([&](Child& self) {
      ::setenv(variable, "32M", 1);
      const auto participant = domain.join();
      const Participant::MemoryAccount limits = participant->memory_account();
      BATON_CHECK(std::min(limits.process_limit_bytes, limits.domain_limit_bytes) == 32 * kMiB);
      const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(512 * kMiB));
      self.say();
      BATON_CHECK(matched(*writer, 1));
      std::uint64_t i = 0;
      for (char what = self.hear(); what != 'e'; what = self.hear()) {
        const Result<std::uint64_t> published = publish_grown(*writer, ++i);
        if (!published)
          std::fprintf(stderr, "%s, message %d: %s\n", variable, static_cast<int>(i),
                       published.error().message.c_str());
        BATON_CHECK(published.ok());
        self.say();
      }
      BATON_CHECK(writer->statuses().dropped_total == 0);
    });
    HoardingProcess greedy(domain, QoS(10).hold(252));
    ASSERT_EQ(camera.hear(), '.');
    ASSERT_EQ(greedy.does('m'), '.');
    for (int i = 0; i < 100; ++i) {
      camera.say();
      ASSERT_EQ(camera.hear(), '.') << i;
      ASSERT_EQ(greedy.does(i == 0 ? 'f' : 'k'), '.');
    }
    camera.say('e');
    EXPECT_EQ(camera.wait(), 0);
  }
}

TEST(EndpointsMemory, APublisherWhoseLimitsWereRaisedGrantsByTheNewOnes) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(16 * kMiB));
  publish_grown(*writer, 1).or_throw();
  const auto before = make_reader(*participant, "t", QoS().hold(40));
  ASSERT_TRUE(eventually([&] { return before->statuses().incompatible_qos_total == 1; }));
  writer->raise_limits(8 * kMiB, 160 * kMiB);
  const auto after = make_reader(*participant, "t", QoS().hold(40));
  EXPECT_TRUE(matched(*after, 1)) << after->statuses().last_incompatibility;
}

TEST(EndpointsMemory, MessagesThatArriveInPartsAreCountedAsOthers) {
  TestDomain domain;
  HoardingProcess greedy(domain, QoS(10).hold(252));
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(64 * kMiB));
  ASSERT_TRUE(matched(*writer, 1));
  for (std::uint64_t i = 1; i <= 100; ++i) {
    const Result<memory::Chunk> chunk = writer->loan_growing(kFrame);
    ASSERT_TRUE(chunk.ok()) << i << ": " << chunk.error().message;
    std::memcpy(chunk->message(), &i, 8);
    memory::content_allocate(chunk->message(), kFrame - 8, 8);
    ASSERT_TRUE(writer->publish(*chunk).ok());
    ASSERT_EQ(greedy.does(i == 1 ? 'f' : 'k'), '.');
    // The publisher's part is still free: 2 loans and 10 in queues of 64.
    if (i == 60) {
      EXPECT_LE(writer->memory_account().backed_bytes, 54 * kMiB);
    }
  }
  EXPECT_EQ(writer->statuses().dropped_total, 0U);
}

TEST(EndpointsMemory, AMessageThatFindsNoMemoryIsCountedAndReported) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool_of(4 * kMiB));
  std::atomic<int> events{0};
  writer->on_event([&](Event event) { events += event == Event::kMessageDropped ? 1 : 0; });
  publish_grown(*writer, 1).or_throw();
  std::vector<memory::Chunk> loans;  // the program's own: no policy takes a loan back
  for (int i = 0; i < 3; ++i) {
    loans.push_back(writer->loan_growing().or_throw());
    memory::content_allocate(loans.back().message(), kFrame - 8, 8);
  }
  EXPECT_FALSE(publish_grown(*writer, 2, 2 * kFrame).ok());
  EXPECT_EQ(writer->statuses().dropped_total, 1U);
  EXPECT_TRUE(eventually([&] { return events == 1; }));
  EXPECT_TRUE(eventually(
      [&] { return domain.diagnostics().text(Errc::limit_reached).find("dropped a message") != std::string::npos; }));
  for (const memory::Chunk& loan : loans) writer->abandon(loan);
  EXPECT_EQ(writer->statuses().dropped_total, 1U) << "a loan that is given back is no message";
  EXPECT_TRUE(publish_grown(*writer, 3).ok());
}

}  // namespace
}  // namespace baton::transport::test
