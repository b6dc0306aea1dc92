// SPDX-License-Identifier: Apache-2.0
// Ends that nobody abroad wants, on a host with a link: counted, never timed.
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baton/os/real_time_check.hpp"
#include "host_test_support.hpp"

namespace baton::link {
namespace {

using transport::test::eventually;

constexpr int kMessages = 20'000, kWarm = 10'000;

struct Host {
  Host(const std::string& name, std::vector<std::string> peers) : port(free_port()), participant(domain.join()) {
    link = std::move(Link::start(options_of(domain, name, port, std::move(peers)))).or_throw();
  }
  transport::test::TestDomain domain;
  const std::uint16_t port;
  std::shared_ptr<transport::Participant> participant;
  std::unique_ptr<Link> link;  // ends first
};

/// Loans, publishes and takes on a thread of its own; nothing: a message was not published or not taken.
std::optional<RealTimeReport> steady_state_of(transport::Writer& writer, transport::Reader& reader) {
  std::optional<RealTimeReport> report;
  std::thread([&] {
    std::optional<RealTimeCheck> check;
    for (int i = 0; i < kMessages; ++i) {
      if (i == kWarm) check.emplace(std::initializer_list<long>{});
      Result<memory::Chunk> chunk = writer.loan_sized(8);
      if (!chunk || !writer.publish(*chunk)) return;
      const Result<transport::TakenSample> sample = reader.take();
      if (!sample || !*sample) return;
    }
    report = check->report();
  }).join();
  return report;
}

TEST(Bystanders, ATopicThatNobodyAbroadWantsHasNoMoreConnectionsAndMakesNoCallOfTheKernel) {
  Host near("near", {});
  const auto reader = transport::test::make_reader(*near.participant, "/local", QoS(4), text_type());
  const auto writer = transport::test::make_writer(*near.participant, "/local", QoS(4), text_type());
  ASSERT_TRUE(eventually([&] { return reader->matched() == 1 && writer->matched() == 1; }));

  // Another topic of this host travels, so the link is at work.
  Host far("far", {"127.0.0.1:" + std::to_string(near.port)});
  const auto wanted = transport::test::make_writer(*near.participant, "/wanted", QoS(4), text_type());
  const auto wanting = transport::test::make_reader(*far.participant, "/wanted", QoS(4), text_type());
  ASSERT_TRUE(eventually([&] { return wanted->matched() == 1 && wanting->matched() == 1; }));

  const std::optional<RealTimeReport> report = steady_state_of(*writer, *reader);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->clean()) << report->text();
  EXPECT_EQ(writer->matched(), 1U) << "the link must not read what nobody abroad wants: it would have to be woken";
}

}  // namespace
}  // namespace baton::link
