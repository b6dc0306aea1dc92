// SPDX-License-Identifier: Apache-2.0
// A reader that replaces another one: nothing is lost, doubled or out of order. With the link's flows: outbound_test.cpp.
#include "replaceable_reader.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "baton/os/clock.hpp"
#include "endpoint_test_support.hpp"
#include "raw_peer_test_support.hpp"

namespace baton::link {
namespace {

class ReplaceableReaderOf : public ::testing::Test {
 protected:
  void open(const QoS& qos) {
    participant_ = domain_.join();
    type_.name = "a/Bytes";
    type_.skeleton_bytes = 8;
    qos_ = qos;
    writer_ = make_writer();
    readers_.emplace(make_reader(qos.depth));
    ASSERT_TRUE(transport::test::eventually([&] { return readers_->newest().matched() == 1; }));
  }
  std::shared_ptr<transport::Writer> make_writer(const transport::Gid& gid = {}) {
    transport::Participant::WriterOptions writing;
    writing.gid = gid;
    writing.topic = "/bytes";
    writing.type = type_;
    writing.qos = qos_;
    return *participant_->create_writer(writing);
  }
  std::shared_ptr<transport::Reader> make_reader(std::uint32_t depth) {
    transport::Participant::ReaderOptions reading;
    reading.topic = "/bytes";
    reading.type = type_;
    reading.qos = qos_;
    reading.qos.depth = depth;
    reading.qos.held = 1;
    reading.connects_at_once = true;
    return *participant_->create_reader(reading);
  }
  static void publish(transport::Writer& writer, std::size_t count) {
    for (; count > 0; --count) {
      Result<memory::Chunk> chunk = writer.loan_sized(8);
      ASSERT_TRUE(chunk) << chunk.error().message;
      std::memset(chunk->message(), 0, 8);
      ASSERT_TRUE(writer.publish(*chunk, {}));
    }
  }
  std::vector<std::uint64_t> take_all() {
    std::vector<std::uint64_t> out;
    for (;;) {
      const Result<transport::TakenSample> taken = readers_->take();
      EXPECT_TRUE(taken) << taken.error().message;
      if (!taken || !*taken) return out;
      out.push_back(taken->sequence());
    }
  }
  static std::vector<std::uint64_t> numbers(std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> out(to - from + 1);
    std::iota(out.begin(), out.end(), from);
    return out;
  }

  transport::test::TestDomain domain_;
  std::shared_ptr<transport::Participant> participant_;
  transport::TypeInfo type_;
  QoS qos_;
  std::shared_ptr<transport::Writer> writer_;
  std::optional<ReplaceableReader> readers_;
};

TEST_F(ReplaceableReaderOf, WhatTheReaderBeforeHasComesFirstAndNothingTwice) {
  open(QoS(50));
  publish(*writer_, 10);
  const auto second = make_reader(100);
  ASSERT_TRUE(transport::test::eventually([&] { return second->matched() == 1; }));
  publish(*writer_, 5);  // both have these
  ASSERT_TRUE(readers_->replace(second));
  EXPECT_TRUE(readers_->is_replacing());
  publish(*writer_, 5);
  EXPECT_EQ(take_all(), numbers(1, 20));
  EXPECT_FALSE(readers_->is_replacing());
  EXPECT_EQ(readers_->readers(), std::set<transport::Gid>{second->gid()});
  publish(*writer_, 3);
  EXPECT_EQ(take_all(), numbers(21, 23));
}

TEST_F(ReplaceableReaderOf, WhatAPublisherKeepsIsNotTakenAgainByTheNewReader) {
  open(QoS(20).transient_local());
  publish(*writer_, 20);
  EXPECT_EQ(take_all(), numbers(1, 20));
  for (const std::uint32_t depth : {40U, 80U}) {
    const auto next = make_reader(depth);
    ASSERT_TRUE(transport::test::eventually([&] { return next->matched() == 1; }));
    ASSERT_TRUE(readers_->replace(next));
    EXPECT_EQ(take_all(), numbers(1, 0));
  }
  publish(*writer_, 1);
  EXPECT_EQ(take_all(), numbers(21, 21));
}

TEST_F(ReplaceableReaderOf, APublisherWithTheIdOfOneThatWasForgottenCountsFromTheBeginning) {
  open(QoS(20));
  publish(*writer_, 5);
  EXPECT_EQ(take_all(), numbers(1, 5));
  const transport::Gid id = writer_->gid();
  writer_.reset();
  ASSERT_TRUE(transport::test::eventually([&] { return readers_->newest().matched() == 0; }));
  readers_->forget([&](const transport::Gid& publisher) { return publisher == id; });
  writer_ = make_writer(id);
  ASSERT_TRUE(transport::test::eventually([&] { return readers_->newest().matched() == 1; }));
  publish(*writer_, 2);
  EXPECT_EQ(take_all(), numbers(1, 2));
}

TEST_F(ReplaceableReaderOf, HasDataUntilEverythingHasBeenTaken) {
  open(QoS(20));
  publish(*writer_, 3);
  writer_.reset();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(readers_->has_data());
    EXPECT_TRUE(*readers_->take());
  }
  EXPECT_FALSE(readers_->has_data());
  EXPECT_EQ(take_all(), numbers(1, 0));
}

TEST_F(ReplaceableReaderOf, AWaitSetWakesForBothReaders) {
  open(QoS(20));
  transport::WaitSet wait_set;
  ASSERT_TRUE(readers_->attach(wait_set));
  const auto second = make_reader(40);
  second->stop_matching();
  ASSERT_TRUE(readers_->replace(second));
  publish(*writer_, 1);
  EXPECT_TRUE(*wait_set.wait(std::chrono::seconds(60)));
  EXPECT_EQ(take_all().size(), 1U);
  writer_.reset();
  ASSERT_TRUE(transport::test::eventually([&] { return take_all().empty() && !readers_->is_replacing(); }));
  readers_->detach();
  ASSERT_TRUE(wait_set.add(second)) << "the readers have left the wait set";
}

TEST_F(ReplaceableReaderOf, ALossThatBothReadersSeeCountsOnce) {
  open(QoS(20));
  const auto second = make_reader(20);
  ASSERT_TRUE(transport::test::eventually([&] { return second->matched() == 1; }));
  publish(*writer_, 30);
  ASSERT_TRUE(readers_->replace(second));
  EXPECT_EQ(take_all(), numbers(11, 30));
  EXPECT_FALSE(readers_->is_replacing());
  EXPECT_EQ(readers_->losses().overflow, 10U);
  EXPECT_EQ(readers_->losses().total(), 10U);
  publish(*writer_, 25);
  EXPECT_EQ(take_all(), numbers(36, 55));
  EXPECT_EQ(readers_->losses().overflow, 15U) << "the reader that stays counts on from there";
}

TEST_F(ReplaceableReaderOf, WhatOneReaderLosesAndTheOtherDeliversIsNoLoss) {
  open(QoS(20));
  const auto second = make_reader(5);
  ASSERT_TRUE(transport::test::eventually([&] { return second->matched() == 1; }));
  publish(*writer_, 20);
  ASSERT_TRUE(readers_->replace(second));
  EXPECT_EQ(take_all(), numbers(1, 20));
  publish(*writer_, 5);
  EXPECT_EQ(take_all(), numbers(21, 25));
  EXPECT_EQ(readers_->losses().total(), 0U);
}

TEST_F(ReplaceableReaderOf, MessagesThatExpireForBothReadersCountOnce) {
  QoS qos(20);
  qos.lifespan = std::chrono::milliseconds(1);
  open(qos);
  const auto second = make_reader(20);
  ASSERT_TRUE(transport::test::eventually([&] { return second->matched() == 1; }));
  publish(*writer_, 4);
  ASSERT_TRUE(readers_->replace(second));
  const std::int64_t published_ns = os::monotonic_ns();
  ASSERT_TRUE(transport::test::eventually([&] { return os::monotonic_ns() > published_ns + 1'000'000; }));
  EXPECT_EQ(take_all(), numbers(1, 0));
  EXPECT_FALSE(readers_->is_replacing());
  EXPECT_EQ(readers_->losses().lifespan, 4U);
}

TEST_F(ReplaceableReaderOf, MessagesOfSeveralPublishersThatBothReadersGiveUpCountOnce) {
  open(QoS(6));
  const auto other = make_writer();
  const auto second = make_reader(6);
  ASSERT_TRUE(transport::test::eventually([&] { return readers_->newest().matched() == 2 && second->matched() == 2; }));
  for (int i = 0; i < 6; ++i) {  // each queue has room for them, the history of both publishers has not
    publish(*writer_, 1);
    publish(*other, 1);
  }
  ASSERT_TRUE(readers_->replace(second));
  EXPECT_EQ(take_all().size(), 6U);
  EXPECT_FALSE(readers_->is_replacing());
  EXPECT_EQ(readers_->losses().overflow, 6U);
}

constexpr std::size_t kPassedInOneTake = 256;  // in replaceable_reader.hpp

TEST_F(ReplaceableReaderOf, OneTakePassesOverABoundedNumberOfMessagesThatAPublisherRepeats) {
  participant_ = domain_.join();
  transport::Participant::ReaderOptions reading;
  reading.topic = "t";
  reading.type = transport::test::number_type();
  reading.qos = QoS(600);
  readers_.emplace(*participant_->create_reader(reading));
  transport::test::CrowdOfPublishers hostile(domain_.path());
  std::vector<std::uint64_t> repeated(kPassedInOneTake + 2, 5);
  repeated.push_back(6);
  hostile.add(transport::Gid{77}, 1, repeated, 600);
  ASSERT_TRUE(transport::test::eventually([&] { return readers_->newest().unread() == repeated.size(); }));
  EXPECT_EQ(readers_->take()->sequence(), 5U);
  EXPECT_FALSE(*readers_->take());
  EXPECT_TRUE(readers_->is_spent()) << "its caller comes again at once";
  EXPECT_EQ(take_all(), numbers(6, 6));
  EXPECT_FALSE(readers_->is_spent());
}

TEST_F(ReplaceableReaderOf, WhatAPublisherOfSeldomMessagesKeepsForTheReaderBeforeComesFirst) {
  participant_ = domain_.join();
  const auto make = [this](std::uint32_t depth, bool connects_at_once) {
    transport::Participant::ReaderOptions reading;
    reading.topic = "t";
    reading.type = transport::test::number_type();
    reading.qos = QoS(depth);
    reading.connects_at_once = connects_at_once;
    return *participant_->create_reader(reading);
  };
  const auto first = make(20, false);
  readers_.emplace(first);
  transport::test::CrowdOfPublishers seldom(domain_.path());
  seldom.announce(transport::Gid{77}, true);
  ASSERT_TRUE(transport::test::eventually([&] { return first->matched() == 1; }));
  const auto second = make(40, true);
  ASSERT_TRUE(readers_->replace(second));
  EXPECT_EQ(take_all(), numbers(1, 0));
  EXPECT_TRUE(readers_->is_replacing()) << "the publisher does not know the new reader yet";
  seldom.call(transport::Gid{77}, first->gid());
  const auto of_second = seldom.asked(), of_first = seldom.asked();
  EXPECT_EQ(of_first.attach.reader, first->gid());
  seldom.serve(of_second, 2, {2}, 40);
  ASSERT_TRUE(transport::test::eventually([&] { return second->unread() == 1; }));
  EXPECT_EQ(take_all(), numbers(1, 0)) << "the first message is still on its way";
  EXPECT_FALSE(readers_->has_data());
  seldom.serve(of_first, 1, {1}, 20);
  ASSERT_TRUE(transport::test::eventually([&] { return readers_->has_data(); }));
  EXPECT_EQ(take_all(), numbers(1, 2));
  EXPECT_FALSE(readers_->is_replacing());
}

TEST_F(ReplaceableReaderOf, APublisherThatLeavesTheReaderBeforeWithoutAConnectionStopsTheOthersForABoundedTime) {
  participant_ = domain_.join();
  transport::Participant::ReaderOptions reading;
  reading.topic = "t";
  reading.type = transport::test::number_type();
  const std::shared_ptr<transport::Reader> first = *participant_->create_reader(reading);
  readers_.emplace(first, std::chrono::milliseconds(200));
  transport::test::CrowdOfPublishers silent(domain_.path());
  silent.announce(transport::Gid{77}, true);
  ASSERT_TRUE(transport::test::eventually([&] { return first->matched() == 1; }));
  reading.qos.depth = 40;
  reading.connects_at_once = true;
  const std::shared_ptr<transport::Reader> second = *participant_->create_reader(reading);
  ASSERT_TRUE(readers_->replace(second));
  silent.call(transport::Gid{77}, first->gid());
  const auto of_second = silent.asked();
  (void)silent.asked();  // of the first, which gets no answer
  silent.serve(of_second, 2, {2}, 40);
  ASSERT_TRUE(transport::test::eventually([&] { return second->unread() == 1; }));
  EXPECT_EQ(take_all(), numbers(1, 0));
  const auto late = transport::test::make_writer(*participant_, "t");
  ASSERT_TRUE(transport::test::eventually([&] { return second->matched() == 2; }));
  publish(*late, 1);
  std::vector<std::uint64_t> taken;
  EXPECT_TRUE(transport::test::eventually([&] {
    for (const std::uint64_t number : take_all()) taken.push_back(number);
    return taken.size() == 2;
  }));
  EXPECT_EQ(taken, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_FALSE(readers_->is_replacing());
  EXPECT_EQ(readers_->losses().interrupted, 1U) << "what it keeps for the first reader";
}

TEST_F(ReplaceableReaderOf, WhatTheReaderBeforeStillHasComesFirstAlsoWhenMuchIsPassedOver) {
  open(QoS(2 * kPassedInOneTake));
  const auto second = make_reader(4 * kPassedInOneTake);
  ASSERT_TRUE(transport::test::eventually([&] { return second->matched() == 1; }));
  publish(*writer_, kPassedInOneTake + 50);  // both have these
  ASSERT_TRUE(readers_->replace(second));
  std::vector<std::uint64_t> taken;
  for (std::size_t calls = 0; readers_->has_data() || readers_->is_spent(); ++calls) {
    ASSERT_LT(calls, 10 * kPassedInOneTake);
    const Result<transport::TakenSample> sample = readers_->take();
    ASSERT_TRUE(sample) << sample.error().message;
    if (*sample) taken.push_back(sample->sequence());
  }
  EXPECT_FALSE(*readers_->take()) << "the new reader has nothing that the old one had";
  EXPECT_EQ(taken, numbers(1, kPassedInOneTake + 50));
  EXPECT_FALSE(readers_->is_replacing());
}

}  // namespace
}  // namespace baton::link
