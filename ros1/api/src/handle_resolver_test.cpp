// SPDX-License-Identifier: Apache-2.0
// Handles and the messages that they are for, with endpoints of Baton and without ROS.
#include "handle_resolver.hpp"

#include <gtest/gtest.h>
#include <ros/time.h>
#include <unistd.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace baton::ros1::detail {
namespace {

using namespace std::chrono_literals;
using transport::Gid;
using transport::TakenSample;

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(500us);
  }
  return true;
}

class HandleResolverTest : public testing::Test {
 protected:
  explicit HandleResolverTest(const QoS& qos = QoS(4).hold(2)) {
    ros::Time::init();  // of roscpp's log
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = pattern;
    transport::ParticipantOptions options;
    options.domain = 7;
    options.runtime_directory = directory_;
    participant_ = transport::Participant::join(options).or_throw();
    reader_ = participant_->create_reader({"t", "/listener", type(), qos}).or_throw();
    first_ = add_writer();
    second_ = add_writer();
    if (!eventually([&] { return reader_->matched() == 2; })) throw std::runtime_error("no match");
    // The segment of a publisher's first message may be on its way when the message is not.
    for (const auto& writer : {first_, second_}) {
      publish(*writer, 0);
      if (!eventually([&] { return static_cast<bool>(reader_->take_from(writer->gid()).or_throw()); })) {
        throw std::runtime_error("no first message");
      }
    }
    arrivals_ = std::make_unique<HandleResolver>(reader_, Md5{1}, kMostWaiting);
    arrivals_->set_writers({{first_->gid(), {"/one", 0}}, {second_->gid(), {"/two", 0}}});
  }
  ~HandleResolverTest() override {
    arrivals_.reset();
    reader_.reset();
    first_.reset();
    second_.reset();
    participant_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  static transport::TypeInfo type() { return {"baton_ros1_tests/Number", {}, "", 8, true}; }
  std::shared_ptr<transport::Writer> add_writer() {
    return participant_->create_writer({"t", "/talker", type(), QoS(4), {}}).or_throw();
  }
  static std::uint64_t publish(transport::Writer& writer, std::uint64_t value) {
    const memory::Chunk chunk = writer.loan_sized(8).or_throw();
    std::memcpy(chunk.message(), &value, 8);
    return writer.publish(chunk).or_throw();
  }
  /// A handle of `writer`'s message, sent by `sender`. `number` counts from the first message after the constructor's.
  void arrive(const Gid& writer, const std::string& sender, std::uint64_t number, bool here = false) {
    PeerPtr& peer = peers_[sender];
    if (!peer) peer = std::make_shared<RoscppPeer>(sender, os::TcpPeer());  // one of which only the name is known
    arrive_from(peer, writer, number, here);
  }
  void arrive_from(const PeerPtr& sender, const Gid& writer, std::uint64_t number, bool here = false,
                   std::size_t bytes = 0) {
    const auto handle = boost::make_shared<ArrivedHandle>();
    handle->bytes.resize(bytes);
    handle->sender = sender;
    handle->link = link_;
    handle->handle.type = Md5{1};
    handle->handle.writer = writer;
    handle->handle.number = number == UINT64_MAX ? number : number + 1;
    handle->handle.place = here ? TopicHandle::Place::kHere : TopicHandle::Place::kSharedMemory;
    arrivals_->arrive(handle);
  }
  static std::uint64_t value_of(const TakenSample& sample) {
    std::uint64_t value = 0;
    std::memcpy(&value, sample.message(), 8);
    return value;
  }
  /// The value of the next message; 0: none, kCarried: its bytes are in its handle.
  static constexpr std::uint64_t kCarried = 1000;
  std::uint64_t next() {
    const HandleResolver::ResolvedMessage delivery = arrivals_->next();
    return delivery.carried ? kCarried : delivery.sample ? value_of(delivery.sample) : 0;
  }
  /// What is delivered without a handle when the reader is pulled.
  std::vector<std::uint64_t> pull() {
    std::vector<std::uint64_t> out;
    while (TakenSample taken = reader_->take().or_throw()) {
      for (const TakenSample& each : arrivals_->without_handle(std::move(taken))) out.push_back(value_of(each));
    }
    return out;
  }

  static constexpr std::size_t kMostWaiting = 68;
  std::string directory_;
  std::shared_ptr<transport::Participant> participant_;
  std::shared_ptr<transport::Reader> reader_;
  std::shared_ptr<transport::Writer> first_, second_;
  std::unique_ptr<HandleResolver> arrivals_;
  std::map<std::string, PeerPtr> peers_;
  boost::shared_ptr<ros::M_string> link_ = boost::make_shared<ros::M_string>();
};

TEST_F(HandleResolverTest, AHandleTakesItsMessageAndDropsOlderOnesOfItsPublisher) {
  for (std::uint64_t i = 1; i <= 3; ++i) publish(*first_, i);
  publish(*second_, 10);
  arrive(first_->gid(), "/one", 2);
  EXPECT_EQ(next(), 2U) << "roscpp has dropped the first handle";
  EXPECT_EQ(next(), 0U);
  arrive(first_->gid(), "/one", 3);
  arrive(second_->gid(), "/two", 1);
  EXPECT_EQ(next() + next(), 3U + 10);
  EXPECT_EQ(arrivals_->counters.taken, 3U);
  EXPECT_FALSE(arrivals_->waits());
}

TEST_F(HandleResolverTest, AHandleWhoseMessageWasOverwrittenIsCountedAndTheNextOnesAreDelivered) {
  for (std::uint64_t i = 1; i <= 6; ++i) publish(*first_, i);
  for (std::uint64_t i = 1; i <= 6; ++i) arrive(first_->gid(), "/one", i);
  for (std::uint64_t i = 3; i <= 6; ++i) EXPECT_EQ(next(), i);
  EXPECT_EQ(next(), 0U);
  EXPECT_EQ(arrivals_->counters.overwritten, 2U);
  EXPECT_EQ(arrivals_->counters.taken, 4U);
}

class HandleResolverOfALongQueue : public HandleResolverTest {
 protected:
  HandleResolverOfALongQueue() : HandleResolverTest(QoS(1000).hold(2)) {}
};

TEST_F(HandleResolverOfALongQueue, OneLookPassesOverABoundedNumberOfOlderMessagesAndTheNextGoesOn) {
  constexpr std::uint64_t kLast = HandleResolver::kMostPassed + 10;
  for (std::uint64_t i = 1; i <= kLast; ++i) publish(*first_, i);
  arrive(first_->gid(), "/one", kLast);
  EXPECT_EQ(next(), 0U);
  EXPECT_TRUE(arrivals_->waits()) << "so its caller comes again";
  EXPECT_EQ(next(), kLast);
  EXPECT_EQ(arrivals_->counters.taken, 1U);
}

TEST_F(HandleResolverTest, AHandleThatIsEarlyWaitsAndThoseAfterItToo) {
  arrive(first_->gid(), "/one", 1);
  arrive(first_->gid(), "/one", 2, true);
  EXPECT_EQ(next(), 0U);
  EXPECT_TRUE(arrivals_->waits());
  publish(*first_, 1);
  EXPECT_EQ(next(), 1U);
  EXPECT_EQ(next(), kCarried);
  EXPECT_FALSE(arrivals_->waits());
}

TEST_F(HandleResolverTest, AHandleWhoseMessageNeverComesIsCountedAfterAWhile) {
  arrive(first_->gid(), "/one", 1);
  arrive(Gid{9}, "/one", 1);
  EXPECT_TRUE(eventually([&] { return next() == 0 && !arrivals_->waits(); }));
  EXPECT_EQ(arrivals_->counters.overwritten, 1U);
  EXPECT_EQ(arrivals_->counters.refused, 1U) << "of a publisher that Baton does not know";
}

TEST_F(HandleResolverTest, HandlesThatCameTogetherWaitTogetherAndNotOneAfterTheOther) {
  const auto began = HandleResolver::Clock::now();
  for (std::uint64_t i = 1; i <= 5; ++i) arrive(first_->gid(), "/one", i);
  arrive(first_->gid(), "/one", 6, true);
  const auto together = HandleResolver::Clock::now() - began;  // the last one waits so much longer than the first one
  EXPECT_EQ(next(), 0U);
  std::uint64_t found = 0;
  EXPECT_TRUE(eventually([&] { return (found = next()) != 0 || arrivals_->counters.overwritten != 0; }));
  if (found == 0) {
    std::this_thread::sleep_for(together);
    found = next();
  }
  EXPECT_EQ(found, kCarried);
  EXPECT_EQ(arrivals_->counters.overwritten, 5U);
}

TEST_F(HandleResolverTest, AFloodOfHandlesWithoutMessagesDoesNotGrowWithoutEnd) {
  constexpr std::uint64_t kFlood = 10'000;
  for (std::uint64_t i = 1; i <= kFlood; ++i) arrive(first_->gid(), "/one", i);
  EXPECT_EQ(arrivals_->counters.overwritten, kFlood - kMostWaiting);
  arrive(first_->gid(), "/one", kFlood + 1, true);
  EXPECT_TRUE(eventually([&] { return next() == kCarried; }));
  EXPECT_EQ(arrivals_->counters.overwritten, kFlood);
}

TEST_F(HandleResolverTest, AMessageThatIsInItsHandleAndInTheQueueIsDeliveredOnce) {
  publish(*first_, 1);
  arrive(first_->gid(), "/one", 1, true);
  EXPECT_EQ(next(), kCarried);
  EXPECT_TRUE(pull().empty());
  publish(*first_, 2);
  EXPECT_EQ(pull(), std::vector<std::uint64_t>{2});
  arrive(first_->gid(), "/one", 2, true);
  arrive(first_->gid(), "/one", 2);
  EXPECT_EQ(next(), 0U);
  arrive(first_->gid(), "/one", 3, true);
  EXPECT_EQ(next(), kCarried);
  publish(*first_, 3);
  EXPECT_TRUE(pull().empty()) << "it came later than its handle";
  EXPECT_FALSE(arrivals_->waits());
}

TEST_F(HandleResolverTest, AMessageThatWasTakenBeforeItsHandleIsNotLostWhenTheReaderIsPulled) {
  arrive(first_->gid(), "/one", 1);
  for (std::uint64_t i = 1; i <= 6; ++i) publish(*first_, i);  // 1 and 2 are overwritten
  EXPECT_EQ(next(), 0U);                                       // looked for 1, and took 3
  EXPECT_EQ(pull(), (std::vector<std::uint64_t>{3, 4, 5, 6}));
  for (std::uint64_t i = 3; i <= 6; ++i) arrive(first_->gid(), "/one", i);
  EXPECT_EQ(next(), 0U);
}

TEST_F(HandleResolverTest, AStrangersHandleTakesNothing) {
  publish(*first_, 1);
  arrive(first_->gid(), "/stranger", 1);
  arrive(first_->gid(), "/stranger", UINT64_MAX);
  arrive(first_->gid(), "/stranger", UINT64_MAX, true);
  EXPECT_EQ(next(), kCarried) << "an input like a stock publisher's";
  EXPECT_EQ(next(), 0U);
  EXPECT_EQ(arrivals_->counters.refused, 2U);
  arrive(first_->gid(), "/one", 1);
  EXPECT_EQ(next(), 1U);
}

TEST_F(HandleResolverTest, AHandleOfAnotherProcessTakesNothingAndHidesNothingWhateverNameItSays) {
  constexpr std::int32_t kOther = 1;
  arrivals_->set_writers({{first_->gid(), {"/one", kOther}}, {second_->gid(), {"/two", ::getpid()}}});
  const auto liar = std::make_shared<RoscppPeer>("/one"),
             honest = std::make_shared<RoscppPeer>("/two");  // of this process
  publish(*first_, 1);
  publish(*second_, 10);
  arrive_from(liar, first_->gid(), 1);
  arrive_from(liar, first_->gid(), UINT64_MAX, true);
  EXPECT_EQ(next(), kCarried) << "an input like a stock publisher's";
  EXPECT_EQ(arrivals_->counters.refused, 1U);
  EXPECT_FALSE(arrivals_->has(RoscppPeer("/one", os::TcpPeer())));
  arrive_from(honest, second_->gid(), 1);
  EXPECT_EQ(next(), 10U);
  EXPECT_TRUE(arrivals_->has(*honest));
  EXPECT_EQ(pull(), std::vector<std::uint64_t>{1});
}

TEST_F(HandleResolverTest, AHandleOfAConnectionThatEndedBeforeAnybodyAskedWhoseItWasIsOfNoProcess) {
  for (const std::int32_t pid : {0, static_cast<std::int32_t>(::getpid())}) {
    arrivals_->set_writers({{first_->gid(), {"/one", pid}}});
    const auto gone = std::make_shared<RoscppPeer>("/one", std::nullopt);
    const std::uint64_t refused = arrivals_->counters.refused;
    publish(*first_, 1);
    arrive_from(gone, first_->gid(), 1);
    arrive_from(gone, first_->gid(), UINT64_MAX, true);
    EXPECT_EQ(next(), kCarried) << "an input like a stock publisher's";
    EXPECT_EQ(arrivals_->counters.refused, refused + 1);
    EXPECT_EQ(pull(), std::vector<std::uint64_t>{1});
  }
}

TEST_F(HandleResolverTest, HandlesOfAnOlderLinkComeBeforeThoseOfTheNextOneOfTheirProcess) {
  const auto before = std::make_shared<RoscppPeer>("/one", os::TcpPeer()),
             after = std::make_shared<RoscppPeer>("/one", os::TcpPeer());
  arrive_from(before, first_->gid(), 1);
  arrive_from(after, first_->gid(), 2, true);
  EXPECT_EQ(next(), 0U);
  publish(*first_, 1);
  EXPECT_EQ(next(), 1U);
  EXPECT_EQ(next(), kCarried);
  arrive_from(before, first_->gid(), 2, true);
  EXPECT_EQ(next(), 0U) << "delivered already";
}

TEST_F(HandleResolverTest, WhatCameInAHandleBeforeItsPublisherWasKnownIsNotTakenAgain) {
  arrivals_ = std::make_unique<HandleResolver>(reader_, Md5{1}, kMostWaiting);
  arrive(first_->gid(), "/one", 1, true);
  EXPECT_EQ(next(), kCarried);
  publish(*first_, 1);
  arrivals_->set_writers({{first_->gid(), {"/one", 0}}});
  EXPECT_TRUE(pull().empty());
}

TEST_F(HandleResolverTest, MessagesBeyondTheHeldLimitAreCountedAndThoseAfterTheReleaseAreDelivered) {
  for (std::uint64_t i = 1; i <= 4; ++i) publish(*first_, i);
  for (std::uint64_t i = 1; i <= 3; ++i) arrive(first_->gid(), "/one", i);
  std::vector<HandleResolver::ResolvedMessage> kept;
  kept.push_back(arrivals_->next());
  kept.push_back(arrivals_->next());
  EXPECT_EQ(next(), 0U);
  EXPECT_EQ(arrivals_->counters.held_limit, 1U);
  kept.clear();
  arrive(first_->gid(), "/one", 4);
  EXPECT_EQ(next(), 4U);
}

TEST_F(HandleResolverTest, MessagesOfAPublisherThatIsGoneCanStillBeTaken) {
  const Gid gid = first_->gid();
  publish(*first_, 1);
  first_.reset();
  ASSERT_TRUE(eventually([&] { return reader_->matched() == 1; }));
  arrivals_->set_writers({{second_->gid(), {"/two", 0}}});
  arrive(gid, "/one", 1);
  EXPECT_EQ(next(), 1U);
}

TEST_F(HandleResolverTest, MessagesWhoseHandlesADeadPublisherDidNotSendAreDeliveredAndPinNothing) {
  for (std::uint64_t i = 1; i <= 3; ++i) publish(*first_, i);
  arrive(first_->gid(), "/one", 1);
  EXPECT_EQ(next(), 1U);
  EXPECT_FALSE(arrivals_->may_be_left());
  first_.reset();
  ASSERT_TRUE(eventually([&] { return reader_->matched() == 1; }));
  arrivals_->set_writers({{second_->gid(), {"/two", 0}}});
  EXPECT_TRUE(arrivals_->may_be_left());
  for (const auto began = HandleResolver::Clock::now();
       HandleResolver::Clock::now() - began < HandleResolver::kPatience + 10ms;) {
    ASSERT_TRUE(arrivals_->left_behind().empty()) << "a handle may still come by the connection";
  }
  link_.reset();
  std::vector<TakenSample> left;
  EXPECT_TRUE(eventually([&] { return !(left = arrivals_->left_behind()).empty(); }));
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(value_of(left[0]), 2U);
  EXPECT_EQ(value_of(left[1]), 3U);
  EXPECT_FALSE(arrivals_->may_be_left());
}

TEST_F(HandleResolverTest, MessagesOfAPublisherThatCameAndWentUnseenAreDeliveredAndPinNothing) {
  auto unseen = add_writer();
  ASSERT_TRUE(eventually([&] { return reader_->matched() == 3; }));
  publish(*unseen, 3);
  ASSERT_TRUE(eventually([&] { return static_cast<bool>(reader_->take_from(unseen->gid()).or_throw()); }));
  publish(*unseen, 1);
  publish(*unseen, 2);
  unseen.reset();
  ASSERT_TRUE(eventually([&] { return reader_->matched() == 2; }));
  const auto look = [&] {
    std::map<Gid, Process> gone;
    for (const transport::EndpointInfo& each : reader_->gone_publishers()) gone[each.gid] = process_of(each);
    arrivals_->set_writers({{first_->gid(), {"/one", 0}}, {second_->gid(), {"/two", 0}}}, gone);
    return gone.size();
  };
  EXPECT_EQ(look(), 1U);
  EXPECT_TRUE(arrivals_->may_be_left());
  std::vector<TakenSample> left;
  EXPECT_TRUE(eventually([&] { return !(left = arrivals_->left_behind()).empty(); }));
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(value_of(left[0]), 1U);
  EXPECT_EQ(value_of(left[1]), 2U);
  EXPECT_FALSE(arrivals_->may_be_left());
  EXPECT_EQ(look(), 0U);
}

TEST_F(HandleResolverTest, AFloodOfPublishersMakesNobodyForgetThoseWhoseMessagesWait) {
  const Gid gid = first_->gid();
  publish(*first_, 1);
  first_.reset();
  ASSERT_TRUE(eventually([&] { return reader_->matched() == 1; }));
  std::map<Gid, Process> alive;
  for (std::uint32_t i = 0; i < 1100; ++i) {
    Gid each{9};
    std::memcpy(each.data() + 8, &i, 4);
    alive[each] = {"/flood", 0};
  }
  link_.reset();
  std::vector<TakenSample> left;
  EXPECT_TRUE(eventually([&] {
    arrivals_->set_writers(alive, {{gid, {"/one", 0}}});
    return !(left = arrivals_->left_behind()).empty();
  }));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(value_of(left[0]), 1U);
}

TEST_F(HandleResolverTest, AMessageThatWasTakenBeforeItsHandleIsReleasedWhenTheConnectionIsGone) {
  arrive(first_->gid(), "/one", 1);
  for (std::uint64_t i = 1; i <= 6; ++i) publish(*first_, i);  // 1 and 2 are overwritten
  EXPECT_EQ(next(), 0U);                                       // looked for 1, and took 3
  link_.reset();
  EXPECT_EQ(next(), 0U);
  while (reader_->take_from(first_->gid()).or_throw()) {
  }
  publish(*first_, 7);
  EXPECT_EQ(first_->memory_account().published_slots, 1U);
}

TEST_F(HandleResolverTest, TheContentsThatASenderMakesWaitHaveABound) {
  const auto flood = std::make_shared<RoscppPeer>("/flood", os::TcpPeer());
  constexpr std::size_t kBytes = HandleResolver::kMostContentBytes / 8;
  for (std::uint8_t writer = 1; writer <= 3; ++writer) {
    arrive_from(flood, Gid{9, writer}, 1);  // waits, and the others behind it
    for (std::uint64_t i = 2; i <= 8; ++i) arrive_from(flood, Gid{9, writer}, i, true, kBytes);
  }
  EXPECT_EQ(next(), kCarried) << "the first publisher's handles have made room for the last one's";
  // 21 contents came, 8 are kept. Those that do not wait any more are delivered; the others are lost, and so are the handles before them.
  EXPECT_GE(arrivals_->counters.refused, 21U - 8);
  arrive_from(flood, Gid{9, 1}, 9, true, 2 * HandleResolver::kMostContentBytes);
  EXPECT_EQ(next(), kCarried) << "one alone may have more";
  publish(*first_, 1);
  arrive(first_->gid(), "/one", 1);
  EXPECT_EQ(next(), 1U);
  EXPECT_EQ(arrivals_->counters.taken, 1U);
}

TEST_F(HandleResolverTest, WhatTheKernelSaidOfProcessesOfOneNameHasABound) {
  const RoscppPeer peer("/restarts", os::TcpPeer());
  for (std::int32_t pid = 1; pid <= 10'000; ++pid) {
    static_cast<void>(peer.is({"/restarts", pid}));
    ASSERT_LE(peer.answers(), RoscppPeer::kMostAnswers);
  }
  EXPECT_GT(peer.answers(), 0U);
}

TEST_F(HandleResolverTest, AFloodOfStrangersDoesNotGrowWithoutEnd) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Gid gid{9};
    std::memcpy(gid.data() + 8, &i, 8);
    arrive(gid, "/stranger", 1);
  }
  EXPECT_GE(arrivals_->counters.refused, 1700U);
  publish(*first_, 1);
  arrive(first_->gid(), "/one", 1);
  EXPECT_EQ(next(), 1U);
}

}  // namespace
}  // namespace baton::ros1::detail
