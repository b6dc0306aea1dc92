// SPDX-License-Identifier: Apache-2.0
// How many samples a publisher lets a subscription hold: pure arithmetic, no lock, no clock. docs/format/qos.md ("Who
// may hold how many samples") is normative; writer_grants.cpp applies the result.
//
// A party gets one share. It is a process of the publisher's own user, or all processes of another user together.
//
// Invariants, for every sequence of wishes (grants_test.cpp):
//  (1) loans + queues + everything granted <= slots;
//  (2) the sum granted to one party <= Shares::party, so a quarter of Shares::shared stays for the other parties;
//  (3) a party that has fewer than kBasicHeld gets up to kBasicHeld while any slot is left; the last Shares::newcomers
//      are for such parties alone;
//  (4) a wish of at most kBasicHeld gets as many of its samples as are left; a greater wish gets all or nothing;
//  (5) a larger sum already granted never makes a later grant greater; more slots never make a later grant smaller.
#pragma once

#include <cstdint>
#include <string>

namespace baton::transport {

struct Party {
  enum class Kind : std::uint8_t {
    kThisProcess,  ///< this process
    kProcess,      ///< all processes without a known identity together are one party
    kUser,
  };
  Kind kind = Kind::kThisProcess;
  std::uint64_t id = 0;  ///< PeerInfo::identity, or the user's number
  friend bool operator==(const Party& a, const Party& b) noexcept { return a.kind == b.kind && a.id == b.id; }
};

/// A wish up to this many samples (the default of QoS::held) may be granted in part: some samples are better than no
/// service.
inline constexpr std::uint32_t kBasicHeld = 8;
/// Wishes up to this many are granted without regard to the sizes of messages: few of them are used in full, and what is held is
/// looked at while it is held (holds_too_much()).
inline constexpr std::uint32_t kSmallWish = 32;
/// The fewest slots with which a publisher can serve a subscription: two loans, one queued message, one held sample.
inline constexpr std::uint64_t kFewestSlots = 4;

/// How a publisher's slots are divided.
struct Shares {
  std::uint64_t slots = 0;      ///< messages that may be alive at the same time
  std::uint64_t loans = 0;      ///< of `slots`: one being built, one being published
  std::uint64_t queues = 0;     ///< of `slots`: the newest messages, which wait in queues and in the history
  std::uint64_t shared = 0;     ///< the rest: what all subscriptions together may hold
  std::uint64_t one = 0;        ///< of `shared`: the most that one subscription gets
  std::uint64_t party = 0;      ///< of `shared`: the most that one party gets
  std::uint64_t newcomers = 0;  ///< of `shared`: the last slots, for parties that have fewer than kBasicHeld
};

/// `depth`: the publisher's own QoS depth. With fewer than kFewestSlots nothing is shared.
Shares shares_of(std::uint64_t slots, std::uint32_t depth) noexcept;

/// The same of memory that `capacity` messages of the usual size fit in: `slots` counts such messages. The writer keeps a
/// part for itself however small `capacity` is.
Shares shares_of_memory(std::uint64_t capacity, std::uint32_t depth) noexcept;

/// The samples granted, or still held by subscriptions that left, before a wish is considered.
struct Granted {
  std::uint64_t total = 0;  ///< to all
  std::uint64_t party = 0;  ///< to the party with this wish, included in `total`
};

struct Grant {
  enum class Reason : std::uint8_t {
    kFull,        ///< the whole wish
    kNeverFits,   ///< the wish is more than one subscription ever gets
    kPartyShare,  ///< the party has used up its share
    kSlots,       ///< the slots are granted to others, or kept for newcomers
  };
  std::uint32_t held = 0;  ///< 0: refused
  Reason reason = Reason::kFull;
  std::uint64_t room = 0;  ///< how many the party could get now
};

/// The grant for a subscription that wishes to hold `wish` (>= 1) samples.
Grant grant(const Shares& shares, const Granted& granted, std::uint32_t wish) noexcept;

/// The same of a publisher that also grants parts of wishes above kBasicHeld: at most kBasicHeld or, if that is more, one of 128 of
/// what the party could get. So many subscriptions that all wish for much (clients of a service) find a place.
Grant grant_in_part(const Shares& shares, const Granted& granted, std::uint32_t wish) noexcept;

/// Whether a party that holds so many messages now, in units of the usual size, takes memory that others or the publisher
/// need. `shares`: shares_of_memory().
bool holds_too_much(const Shares& shares, const Granted& held) noexcept;

/// The fewest slots with which this grant would be the whole wish.
std::uint64_t slots_for(const Granted& granted, std::uint32_t wish, std::uint32_t depth) noexcept;

/// The text of a refusal or a lesser grant: the wish, the slots that exist, and the way out. `fixed_bytes` 0: slots
/// come from PublisherOptions::slot_count; else each slot takes `fixed_bytes` of PublisherOptions::memory_limit_bytes.
std::string explain(const Shares& shares, const Granted& granted, std::uint32_t wish, std::uint32_t depth,
                    const Grant& grant, std::uint64_t fixed_bytes);

}  // namespace baton::transport
