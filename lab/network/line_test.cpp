// SPDX-License-Identifier: Apache-2.0
#include "line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace baton::perf {
namespace {

LineSettings with(std::int64_t delay_ns, double loss, std::size_t packets, std::uint64_t seed = 1) {
  return {delay_ns, loss, packets, seed};
}

std::vector<std::byte> packet(std::uint32_t number) {
  std::vector<std::byte> data(sizeof number + number % 7);
  std::memcpy(data.data(), &number, sizeof number);
  return data;
}

void push(Line& line, std::uint32_t number, std::int64_t now) {
  const auto data = packet(number);
  line.push(data.data(), data.size(), now);
}

/// The numbers of the packets that have come out by `now`.
std::vector<std::uint32_t> take(Line& line, std::int64_t now) {
  std::vector<std::uint32_t> numbers;
  while (const Line::Packet* found = line.front(now)) {
    std::uint32_t number = 0;
    std::memcpy(&number, found->data.data(), sizeof number);
    EXPECT_EQ(found->data.size(), packet(number).size());
    numbers.push_back(number);
    line.pop(now);
  }
  return numbers;
}

TEST(Line, holds_each_packet_for_the_delay_and_not_less) {
  Line line(with(100, 0, 10));
  EXPECT_EQ(line.next_ns(), Line::kNever);
  push(line, 1, 1000);
  push(line, 2, 1030);
  EXPECT_EQ(line.next_ns(), 1100);
  EXPECT_TRUE(take(line, 1099).empty());
  EXPECT_EQ(take(line, 1129), std::vector<std::uint32_t>{1});
  EXPECT_EQ(line.next_ns(), 1130);
  EXPECT_EQ(take(line, 1140), std::vector<std::uint32_t>{2});
  EXPECT_EQ(line.counts().least_held_ns, 110);
  EXPECT_EQ(line.counts().most_held_ns, 129);
  EXPECT_EQ(line.counts().passed_bytes, packet(1).size() + packet(2).size());
}

TEST(Line, refuses_a_packet_for_which_there_is_no_room_and_keeps_the_order_of_the_others) {
  Line line(with(5, 0, 3));
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < 100; ++i) {
    push(line, 4 * i, i * 10);
    push(line, 4 * i + 1, i * 10);
    push(line, 4 * i + 2, i * 10);
    push(line, 4 * i + 3, i * 10);
    for (const std::uint32_t number : take(line, i * 10 + 5)) out.push_back(number);
  }
  ASSERT_EQ(out.size(), 300u);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 4 * (i / 3) + i % 3);
  EXPECT_EQ(line.counts().refused, 100u);
  EXPECT_EQ(line.counts().entered, 400u);
}

TEST(Line, loses_its_share_of_the_packets_and_counts_all_of_them) {
  constexpr std::uint32_t kPackets = 100'000;
  Line line(with(0, 0.01, 1));
  std::size_t arrived = 0;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    push(line, i, i);
    arrived += take(line, i).size();
  }
  // 1000 expected; the standard deviation of the binomial distribution is 31.5.
  EXPECT_GT(line.counts().lost, 1000u - 200);
  EXPECT_LT(line.counts().lost, 1000u + 200);
  EXPECT_EQ(arrived, line.counts().passed);
  EXPECT_EQ(line.counts().passed + line.counts().lost, kPackets);
  EXPECT_EQ(line.counts().refused, 0u);
}

TEST(Line, loses_the_same_packets_with_the_same_seed_and_others_with_another) {
  const auto fate = [](std::uint64_t seed) {
    Line line(with(0, 0.5, 1000, seed));
    for (std::uint32_t i = 0; i < 1000; ++i) push(line, i, 0);
    return take(line, 0);
  };
  EXPECT_EQ(fate(1), fate(1));
  EXPECT_NE(fate(1), fate(2));
}

TEST(Line, lets_its_share_of_the_packets_overtake_and_keeps_the_order_of_the_others) {
  constexpr std::uint32_t kPackets = 10'000;
  LineSettings settings = with(100, 0, 1000);
  settings.overtaking = 0.1;
  Line line(settings);
  std::vector<std::uint32_t> ahead, in_order;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    push(line, i, i);
    for (const std::uint32_t number : take(line, i)) (number == i ? ahead : in_order).push_back(number);
  }
  for (const std::uint32_t number : take(line, kPackets + 100)) in_order.push_back(number);
  EXPECT_EQ(ahead.size(), line.counts().overtook);
  // 1000 expected; the standard deviation of the binomial distribution is 30.
  EXPECT_GT(ahead.size(), 1000u - 200);
  EXPECT_LT(ahead.size(), 1000u + 200);
  EXPECT_TRUE(std::is_sorted(in_order.begin(), in_order.end()));
  EXPECT_EQ(ahead.size() + in_order.size(), kPackets);
}

TEST(Line, without_room_is_an_error) { EXPECT_THROW(Line(with(0, 0, 0)), std::invalid_argument); }

}  // namespace
}  // namespace baton::perf
