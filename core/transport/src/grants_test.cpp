// SPDX-License-Identifier: Apache-2.0
// The invariants of grants.hpp, for random publishers, parties and sequences of wishes.
#include "grants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace baton::transport {
namespace {

/// A publisher and what its subscriptions were granted, by party.
struct Publisher {
  explicit Publisher(std::uint64_t slots, std::uint32_t depth = 10) : shares(shares_of(slots, depth)) {}

  Granted granted(int party) const {
    Granted out;
    for (const auto& [of, held] : subscriptions) {
      out.total += held;
      if (of == party) out.party += held;
    }
    return out;
  }
  std::uint32_t subscribe(int party, std::uint32_t wish) {
    const Grant given = grant(shares, granted(party), wish);
    if (given.held > 0) subscriptions.emplace_back(party, given.held);
    return given.held;
  }

  Shares shares;
  std::vector<std::pair<int, std::uint32_t>> subscriptions;
};

std::uint64_t random_slots(std::mt19937& random) {
  const std::uint64_t bound = std::uint64_t{1} << std::uniform_int_distribution<int>(3, 14)(random);
  return kFewestSlots + random() % bound;
}

std::uint32_t random_wish(std::mt19937& random) {
  const std::uint32_t kinds[] = {
      1, kBasicHeld, kBasicHeld, kBasicHeld + 1, 300, 65536, 1 + static_cast<std::uint32_t>(random() % 65536)};
  return kinds[random() % std::size(kinds)];
}

TEST(Grants, TheSlotsAreNeverGrantedTwice) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const auto depth = static_cast<std::uint32_t>(1 + random() % 2000);
    Publisher publisher(random_slots(random), depth);
    const Shares& shares = publisher.shares;
    ASSERT_EQ(shares.loans + shares.queues + shares.shared, shares.slots);
    ASSERT_GE(shares.queues, 1U);
    ASSERT_GE(shares.shared, 1U);
    for (int step = 0; step < 100; ++step) {
      auto& subscriptions = publisher.subscriptions;
      if (!subscriptions.empty() && random() % 4 == 0) {
        subscriptions.erase(subscriptions.begin() + static_cast<std::ptrdiff_t>(random() % subscriptions.size()));
        continue;
      }
      const std::uint32_t wish = random_wish(random);
      const int party = static_cast<int>(random() % 5);
      const std::uint32_t held = publisher.subscribe(party, wish);
      ASSERT_TRUE(held == wish || held == 0 || (wish <= kBasicHeld && held < wish)) << wish << " got " << held;
      ASSERT_LE(held, std::min(shares.one, shares.party));
      ASSERT_LE(publisher.granted(party).total, shares.shared);
      ASSERT_LE(publisher.granted(party).party, shares.party);
    }
  }
}

/// A publisher whose readers hold messages, of which each takes one unit of its memory.
TEST(Grants, WhoeverHoldsTooMuchIsFoundBeforeTheWritersPartIsUsed) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t capacity = random() % (std::uint64_t{1} << (1 + random() % 12));
    const Shares shares = shares_of_memory(capacity, static_cast<std::uint32_t>(1 + random() % 100));
    ASSERT_LE(shares.shared + std::max<std::uint64_t>(1, shares.loans + shares.queues),
              std::max<std::uint64_t>(1, capacity));
    std::map<int, std::uint64_t> held;
    std::uint64_t total = 0;
    const int parties = 1 + static_cast<int>(random() % 4);
    // Each party takes one message more, as long as it may.
    for (bool any = true; any;) {
      any = false;
      for (int party = 0; party < parties; ++party) {
        if (holds_too_much(shares, {total + 1, held[party] + 1})) continue;
        if (held[party] >= 1 && total >= capacity) continue;
        ++held[party];
        ++total;
        any = true;
      }
    }
    // The first message of a party is never too much; beyond that the writer's part stays.
    ASSERT_LE(total, std::max<std::uint64_t>(shares.shared, static_cast<std::uint64_t>(parties))) << capacity;
    if (parties == 1 && capacity >= 64) {
      ASSERT_LE(total, shares.party);
    }
  }
}

TEST(Grants, AMessageAtATimeAndTheOnlyPartyMayHoldMostOfFewLargeMessages) {
  EXPECT_EQ(shares_of_memory(1, 10).shared, 0U);
  EXPECT_FALSE(holds_too_much(shares_of_memory(1, 10), {1, 1}));
  EXPECT_EQ(shares_of_memory(3, 10).party, 2U);
  EXPECT_EQ(shares_of_memory(4, 10).party, 2U);
  EXPECT_EQ(shares_of_memory(8, 10).party, 5U);
  // 172 frames of 6.2 MB in 1 GiB.
  const Shares camera = shares_of_memory(172, 10);
  EXPECT_EQ(camera.shared, 160U);
  EXPECT_EQ(camera.party, 120U);
  EXPECT_TRUE(holds_too_much(camera, {121, 121}));
  EXPECT_FALSE(holds_too_much(camera, {150, 30}));
  EXPECT_TRUE(holds_too_much(camera, {151, 30}));
  EXPECT_FALSE(holds_too_much(camera, {151, 8}));
  EXPECT_TRUE(holds_too_much(camera, {161, 2}));
  EXPECT_FALSE(holds_too_much(camera, {161, 1}));
}

TEST(Grants, PartsOfGreatWishesLeaveRoomForMany) {
  for (const auto& [slots, full, served] : {std::tuple{65536U, 500, 700}, std::tuple{2048U, 0, 150}}) {
    const Shares shares = shares_of(slots, 100);
    Granted granted;
    int got_full = 0, got_any = 0;
    for (int client = 0; client < served; ++client) {
      const Grant part = grant_in_part(shares, granted, 64);
      granted.total += part.held;
      granted.party += part.held;
      got_full += part.held == 64 ? 1 : 0;
      got_any += part.held >= kBasicHeld ? 1 : 0;
    }
    EXPECT_GE(got_full, full) << slots;
    EXPECT_EQ(got_any, served) << slots;
    EXPECT_LE(granted.party, shares.party);
  }
}

TEST(Grants, OnePartyLeavesTheOthersWhatTheyNeedWhateverItWishes) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    Publisher publisher(64 + random_slots(random));
    for (int step = 0; step < 3000 && publisher.granted(0).party < publisher.shares.party; ++step) {
      publisher.subscribe(0, step < 100 ? random_wish(random) : 1);
    }
    // Of honest subscriptions with the default QoS, in one process, at least this many get all they ask for.
    const Shares& shares = publisher.shares;
    const std::uint64_t places = (shares.shared - shares.party - shares.newcomers) / kBasicHeld;
    ASSERT_GE(places, 1U) << shares.slots;
    for (std::uint64_t i = 0; i < places; ++i)
      ASSERT_EQ(publisher.subscribe(1, kBasicHeld), kBasicHeld) << shares.slots;
  }
}

TEST(Grants, SeveralGreedyPartiesLeaveNewcomersTheDefault) {
  Publisher publisher(4096);
  for (int greedy = 0; greedy < 10; ++greedy) {
    for (std::uint32_t wish = 65536; wish > 0; wish /= 2) {
      while (publisher.subscribe(greedy, wish) == wish) {
      }
    }
  }
  EXPECT_EQ(publisher.subscribe(0, 1), 0U);
  for (int honest = 100; honest < 119; ++honest)
    EXPECT_EQ(publisher.subscribe(honest, kBasicHeld), kBasicHeld) << honest;
}

TEST(Grants, AGrantNeverGrowsWithWhatIsGrantedAndNeverShrinksWithMoreSlots) {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t slots = random_slots(random);
    const auto depth = static_cast<std::uint32_t>(1 + random() % 2000);
    const Shares shares = shares_of(slots, depth);
    Granted granted;
    granted.total = random() % (shares.shared + 1);
    granted.party = random() % (std::min(granted.total, shares.party) + 1);
    const std::uint32_t wish = random_wish(random);
    const std::uint32_t held = grant(shares, granted, wish).held;
    const std::uint64_t room = grant(shares, granted, wish).room;
    Granted more = granted;
    more.total += random() % 50;
    EXPECT_LE(grant(shares, more, wish).room, room);
    more.party += more.total - granted.total;
    EXPECT_LE(grant(shares, more, wish).room, room);
    EXPECT_LE(grant(shares, more, wish).held, held);
    EXPECT_GE(grant(shares_of(slots + 1 + random() % 500, depth), granted, wish).held, held);
    if (wish < kBasicHeld) {
      EXPECT_GE(grant(shares, granted, wish + 1).held, held);
    }
    const std::uint64_t enough = slots_for(granted, wish, depth);
    EXPECT_EQ(grant(shares_of(enough, depth), granted, wish).held, wish) << enough;
    if (enough > kFewestSlots) {
      EXPECT_NE(grant(shares_of(enough - 1, depth), granted, wish).held, wish) << enough;
    }
  }
}

// The worked example of docs/format/qos.md.
TEST(Grants, TheNumbersOfTheDocument) {
  const auto places = [](std::uint64_t slots, bool one_process) {
    Publisher publisher(slots);
    int count = 0;
    while (publisher.subscribe(one_process ? 0 : count, kBasicHeld) == kBasicHeld) ++count;
    return count;
  };
  const Shares large = shares_of(4096, 10);
  EXPECT_EQ(large.queues, 256U);
  EXPECT_EQ(large.shared, 3838U);
  EXPECT_EQ(large.one, 1919U);
  EXPECT_EQ(large.party, 2878U);
  EXPECT_EQ(large.newcomers, 239U);
  EXPECT_EQ(places(4096, true), 359);
  EXPECT_EQ(places(4096, false), 479);
  const Shares small = shares_of(256, 10);
  EXPECT_EQ(small.queues, 16U);
  EXPECT_EQ(small.shared, 238U);
  EXPECT_EQ(small.one, 119U);
  EXPECT_EQ(small.party, 178U);
  EXPECT_EQ(small.newcomers, 14U);
  EXPECT_EQ(places(256, true), 22);
  EXPECT_EQ(places(256, false), 29);
  EXPECT_EQ(slots_for({}, 300, 10), 642U);
  for (const auto& [slots, wishes, honest] : {std::array{256, 0, 5}, std::array{4096, 9, 90}}) {
    Publisher publisher(static_cast<std::uint64_t>(slots));
    int granted = 0;
    while (publisher.subscribe(0, 300) == 300) ++granted;
    EXPECT_EQ(granted, wishes);
    for (std::uint32_t wish = 65536; wish > 0; wish /= 2) {
      while (publisher.subscribe(0, wish) == wish) {
      }
    }
    EXPECT_EQ(publisher.granted(0).party, publisher.shares.party);
    int defaults = 0;
    while (publisher.subscribe(1, kBasicHeld) == kBasicHeld) ++defaults;
    EXPECT_EQ(defaults, honest);
  }
}

TEST(Grants, FewSlotsServeFewAndTooFewNobody) {
  EXPECT_EQ(shares_of(kFewestSlots - 1, 10).shared, 0U);
  EXPECT_EQ(grant(shares_of(kFewestSlots - 1, 10), {}, 1).held, 0U);
  EXPECT_EQ(grant(shares_of(kFewestSlots, 10), {}, 1).held, 1U);
  EXPECT_EQ(grant(shares_of(kFewestSlots, 10), {}, kBasicHeld).held, 1U);
  EXPECT_EQ(grant(shares_of(kFewestSlots, 10), {1, 0}, 1).held, 0U);
  EXPECT_EQ(grant(shares_of(kFewestSlots, 10), {}, kBasicHeld + 1).held, 0U);
}

TEST(Grants, ARefusalNamesTheNumbersAndTheWayOut) {
  const Shares shares = shares_of(256, 10);
  const Grant never = grant(shares, {}, 300);
  EXPECT_EQ(never.reason, Grant::Reason::kNeverFits);
  EXPECT_EQ(explain(shares, {}, 300, 10, never, 0),
            "a subscription asks to hold 300 samples (QoS held); one subscription gets at most 119 of the publisher's "
            "256 slots; "
            "raise PublisherOptions::slot_count to at least 642, or lower QoS held");
  const Granted much{200, 170};
  const Grant share = grant(shares, much, 50);
  EXPECT_EQ(share.reason, Grant::Reason::kPartyShare);
  EXPECT_EQ(share.held, 0U);
  EXPECT_NE(
      explain(shares, much, 50, 10, share, 0).find("170 of them to its process (or user), which gets at most 178"),
      std::string::npos);
  const Grant part = grant(shares, {225, 0}, kBasicHeld);
  EXPECT_EQ(part.reason, Grant::Reason::kFull) << "a newcomer";
  const Grant none = grant(shares, {225, 20}, kBasicHeld);
  EXPECT_EQ(none.reason, Grant::Reason::kSlots);
  EXPECT_EQ(none.held, 0U);
  EXPECT_NE(explain(shares, {225, 20}, kBasicHeld, 10, none, 1000)
                .find("raise PublisherOptions::memory_limit_bytes to at least 2"),
            std::string::npos);
}

}  // namespace
}  // namespace baton::transport
