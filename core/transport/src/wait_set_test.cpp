// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/resource.h>

#include <atomic>

#include "endpoint_test_support.hpp"
#include "raw_peer_test_support.hpp"
#include "reader.hpp"

namespace baton::transport::test {
namespace {

bool readable(int fd, int timeout_ms = 0) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

TEST(WaitSet, TimesOutWhenNothingHappens) {
  WaitSet wait_set;
  EXPECT_FALSE(wait_set.wait(0ns).value());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(wait_set.wait(20ms).value());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
}

TEST(WaitSet, WakeMakesARunningOrTheNextWaitReturnOnce) {
  WaitSet wait_set;
  wait_set.wake();
  EXPECT_TRUE(wait_set.wait(kPatience).value());
  EXPECT_FALSE(wait_set.wait(1ms).value());
  std::thread waker([&] {
    std::this_thread::sleep_for(20ms);
    wait_set.wake();
  });
  EXPECT_TRUE(wait_set.wait(kPatience).value());
  waker.join();
}

TEST(WaitSet, AGuardConditionWakesUntilItIsRead) {
  WaitSet wait_set;
  GuardCondition guard;
  wait_set.add(guard).or_throw();
  std::thread trigger([&] {
    std::this_thread::sleep_for(20ms);
    guard.trigger();
  });
  EXPECT_TRUE(wait_set.wait(kPatience).value());
  trigger.join();
  EXPECT_TRUE(wait_set.wait(kPatience).value());
  EXPECT_TRUE(guard.exchange_triggered());
  EXPECT_FALSE(guard.exchange_triggered());
  EXPECT_FALSE(wait_set.wait(1ms).value());
  wait_set.remove(guard);
  guard.trigger();
  EXPECT_FALSE(wait_set.wait(1ms).value());
}

class WaitSetWays : public ::testing::TestWithParam<std::chrono::nanoseconds> {};

TEST_P(WaitSetWays, WakesForEveryMessageAsleepOrSpinning) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  WaitSet wait_set;
  wait_set.set_spin(GetParam());
  wait_set.add(reader).or_throw();
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  std::atomic<std::uint64_t> seen{0};
  std::thread publisher([&] {
    for (std::uint64_t i = 1; i <= 2000; ++i) {
      publish(*writer, i).or_throw();
      while (seen != i) std::this_thread::yield();
    }
  });
  while (seen < 2000) {
    ASSERT_TRUE(wait_set.wait(kPatience).value()) << "lost wake-up after " << seen;
    const std::uint64_t value = take(*reader);
    if (value != kNothing) seen = value;
  }
  publisher.join();
}

INSTANTIATE_TEST_SUITE_P(Spin, WaitSetWays, ::testing::Values(0ns, 20us, 1ms));

TEST(WaitSet, WakesOnceForEachMessageThatStaysUnread) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(10));
  const auto reader = make_reader(*participant, "t", QoS(10));
  ASSERT_TRUE(matched(*reader, 1));
  WaitSet wait_set;
  wait_set.wake_once_for_each_message();
  wait_set.add(reader).or_throw();
  const auto settle = [&] {  // it may return without a message, but not for ever
    while (wait_set.wait(20ms).or_throw()) {
    }
  };
  for (std::uint64_t i = 1; i <= 5; ++i) {
    settle();
    std::thread publisher([&] { publish(*writer, i).or_throw(); });
    EXPECT_TRUE(eventually([&] { return wait_set.wait(kPatience).or_throw() && reader->unread() == i; }));
    publisher.join();
  }
  settle();
  EXPECT_EQ(reader->unread(), 5U);
}

TEST(WaitSet, WakesForAReaderThatMatchesOnlyLater) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  WaitSet wait_set;
  wait_set.add(reader).or_throw();
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    const auto writer = make_writer(*participant, "t");
    ASSERT_TRUE(matched(*writer, 1));
    publish(*writer, 5).or_throw();
    eventually([&] { return reader->statuses().matched_total > 0 && !reader->has_data(); });
  });
  std::uint64_t value = kNothing;
  while (value == kNothing && wait_set.wait(kPatience).value()) value = take(*reader);
  EXPECT_EQ(value, 5U);
  later.join();
}

TEST(WaitSet, SaysWhichReaderHadAMessage) {
  TestDomain domain;
  const auto participant = domain.join();
  WaitSet wait_set;
  std::vector<std::shared_ptr<Reader>> readers;
  std::vector<std::shared_ptr<Writer>> writers;
  for (const char* const topic : {"a", "b", "c"}) {
    readers.push_back(make_reader(*participant, topic));
    writers.push_back(make_writer(*participant, topic));
    ASSERT_TRUE(matched(*readers.back(), 1) && matched(*writers.back(), 1));
    wait_set.add(readers.back()).or_throw();
  }
  EXPECT_EQ(wait_set.reader_with_work(), nullptr);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    std::thread publishes([&] {
      std::this_thread::sleep_for(5ms);  // mostly, the wait has begun
      publish(*writers[i], i).or_throw();
    });
    do EXPECT_TRUE(wait_set.wait(kPatience).value());
    while (wait_set.reader_with_work() == nullptr && !HasFailure());
    EXPECT_EQ(wait_set.reader_with_work(), &readers[i]->impl());
    EXPECT_EQ(take(*readers[i]), i);
    publishes.join();
    EXPECT_FALSE(wait_set.wait(0ns).value());
    EXPECT_EQ(wait_set.reader_with_work(), nullptr);
  }
  wait_set.wake();
  EXPECT_TRUE(wait_set.wait(kPatience).value());
  EXPECT_EQ(wait_set.reader_with_work(), nullptr);
}

TEST(WaitSet, AReaderIsWaitedForInOnePlaceOnly) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  WaitSet first, second;
  first.add(reader).or_throw();
  EXPECT_TRUE(first.add(reader).ok());
  EXPECT_EQ(second.add(reader).error().code, Errc::already_exists);
  EXPECT_EQ(reader->pollable_fd().error().code, Errc::already_exists);
  first.remove(reader);
  EXPECT_TRUE(second.add(reader).ok());
}

TEST(WaitSet, RemovingAReaderThatIsWaitedForElsewhereChangesNothing) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  WaitSet here, elsewhere;
  here.add(reader).or_throw();
  elsewhere.remove(reader);
  EXPECT_EQ(elsewhere.add(reader).error().code, Errc::already_exists);
  const auto writer = make_writer(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1));
  publish(*writer, 5).or_throw();
  std::uint64_t value = kNothing;
  while (value == kNothing && here.wait(kPatience).value()) value = take(*reader);
  EXPECT_EQ(value, 5U);
}

TEST(WaitSet, AReaderMayEndWhileItIsWaitedFor) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  auto reader = make_reader(*participant, "t");
  WaitSet wait_set;
  wait_set.add(reader).or_throw();
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  EXPECT_FALSE(wait_set.wait(1ms).value());
  std::thread ender([&] {
    std::this_thread::sleep_for(10ms);
    reader.reset();
  });
  EXPECT_FALSE(wait_set.wait(50ms).value());
  ender.join();
}

TEST(WaitSet, AReaderAtItsHeldLimitDoesNotMakeItSpin) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t", QoS().hold(1));
  WaitSet wait_set;
  wait_set.add(reader).or_throw();
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  publish(*writer, 1).or_throw();
  publish(*writer, 2).or_throw();
  TakenSample sample = reader->take().or_throw();
  EXPECT_FALSE(wait_set.wait(10ms).value());
  std::thread releaser([&] {
    std::this_thread::sleep_for(20ms);
    sample.release();
  });
  EXPECT_TRUE(wait_set.wait(kPatience).value());
  releaser.join();
  EXPECT_EQ(take(*reader), 2U);
}

TEST(WaitSet, WaitsForMoreWritersThanOneSystemCallCan) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(10).hold(1));
  memory::PoolOptions pool = small_pool();
  pool.max_message_bytes = 4096;
  pool.slot_count = 16;
  std::vector<std::shared_ptr<Writer>> writers;
  for (int i = 0; i < 200; ++i) writers.push_back(make_writer(*participant, "t", QoS(), number_type(), pool));
  ASSERT_TRUE(matched(*reader, 200));
  WaitSet wait_set;
  wait_set.add(reader).or_throw();
  EXPECT_FALSE(wait_set.wait(1ms).value());
  std::atomic<std::uint64_t> seen{0};
  std::thread publisher([&] {
    for (std::uint64_t i = 1; i <= 600; ++i) {
      publish(*writers[i * 7 % writers.size()], i).or_throw();
      while (seen != i) std::this_thread::yield();
    }
  });
  while (seen < 600) {
    ASSERT_TRUE(wait_set.wait(kPatience).value()) << "lost wake-up after " << seen;
    const std::uint64_t value = take(*reader);
    if (value == kNothing) continue;
    if (value % 50 == 0) {  // a reader that leaves and comes back is woken by the sockets that its publishers have
      wait_set.remove(reader);
      wait_set.add(reader).or_throw();
    }
    seen = value;
  }
  publisher.join();
}

TEST(WaitSet, GivesItsSocketToEachPublisherOnceHoweverOftenTheReaderComesBack) {
  constexpr std::uint16_t kCrowd = 130;  // more than futex_waitv takes
  TestDomain domain;
  const auto participant = domain.join();
  auto reader = make_reader(*participant, "t", QoS().hold(1));
  CrowdOfPublishers crowd(domain.path());
  for (std::uint16_t i = 0; i < kCrowd && !HasFailure(); ++i) crowd.add(i);
  ASSERT_TRUE(matched(*reader, kCrowd));
  WaitSet wait_set, other;
  const auto wait_in = [&](WaitSet& waits) {
    waits.add(reader).or_throw();
    EXPECT_FALSE(waits.wait(100us).value());
    waits.remove(reader);
  };
  for (int i = 0; i < 20; ++i) wait_in(wait_set);
  EXPECT_TRUE(eventually([&] { return crowd.sockets() >= kCrowd; }));
  crowd.add(kCrowd);
  ASSERT_TRUE(matched(*reader, kCrowd + 1));
  for (int i = 0; i < 20; ++i) wait_in(wait_set);
  wait_in(other);  // another wait set has another socket
  wait_in(wait_set);
  reader.reset();
  ASSERT_TRUE(crowd.reader_left());
  EXPECT_EQ(crowd.sockets(), 3U * (kCrowd + 1));
}

TEST(PollableFd, IsReadableWhileThereMayBeData) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  const int fd = reader->pollable_fd().or_throw();
  EXPECT_EQ(reader->pollable_fd().or_throw(), fd);
  settle(*participant);
  EXPECT_EQ(take(*reader), kNothing);  // drains what the publisher notified when it got the socket
  EXPECT_FALSE(readable(fd));
  for (std::uint64_t i = 1; i <= 300; ++i) {
    publish(*writer, i).or_throw();
    publish(*writer, i).or_throw();
    ASSERT_TRUE(readable(fd, 20000)) << i;
    ASSERT_EQ(take(*reader), i);
    ASSERT_TRUE(readable(fd)) << "more is queued";
    ASSERT_EQ(take(*reader), i);
    ASSERT_EQ(take(*reader), kNothing);
    ASSERT_FALSE(readable(fd)) << i;
  }
  WaitSet wait_set;
  EXPECT_EQ(wait_set.add(reader).error().code, Errc::already_exists);
}

class WakeSocketShortage : public ::testing::TestWithParam<bool> {};

TEST_P(WakeSocketShortage, DelaysMessagesAndLosesNone) {
  const bool in_wait_set = GetParam();
  TestDomain domain;
  const auto participant = domain.join();
  memory::PoolOptions pool = small_pool();
  pool.max_message_bytes = 4096;
  pool.slot_count = 16;
  const std::size_t count = in_wait_set ? 130 : 1;  // more than futex_waitv takes
  std::vector<std::shared_ptr<Writer>> writers;
  for (std::size_t i = 0; i < count; ++i) writers.push_back(make_writer(*participant, "t", QoS(), number_type(), pool));
  const auto reader = make_reader(*participant, "t", QoS().hold(1));
  ASSERT_TRUE(matched(*reader, static_cast<std::uint32_t>(count)));
  publish(*writers[0], 0).or_throw();
  EXPECT_EQ(value_of(take_sample(*reader)), 0U);  // its segment has come

  NoDescriptors shortage(2);  // an epoll set and its eventfd
  WaitSet wait_set;
  if (in_wait_set) wait_set.add(reader).or_throw();
  const int fd = in_wait_set ? -1 : reader->pollable_fd().or_throw();
  const auto sleep_and_take = [&] {
    std::uint64_t value = take(*reader);
    while (value == kNothing && (in_wait_set ? wait_set.wait(kPatience).or_throw() : readable(fd, 20000)))
      value = take(*reader);
    return value;
  };
  for (std::uint64_t i = 1; i <= 3; ++i) {
    std::thread publisher([&] {
      std::this_thread::sleep_for(5ms);
      publish(*writers[0], i).or_throw();
    });
    EXPECT_EQ(sleep_and_take(), i);
    publisher.join();
  }
  shortage.release();
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::out_of_descriptors); }));
  EXPECT_TRUE(eventually([&] {
    if (in_wait_set) wait_set.wait(1ms).or_throw();
    return reader->impl().publishers_without_socket() == 0;
  }));
  publish(*writers[0], 4).or_throw();
  EXPECT_EQ(sleep_and_take(), 4U);
}

INSTANTIATE_TEST_SUITE_P(InAWaitSet, WakeSocketShortage, ::testing::Bool());

}  // namespace
}  // namespace baton::transport::test
