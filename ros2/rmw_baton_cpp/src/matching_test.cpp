// SPDX-License-Identifier: Apache-2.0
#include "matching.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/own_domain.hpp"

namespace baton::rmw {
namespace {

constexpr std::int64_t kLongNs = 200'000'000'000;

class MatchingTest : public test::DomainTest {
 protected:
  void SetUp() override {
    DomainTest::SetUp();
    Result<std::shared_ptr<transport::Participant>> joined = transport::Participant::join({});
    ASSERT_TRUE(joined) << joined.error().message;
    participant_ = *joined;
    writer_.topic = "request";
    writer_.type.name = "test/Request";
    writer_.type.skeleton_bytes = 8;
    writer_.type.fixed_size = true;
  }
  std::shared_ptr<transport::Reader> reader(const std::string& topic) {
    transport::Participant::ReaderOptions options;
    options.topic = topic;
    options.type = writer_.type;
    return participant_->create_reader(options).value();
  }
  std::shared_ptr<transport::Participant> participant_;
  transport::Participant::WriterOptions writer_;
};

TEST_F(MatchingTest, NobodyWaitsForAReaderThatTheGraphDoesNotKnow) {
  const auto other = reader("other");
  Matching matching(participant_, writer_, Matching::Partners::kAll);
  matching.await([](std::size_t) { return false; }, kLongNs);  // which ends
}

TEST_F(MatchingTest, ARequestWaitsForAServerAndForTheWayOfItsResponse) {
  const auto requests = reader("request"), responses = reader("response");
  const auto writer = participant_->create_writer(writer_).value();
  std::shared_ptr<transport::Writer> responding;  // outlives the wait, which may look for it after the thread's end
  std::thread server([&] {
    while (writer->matched() == 0) std::this_thread::yield();
    transport::Participant::WriterOptions options = writer_;
    options.topic = "response";
    responding = participant_->create_writer(options).value();
  });
  Matching matching(participant_, writer_, Matching::Partners::kAll);
  bool both = false;
  matching.await([&](std::size_t) { return both = both || (writer->matched() != 0 && responses->matched() != 0); },
                 kLongNs);
  EXPECT_TRUE(both);
  server.join();
}

TEST_F(MatchingTest, EachEndWaitsForAllPartnersOfItsTypeAndQosInThisProcess) {
  const auto other = reader("other"), one = reader("request"), two = reader("request");
  transport::Participant::WriterOptions careless = writer_;
  careless.qos.reliability = Reliability::kBestEffort;
  const auto writer = participant_->create_writer(writer_).value(),
             refused = participant_->create_writer(careless).value();
  const auto expected = [](Matching&& matching) {
    std::size_t found = 0;
    matching.await([&](std::size_t known) { return (found = known) != 0; }, kLongNs);
    return found;
  };
  const auto here = Matching::Partners::kOfThisProcess;
  EXPECT_EQ(expected({participant_, writer_, here}), 2U);
  EXPECT_EQ(expected({participant_, careless, here}), 0U);
  transport::Participant::ReaderOptions options;
  options.topic = "request";
  options.type = writer_.type;
  EXPECT_EQ(expected({participant_, options, here}), 1U);
}

TEST_F(MatchingTest, APartnerThatComesDuringTheWaitCounts) {
  const auto one = reader("request");
  std::shared_ptr<transport::Reader> two;
  std::size_t last = 0;
  Matching matching(participant_, writer_, Matching::Partners::kOfThisProcess);
  matching.await(
      [&](std::size_t known) {
        if (!two) two = reader("request");
        return (last = known) == 2;
      },
      kLongNs);
  EXPECT_EQ(last, 2U);
}

TEST_F(MatchingTest, APartnerHasItsTimeOnceWhateverElseChanges) {
  const auto one = reader("request");
  std::shared_ptr<transport::Reader> two, three;
  Matching matching(participant_, writer_, Matching::Partners::kOfThisProcess);
  const auto never = [](std::size_t) { return false; };
  matching.await(never, 1);
  const auto other = reader("other");
  matching.await(never, kLongNs);  // which ends
  two = reader("request");
  const auto come_late = [&](std::size_t) {
    if (!three) three = reader("request");
    return false;
  };
  matching.await(come_late, 1);
  ASSERT_TRUE(three) << "the second one has a time of its own";
  std::size_t last = 0;
  matching.await([&](std::size_t known) { return (last = known) != 0; }, kLongNs);
  EXPECT_EQ(last, 3U) << "a partner that comes during a wait has one more";
}

}  // namespace
}  // namespace baton::rmw
