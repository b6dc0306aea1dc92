// SPDX-License-Identifier: Apache-2.0
// How much one call of a reader does, and what it counts, whatever publishers do.
#include "reader.hpp"

#include <poll.h>
#include <time.h>

#include "endpoint_test_support.hpp"
#include "raw_peer_test_support.hpp"

namespace baton::transport::test {
namespace {

using OneReaderCall = OneProcess;

constexpr std::uint64_t kMostPassed = Reader::Impl::kMostPassedOver;

QoS short_lived(std::uint32_t depth) {
  QoS qos(depth);
  qos.lifespan = 1ms;
  return qos;
}

/// Publishers of "t" with `each` unread messages each, for a reader that keeps `depth` of all of them.
struct Crowd {
  Crowd(Participant& participant, std::size_t count, std::uint32_t depth, std::uint64_t each) {
    for (std::size_t i = 0; i < count; ++i) writers.push_back(make_writer(participant, "t", QoS(depth)));
    reader = make_reader(participant, "t", QoS(depth));
    if (!matched(*reader, static_cast<std::uint32_t>(count))) throw std::runtime_error("no match");
    for (const auto& writer : writers) {
      for (std::uint64_t i = 0; i < each; ++i) publish(*writer, i).or_throw();
    }
    if (!eventually([&] { return reader->unread() == count * each; })) throw std::runtime_error("not all have come");
  }
  std::vector<std::shared_ptr<Writer>> writers;
  std::shared_ptr<Reader> reader;
};

std::int64_t thread_cpu_ns() {
  ::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool is_readable(int fd) {
  ::pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

TEST_F(OneReaderCall, PassesOverABoundedNumberOfExpiredMessages) {
  const std::uint32_t many = kMostPassed + 100;
  const auto writer = make_writer(*participant, "t", short_lived(many));
  const auto reader = make_reader(*participant, "t", QoS(many));
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  for (std::uint64_t i = 0; i < many; ++i) publish(*writer, i).or_throw();
  std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(reader->take().or_throw());
  EXPECT_EQ(reader->losses().lifespan, kMostPassed);
  EXPECT_TRUE(reader->has_data()) << "a caller that waits comes back at once";
  EXPECT_FALSE(reader->take_next().or_throw());
  EXPECT_EQ(reader->losses().lifespan, many);
  EXPECT_FALSE(reader->has_data());
}

TEST_F(OneReaderCall, GivesUpABoundedNumberOfMessagesThatNewerOnesOfOtherPublishersDisplace) {
  Crowd crowd(*participant, 5, 100, 100);
  Reader& reader = *crowd.reader;
  EXPECT_FALSE(reader.take().or_throw());
  EXPECT_EQ(reader.losses().overflow, kMostPassed);
  EXPECT_TRUE(reader.has_data());
  for (int i = 0; i < 100; ++i) EXPECT_NE(take(reader), kNothing) << i;
  EXPECT_EQ(take(reader), kNothing);
  EXPECT_EQ(reader.losses().overflow, 400U);
}

/// Of one take() that gives up as many messages as it may.
std::int64_t cpu_time_of_a_take(Participant& participant, std::uint32_t publishers) {
  const std::uint32_t each = 400 / publishers + 1;
  std::int64_t least = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    Crowd crowd(participant, publishers, each + 1, each);
    const std::int64_t before = thread_cpu_ns();
    EXPECT_FALSE(crowd.reader->take().or_throw());
    least = std::min(least, thread_cpu_ns() - before);
    EXPECT_EQ(crowd.reader->losses().overflow, kMostPassed);
  }
  return least;
}

TEST_F(OneReaderCall, GivesUpMessagesOfManyPublishersWithoutALookAtAllOfThemForEach) {
  const std::int64_t of_few = cpu_time_of_a_take(*participant, 4), of_many = cpu_time_of_a_take(*participant, 400);
  EXPECT_LT(of_many, 25 * of_few);  // a look at all for each is 80 times as much
}

TEST_F(OneReaderCall, LeavesTheDescriptorReadableIfItPassedOverAsMuchAsItMay) {
  Crowd crowd(*participant, 4, 100, 100);
  const int fd = crowd.reader->pollable_fd().or_throw();
  settle(*participant);  // the publishers have the socket and have notified once for it
  ASSERT_TRUE(is_readable(fd));
  EXPECT_FALSE(crowd.reader->take().or_throw());
  EXPECT_TRUE(is_readable(fd));
  for (int i = 0; i < 100; ++i) EXPECT_NE(take(*crowd.reader), kNothing) << i;
  EXPECT_EQ(take(*crowd.reader), kNothing);
  EXPECT_FALSE(is_readable(fd));
}

TEST_F(OneReaderCall, OfOnePublisherPassesOverAllThatItsQueueHas) {
  const std::uint32_t many = 2 * kMostPassed;
  const auto writer = make_writer(*participant, "t", short_lived(many));
  const auto reader = make_reader(*participant, "t", QoS(many));
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  for (std::uint64_t i = 0; i < many; ++i) publish(*writer, i).or_throw();
  std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(reader->take_from(writer->gid()).or_throw());
  EXPECT_EQ(reader->losses().lifespan, many);
}

TEST_F(OneReaderCall, TheEndOfAPublisherGivesUpABoundedNumberOfMessagesOfTheOthers) {
  constexpr std::uint64_t kFewestDropped = 64;  // in reader.hpp
  Crowd crowd(*participant, 100, 1, 1);
  crowd.writers.pop_back();
  ASSERT_TRUE(matched(*crowd.reader, 99));
  settle(*participant);
  EXPECT_EQ(crowd.reader->losses().overflow, kFewestDropped);
}

using LossesOfAReader = OneProcess;

void publish_as(Writer& writer, std::uint64_t sequence) {
  const memory::Chunk chunk = writer.loan_sized(8).or_throw();
  std::memcpy(chunk.message(), &sequence, 8);
  Origin origin;
  origin.sequence = sequence;
  PublishInfo info;
  info.origin = &origin;
  writer.publish(chunk, info).or_throw();
}

TEST_F(LossesOfAReader, NumbersThatNoPublisherReachesMakeNoCountSmallerAndNoneHuge) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  std::uint64_t lies = 0;
  for (const std::uint64_t sequence : {std::uint64_t{1} << 62, std::uint64_t{3} << 62, UINT64_MAX - 1}) {
    publish_as(*writer, sequence);
    EXPECT_EQ(value_of(take_sample(*reader)), sequence);
    EXPECT_EQ(reader->losses().overflow, ++lies);
  }
  publish_as(*writer, UINT64_MAX);
  EXPECT_EQ(value_of(take_sample(*reader)), UINT64_MAX);
  EXPECT_EQ(reader->losses().overflow, lies);
}

TEST_F(LossesOfAReader, AllNumbersThatAPublisherMayHaveReachedCount) {
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  publish_as(*writer, kMostMessages);
  EXPECT_EQ(value_of(take_sample(*reader)), kMostMessages);
  EXPECT_EQ(reader->losses().overflow, kMostMessages - 1);
}

TEST_F(LossesOfAReader, AFirstNumberThatNoPublisherReachesCountsOnce) {
  const auto reader = make_reader(*participant, "t");
  Gid publisher{};
  {
    CrowdOfPublishers crowd(domain.path());
    publisher = crowd.add(0);
    ASSERT_TRUE(matched(*reader, 1));
  }
  ASSERT_TRUE(matched(*reader, 0));
  CrowdOfPublishers again(domain.path());
  again.add(publisher, std::uint64_t{1} << 63);
  ASSERT_TRUE(matched(*reader, 1));
  EXPECT_EQ(reader->losses().interrupted, 1U);
}

TEST(LossesOfReaders, StayAtTheirGreatestValueAndTheirSumDoesToo) {
  Losses losses;
  losses.held = kMostLosses - 1;
  add_losses(losses.held, 1);
  EXPECT_EQ(losses.held, kMostLosses);
  add_losses(losses.held, UINT64_MAX);
  EXPECT_EQ(losses.held, kMostLosses);
  losses.overflow = losses.limit = losses.memory = losses.malformed = losses.interrupted = kMostLosses;
  EXPECT_EQ(losses.total(), 6 * kMostLosses);
}

}  // namespace
}  // namespace baton::transport::test
