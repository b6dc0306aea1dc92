// SPDX-License-Identifier: Apache-2.0
// What the publisher's end of a link keeps of its messages.
#include "outgoing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "buffers.hpp"
#include "support/temporary_directory.hpp"

namespace baton::ros1 {
namespace {

constexpr std::uint32_t kBytes = 100;

template <class Condition>
void wait_until(Condition&& condition) {  // ctest has a time limit
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Outgoing, WhatTheSubscriberHasTakenIsGivenBackWithTheNextMessage) {
  const test::TemporaryDirectory directory;
  transport::ParticipantOptions options;
  options.domain = 0;
  options.runtime_directory = directory.path();
  const auto participant = transport::Participant::join(options).or_throw();
  transport::Participant::WriterOptions sends;
  sends.topic = "images";
  sends.type = serialized_type();
  const std::shared_ptr<transport::Writer> writer = participant->create_writer(sends).or_throw();
  transport::Participant::ReaderOptions receives;
  receives.topic = "images";
  receives.type = serialized_type();
  receives.qos = QoS().keep_all(4).hold(4);
  const std::shared_ptr<transport::Reader> reader = participant->create_reader(receives).or_throw();
  wait_until([&] { return writer->matched() == 1 && reader->matched() == 1; });

  Outgoing link(writer, reader->gid(), LinkSecret{1});
  const auto message = [&] {
    std::uint8_t* const at = Buffers::instance().make(writer, kBytes, 0);
    return boost::shared_array<std::uint8_t>(at, [](std::uint8_t* begin) { Buffers::instance().release(begin); });
  };
  const auto first = message();
  ASSERT_TRUE(link.replace(first, kBytes)) << "by a marker";
  EXPECT_EQ(first.use_count(), 2) << "kept until it was taken";
  transport::TakenSample taken;
  wait_until([&] { return static_cast<bool>(taken = reader->take().or_throw()); });
  const auto second = message();
  ASSERT_TRUE(link.replace(second, kBytes));
  EXPECT_EQ(first.use_count(), 1) << "although the second one has not been taken";
  EXPECT_EQ(second.use_count(), 2);
}

}  // namespace
}  // namespace baton::ros1
