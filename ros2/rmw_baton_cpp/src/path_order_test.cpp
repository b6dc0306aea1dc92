// SPDX-License-Identifier: Apache-2.0
// The rules for one publisher's order, one by one. merge_test.cpp has random schedules.
#include "path_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

namespace baton::rmw {
namespace {

using Verdict = PathOrder::Verdict;
constexpr PathOrder::Policy kBestEffort{}, kReliable{true, false}, kKeepAll{true, true};

TEST(PathOrder, a_message_waits_for_older_reliable_ones_although_the_underlying_rmw_has_not_matched_yet) {
  PathOrder order;
  const PathOrder::Position first{{7, 7, true, OlderUnderlying::kFollowed}, 1};
  EXPECT_EQ(order.of_baton(first, false, kReliable, 5), Verdict::kNotYet);
  EXPECT_EQ(order.waits_until(), 5 + PathOrder::kSureNs);
  EXPECT_EQ(order.of_baton(first, true, kReliable, 4 + PathOrder::kSureNs), Verdict::kNotYet);
  EXPECT_EQ(order.of_underlying(6, &first), Verdict::kNow);
  order.arrived_underlying(6, 0, 0);
  order.settle_underlying(6);
  EXPECT_EQ(order.of_baton(first, true, kReliable, 6), Verdict::kNow);
}

TEST(PathOrder, a_best_effort_message_waits_for_older_ones_only_while_matched_and_for_the_grace) {
  PathOrder order;
  const PathOrder::Position first{{7, 7, true, OlderUnderlying::kFollowed}, 1};
  EXPECT_EQ(order.of_baton(first, false, kBestEffort, 5), Verdict::kNow);
  EXPECT_EQ(order.of_baton(first, true, kBestEffort, 5), Verdict::kNotYet);
  EXPECT_EQ(order.waits_until(), 5 + PathOrder::kGraceNs);
}

TEST(PathOrder, a_message_that_says_there_is_nothing_older_does_not_wait) {
  PathOrder order;
  EXPECT_EQ(order.of_baton({{7, 6, false, OlderUnderlying::kNone}, 1}, true, kReliable, 5), Verdict::kNow);
}

TEST(PathOrder, the_statement_about_older_messages_is_only_for_newcomers) {
  for (const OlderUnderlying older : {OlderUnderlying::kNone, OlderUnderlying::kFollowed}) {
    PathOrder order;
    order.settle({{1, 0, false}, 1});
    EXPECT_EQ(order.of_baton({{9, 7, true, older}, 2}, true, kBestEffort, 5), Verdict::kNotYet);
    EXPECT_EQ(order.waits_until(), 5 + PathOrder::kGraceNs);
    EXPECT_EQ(order.of_baton({{9, 7, true, older}, 2}, false, kReliable, 5), Verdict::kNow);
  }
}

TEST(PathOrder, keep_all_waits_long_for_messages_that_baton_could_not_carry) {
  const std::int64_t grace_ns = PathOrder::kGraceNs, sure_ns = PathOrder::kSureNs;
  for (const auto& [asks, expires, wait_ns] :
       {std::tuple{kKeepAll, false, sure_ns}, {kKeepAll, true, grace_ns}, {kReliable, false, grace_ns}}) {
    PathOrder order;
    order.settle({{1, 0, false}, 1});
    const PathOrder::Position after{{9, 7, false}, 2, expires};  // seven took the underlying RMW only
    EXPECT_EQ(order.of_baton(after, true, asks, 5), Verdict::kNotYet);
    EXPECT_EQ(order.waits_until(), 5 + wait_ns);
    for (std::uint64_t number = 1; number <= 7; ++number) {
      order.arrived_underlying(number, 0, 0);
      EXPECT_EQ(order.of_underlying(number, &after), Verdict::kNow);
      order.settle_underlying(number);
    }
    EXPECT_EQ(order.of_baton(after, true, asks, 6), Verdict::kNow);
  }
}

TEST(PathOrder, a_message_that_never_arrives_delays_others_by_the_grace_at_most) {
  PathOrder order;
  const PathOrder::Position later{{7, 6, false}, 1};
  EXPECT_EQ(order.of_baton(later, false, kBestEffort, 5), Verdict::kNow);  // no publisher is matched
  EXPECT_EQ(order.of_baton(later, true, kBestEffort, 5), Verdict::kNotYet);
  EXPECT_EQ(order.waits_until(), 5 + PathOrder::kGraceNs);
  EXPECT_EQ(order.of_baton(later, true, kBestEffort, 4 + PathOrder::kGraceNs), Verdict::kNotYet);
  EXPECT_EQ(order.of_baton(later, true, kBestEffort, 5 + PathOrder::kGraceNs), Verdict::kNow);
  order.settle(later);
  EXPECT_EQ(order.of_underlying(6, nullptr), Verdict::kNever);  // too late: the order holds
  EXPECT_EQ(order.of_underlying(7, nullptr), Verdict::kNow);
}

TEST(PathOrder, a_message_evicted_from_batons_queue_does_not_come_from_the_underlying_rmw) {
  PathOrder order;
  order.settle({{1, 1, true}, 1});
  const PathOrder::Position next{{4, 4, true}, 4};  // 2 and 3 were overwritten
  EXPECT_EQ(order.of_underlying(2, &next), Verdict::kNever);
  EXPECT_EQ(order.of_baton(next, true, kBestEffort, 1), Verdict::kNow);
}

TEST(PathOrder, a_message_of_batons_that_was_dropped_settles_all_older_ones) {
  PathOrder order;
  order.settle({{3, 3, true}, 3});  // expired
  EXPECT_EQ(order.of_underlying(2, nullptr), Verdict::kNever);
  EXPECT_EQ(order.of_underlying(3, nullptr), Verdict::kNever);
  const PathOrder::Position older{{2, 2, true}, 2};  // taken ahead
  EXPECT_EQ(order.of_baton(older, true, kBestEffort, 1), Verdict::kNever);
  order.settle(older);
  EXPECT_FALSE(order.skips({{4, 4, true}, 4}));  // nothing was lost between 3 and 4
}

TEST(PathOrder, a_history_from_the_underlying_rmw_is_not_delivered_again_by_baton) {
  PathOrder order;
  for (std::uint64_t number = 1; number <= 3; ++number) {
    EXPECT_EQ(order.of_underlying(number, nullptr), Verdict::kNow);
    order.settle_underlying(number);
  }
  EXPECT_EQ(order.of_baton({{2, 2, true}, 1}, true, kBestEffort, 1), Verdict::kNever);
  EXPECT_EQ(order.of_baton({{3, 3, true}, 2}, true, kBestEffort, 1), Verdict::kNever);
  EXPECT_EQ(order.of_baton({{4, 4, true}, 3}, true, kBestEffort, 1), Verdict::kNow);
}

TEST(PathOrder, a_younger_message_waits_for_batons_next) {
  const PathOrder order;
  const PathOrder::Position next{{3, 2, true}, 1};
  EXPECT_EQ(order.of_underlying(1, &next), Verdict::kNow);
  EXPECT_EQ(order.of_underlying(2, &next), Verdict::kNever);  // the same message
  EXPECT_EQ(order.of_underlying(3, &next), Verdict::kNotYet);
}

TEST(PathOrder, a_message_waits_for_older_ones_until_a_younger_one_has_arrived_from_the_underlying_rmw) {
  PathOrder order;
  const PathOrder::Position first{{90, 90, true},
                                  1};  // of a durable publisher: to a volatile reader, which gets no history
  EXPECT_EQ(order.of_baton(first, true, kBestEffort, 1), Verdict::kNotYet);
  EXPECT_EQ(order.of_underlying(88, &first), Verdict::kNow);
  order.arrived_underlying(88, 0, 0);
  order.settle_underlying(88);
  EXPECT_EQ(order.of_baton(first, true, kBestEffort, 1), Verdict::kNotYet);
  order.arrived_underlying(90, 0, 0);  // 89 was lost
  EXPECT_EQ(order.of_baton(first, true, kBestEffort, 1), Verdict::kNow);
}

constexpr std::int64_t kSecond = 1'000'000'000, kStart = 1'000 * kSecond;

/// The words of a publisher that may be no honest one: `count` messages of the underlying RMW.
PathOrder::Position claim(std::uint64_t count, std::int64_t source_ns, std::int64_t taken_ns) {
  PathOrder::Position position{{count, count, true}, 1};
  position.source_ns = source_ns;
  position.taken_ns = taken_ns;
  return position;
}

TEST(PathOrder, a_claim_that_younger_messages_contradict_silences_the_honest_writer_for_a_time_only) {
  const std::uint64_t counts[] = {300, 1'000, std::uint64_t{1} << 50};
  for (const std::uint64_t count : counts) {
    for (const std::int64_t stamped_ns : {kStart, kStart + 3'600 * kSecond, INT64_MAX, std::int64_t{0}}) {
      const std::int64_t silent_ns = PathOrder::kMarginNs + (stamped_ns > kStart ? PathOrder::kSureNs : 0);
      PathOrder order;
      EXPECT_TRUE(order.arrived_underlying(10, kStart - kSecond, kStart - kSecond + 1'000));
      order.settle_underlying(10);
      order.settle(claim(count, stamped_ns, kStart));
      std::uint64_t number = 10, delivered = 0;
      // Repeated claims do not make the first one younger.
      for (std::int64_t now_ns = kStart; now_ns < kStart + silent_ns + kSecond; now_ns += kSecond / 20) {
        if (order.trusted()) order.settle(claim(count + number, stamped_ns, now_ns));
        ++number;
        order.arrived_underlying(number, now_ns, now_ns + 1'000);
        if (order.of_underlying(number, nullptr) != Verdict::kNow) continue;
        order.settle_underlying(number);
        ++delivered;
      }
      EXPECT_FALSE(order.trusted());
      EXPECT_GE(delivered, 18U) << count << " " << stamped_ns;  // 20 a second
    }
  }
}

TEST(PathOrder, late_duplicates_of_an_honest_publisher_contradict_nothing) {
  // The newest message comes through Baton at once, and late through the underlying RMW with all older ones.
  for (const std::int64_t ahead_ns : {std::int64_t{0}, 3'600 * kSecond, -3'600 * kSecond}) {  // of the sender's clock
    const std::int64_t late_ns = ahead_ns > 0 ? PathOrder::kSureNs : 120 * kSecond;
    PathOrder order;
    order.settle(claim(100, kStart + 5 * kSecond + ahead_ns, kStart + 5 * kSecond + 1'000));
    for (std::uint64_t number = 1; number <= 100; ++number) {
      const std::int64_t sent_ns = kStart + static_cast<std::int64_t>(number) * kSecond / 20;
      EXPECT_TRUE(order.arrived_underlying(number, sent_ns + ahead_ns, sent_ns + late_ns));
      EXPECT_EQ(order.of_underlying(number, nullptr), Verdict::kNever);
    }
  }
}

TEST(PathOrder, memory_that_never_comes_keeps_messages_back_for_a_time) {
  PathOrder order;
  EXPECT_TRUE(order.may_wait_for_memory(5));
  EXPECT_TRUE(order.may_wait_for_memory(4 + PathOrder::kSureNs));
  order.memory_arrived();
  EXPECT_TRUE(order.may_wait_for_memory(6 + PathOrder::kSureNs));
  EXPECT_EQ(order.waits_for_memory_until(), 6 + 2 * PathOrder::kSureNs);
  EXPECT_FALSE(order.may_wait_for_memory(order.waits_for_memory_until()));
  EXPECT_FALSE(order.may_wait_for_memory(0));
}

transport::Gid gid_of(std::uint32_t number) {
  transport::Gid gid{};
  std::memcpy(gid.data(), &number, sizeof number);
  return gid;
}

TEST(PathOrder, least_recently_used_publishers_that_ended_are_forgotten) {
  PathOrders orders;
  std::uint32_t last = 0;
  while (!orders.crowded()) orders.of(gid_of(++last)).settle_underlying(5);
  EXPECT_EQ(last, PathOrders::kMost + 1);
  orders.of(gid_of(1));  // used again
  orders.forget({gid_of(3), gid_of(2)});
  EXPECT_EQ(orders.size(), PathOrders::kMost / 2);
  EXPECT_FALSE(orders.crowded());
  for (const std::uint32_t kept : {1U, 2U, 3U, last}) {
    EXPECT_EQ(orders.of(gid_of(kept)).of_underlying(5, nullptr), Verdict::kNever) << kept;
  }
  EXPECT_EQ(orders.of(gid_of(4)).of_underlying(5, nullptr), Verdict::kNow);
}

TEST(PathOrder, any_number_of_publishers_come_and_go_and_a_bounded_number_is_remembered) {
  PathOrders orders;
  const transport::Gid stays = gid_of(1);
  orders.of(stays).settle_underlying(7);
  for (std::uint32_t number = 2; number <= 10 * PathOrders::kMost; ++number) {
    orders.of(gid_of(number)).settle_underlying(number);
    if (orders.crowded()) orders.forget({stays});
    ASSERT_LE(orders.size(), PathOrders::kMost);
  }
  EXPECT_EQ(orders.of(stays).of_underlying(7, nullptr), Verdict::kNever);
}

TEST(PathOrder, publishers_that_are_all_there_are_all_remembered_and_seldom_counted) {
  PathOrders orders;
  std::vector<transport::Gid> here;
  std::size_t counted = 0;
  for (std::uint32_t number = 1; number <= 8 * PathOrders::kMost; ++number) {
    here.push_back(gid_of(number));
    orders.of(here.back()).settle_underlying(number);
    if (!orders.crowded()) continue;
    orders.forget(here);
    ++counted;
  }
  EXPECT_EQ(orders.size(), here.size());
  EXPECT_EQ(counted, 3U);  // each time of twice as many
  for (std::uint32_t number = 1; number <= here.size(); ++number) {
    ASSERT_EQ(orders.of(gid_of(number)).of_underlying(number, nullptr), Verdict::kNever);
  }
}

TEST(PathOrder, an_order_header_survives_its_way_through_a_chunk_header) {
  for (const OlderUnderlying older : {OlderUnderlying::kUnknown, OlderUnderlying::kNone, OlderUnderlying::kFollowed}) {
    const OrderHeader sent{5, 3, true, older};
    const transport::PublishInfo info = sent.encode();
    memory::ChunkHeader header{};
    std::copy(info.attachment.begin(), info.attachment.end(), header.attachment);
    std::optional<OrderHeader> got = OrderHeader::decode(header);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->number, 5U);
    EXPECT_EQ(got->underlying_count, 3U);
    EXPECT_TRUE(got->also_underlying);
    EXPECT_EQ(got->older, older);
    EXPECT_FALSE(info.only_client);
    header.attachment[16] |= 6;  // in the last word; no publisher writes this
    got = OrderHeader::decode(header);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->older, OlderUnderlying::kUnknown);
  }
  EXPECT_FALSE(OrderHeader::decode(memory::ChunkHeader{}));  // a publisher that is not of ROS 2
}

}  // namespace
}  // namespace baton::rmw
