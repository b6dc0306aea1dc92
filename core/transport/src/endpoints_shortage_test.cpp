// SPDX-License-Identifier: Apache-2.0
// Writers and readers of one process that run short of something: slots of a pool, room in the window, file descriptors.
#include <algorithm>

#include "baton/memory/window.hpp"
#include "baton/transport/whose.hpp"
#include "endpoint_test_support.hpp"
#include "participant.hpp"

namespace baton::transport::test {
namespace {

using EndpointsInShortage = OneProcess;

TEST_F(EndpointsInShortage, HeldSamplesAreSharedOutWhenTheSlotsRunShort) {
  memory::PoolOptions pool = small_pool();
  pool.slot_count = 16;
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool);
  std::vector<std::shared_ptr<Reader>> readers;
  for (int i = 0; i < 12; ++i) readers.push_back(make_reader(*participant, "t", QoS(2).hold(6)));
  EXPECT_TRUE(
      eventually([&] { return domain.diagnostics().text(Errc::limit_reached).find("slots") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] { return writer->matched() >= 2; }));
  EXPECT_LT(writer->matched(), 12U);
}

TEST_F(EndpointsInShortage, AReaderThatWasRefusedForWantOfSlotsIsServedWhenOthersHaveLeft) {
  memory::PoolOptions pool = small_pool();
  pool.slot_count = 8;
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), pool);
  std::vector<std::shared_ptr<Reader>> readers;
  const auto told = [&] { return domain.diagnostics().has(Errc::limit_reached); };
  while (!told()) {
    readers.push_back(make_reader(*participant, "t", QoS(1).hold(1)));
    ASSERT_LT(readers.size(), 20U);
    ASSERT_TRUE(eventually([&] { return told() || writer->matched() == readers.size(); }));
  }
  const auto refused = readers.back();
  EXPECT_EQ(refused->matched(), 0U);
  readers.clear();
  ASSERT_TRUE(matched(*refused, 1));
  publish(*writer, 7).or_throw();
  EXPECT_EQ(value_of(take_sample(*refused)), 7U);
}

TEST_F(EndpointsInShortage, AWriterForWhichTheWindowHasNoRoomIsRefusedWhenItIsMadeAndNotAtItsFirstLoan) {
  Participant::WriterOptions options;
  options.topic = "t";
  options.node = "n";
  options.type = number_type();
  options.pool.max_message_bytes = memory::kMaxMessageBytes;  // few of these fill every window
  std::vector<std::shared_ptr<Writer>> writers;
  Result<std::shared_ptr<Writer>> writer = participant->create_writer(options);
  for (; writer.ok(); writer = participant->create_writer(options)) {
    writers.push_back(std::move(*writer));
    options.topic = "t" + std::to_string(writers.size() / kMaxAnnouncedPerTopic);
  }
  EXPECT_EQ(writer.error().code, Errc::window_exhausted) << writer.error().message;
  for (std::size_t i = 0; i < std::min<std::size_t>(writers.size(), 50); ++i) {
    Result<memory::Chunk> chunk = writers[i]->loan_growing();
    ASSERT_TRUE(chunk.ok()) << chunk.error().message;
    writers[i]->abandon(*chunk);
  }
  writers.clear();
  EXPECT_TRUE(participant->create_writer(options).ok() || (*memory::Window::instance())->size() < std::size_t{1} << 40);
}

TEST_F(EndpointsInShortage, AShortageOfDescriptorsForSharingSegmentsIsReportedOnceInTenSeconds) {
  {
    const NoDescriptors shortage;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(participant->impl().duplicate(2), nullptr);
  }
  settle(*participant);
  std::size_t said = 0;
  {
    const std::lock_guard<std::mutex> lock(domain.diagnostics().mutex);
    for (const Diagnostic& entry : domain.diagnostics().list)
      said += entry.text.find("to share data segments") != std::string::npos;
  }
  EXPECT_EQ(said, 1U);
  EXPECT_NE(participant->impl().duplicate(2), nullptr);
}

TEST_F(EndpointsInShortage, AShortageOfDescriptorsDelaysMatchesAndMessagesAndLosesNone) {
  for (std::size_t spare = 0; spare < 6; ++spare) {
    const std::string topic = "t" + std::to_string(spare);
    const auto writer = make_writer(*participant, topic);
    const auto old = make_reader(*participant, topic);
    ASSERT_TRUE(matched(*writer, 1) && matched(*old, 1));
    NoDescriptors shortage(spare);
    // The first loan makes the data segment, whose descriptor `old` and `late` need.
    const bool published = publish(*writer, 1).ok();
    const auto late = make_reader(*participant, topic);
    eventually([&] { return late->matched() == 1; }, 50ms);
    shortage.release();
    EXPECT_TRUE(matched(*late, 1)) << spare;
    publish(*writer, 2).or_throw();
    if (published) {
      EXPECT_EQ(value_of(take_sample(*old)), 1U) << spare;
    }
    EXPECT_EQ(value_of(take_sample(*old)), 2U) << spare;
    EXPECT_EQ(value_of(take_sample(*late)), 2U) << spare;
  }
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::out_of_descriptors); }));
}

TEST_F(EndpointsInShortage, OneTakePassesOverABoundedNumberOfLostMessages) {
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), {});  // a segment of many granules
  publish(*writer, 0).or_throw();                                                // makes its segment
  const auto reader = make_reader(*participant, "t", QoS(100));
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  memory::Window& window = **memory::Window::instance();
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (std::size_t bytes = window.size(); bytes != 0; bytes /= 2) {
    for (auto base = window.allocate(bytes); base.ok(); base = window.allocate(bytes)) taken.emplace_back(*base, bytes);
  }
  std::atomic<int> events{0};
  reader->on_event([&](Event event) { events += event == Event::kMessageLost; });
  for (int i = 0; i < 70; ++i) publish(*writer, 1, 5000).or_throw();
  EXPECT_FALSE(reader->take_next().or_throw());
  EXPECT_LT(reader->losses().limit, 70U);
  EXPECT_TRUE(reader->has_data()) << "a caller that waits comes back at once";
  EXPECT_FALSE(reader->take_next().or_throw());
  EXPECT_EQ(reader->losses().limit, 70U);
  EXPECT_TRUE(eventually([&] { return events > 0; }));
  for (const auto& [base, bytes] : taken) window.free(base, bytes);
  publish(*writer, 2).or_throw();
  EXPECT_EQ(value_of(reader->take_next().or_throw()), 2U) << "the connection stays";
}

TEST_F(EndpointsInShortage, ALineAboutALostMessageSaysHowManyWereLostSoFar) {
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), {});  // a segment of many granules
  publish(*writer, 0).or_throw();                                                // makes its segment
  const auto reader = make_reader(*participant, "t", QoS(100));
  ASSERT_TRUE(matched(*writer, 1) && matched(*reader, 1));
  memory::Window& window = **memory::Window::instance();
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (std::size_t bytes = window.size(); bytes != 0; bytes /= 2) {
    for (auto base = window.allocate(bytes); base.ok(); base = window.allocate(bytes)) taken.emplace_back(*base, bytes);
  }
  const auto lines = [&] {
    std::vector<std::string> out;
    const std::lock_guard<std::mutex> lock(domain.diagnostics().mutex);
    for (const Diagnostic& each : domain.diagnostics().list) {
      if (each.text.find("lost a message") != std::string::npos) out.push_back(each.text);
    }
    return out;
  };
  std::uint64_t before_the_line = 0;
  EXPECT_TRUE(eventually([&] {  // one line in os::kSeldom
    const std::uint64_t before = reader->losses().limit;
    publish(*writer, 1, 5000).or_throw();
    EXPECT_FALSE(reader->take_next().or_throw());
    settle(*participant);
    if (lines().size() < 2) {
      std::this_thread::sleep_for(100ms);
      return false;
    }
    before_the_line = before;
    return true;
  }));
  for (const auto& [base, bytes] : taken) window.free(base, bytes);
  ASSERT_GT(before_the_line, 2U);
  EXPECT_NE(lines()[1].find("(" + std::to_string(before_the_line + 1) + " messages so far)"), std::string::npos)
      << lines()[1];
}

TEST_F(EndpointsInShortage, WhatCannotBeMappedIsCopiedUntilThereIsRoom) {
  const auto writer = make_writer(*participant, "t", QoS(), number_type(), {});  // a segment of many granules
  publish(*writer, 0).or_throw();                                                // makes it
  memory::Window& window = **memory::Window::instance();
  std::byte* const room[] = {*window.allocate(1), *window.allocate(1), *window.allocate(1)};
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (std::size_t bytes = window.size(); bytes != 0; bytes /= 2) {
    for (auto base = window.allocate(bytes); base.ok(); base = window.allocate(bytes)) taken.emplace_back(*base, bytes);
  }
  for (std::byte* granule : room) window.free(granule, 1);  // for three copies
  const auto reader = make_reader(*participant, "t", QoS(10).hold(8));
  const auto other = make_reader(*participant, "t", QoS(10));
  ASSERT_TRUE(matched(*writer, 2) && matched(*reader, 1) && matched(*other, 1));
  std::vector<TakenSample> held;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    publish(*writer, i, 5000).or_throw();
    held.push_back(take_sample(*reader));
  }
  publish(*writer, 4, 5000).or_throw();
  EXPECT_TRUE(eventually([&] { return reader->has_data(); }));
  const Result<TakenSample> lost = reader->take();
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, Errc::window_exhausted);
  EXPECT_EQ(whose(lost.error().code), Whose::kMessage);
  EXPECT_EQ(reader->losses().limit, 1U);
  EXPECT_EQ(reader->statuses().lost_total, 1U);
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_EQ(value_of(held[i - 1]), i) << "a copy is its holder's";
  held.clear();
  for (int i = 0; i < 20; ++i) {
    publish(*writer, 5, 5000).or_throw();
    EXPECT_EQ(value_of(take_sample(*reader)), 5U) << "what is released makes room";
  }
  EXPECT_EQ(reader->statuses().copied_total, 23U);
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::window_exhausted); }));
  for (const auto& [base, bytes] : taken) window.free(base, bytes);
  publish(*writer, 6).or_throw();
  EXPECT_EQ(value_of(take_sample(*reader)), 6U);
  EXPECT_EQ(reader->statuses().copied_total, 23U) << "mapped now";
  TakenSample last;
  while (TakenSample next = other->take().or_throw()) last = std::move(next);
  EXPECT_EQ(value_of(last), 6U);
  EXPECT_EQ(other->statuses().copied_total, 0U);
}

}  // namespace
}  // namespace baton::transport::test
