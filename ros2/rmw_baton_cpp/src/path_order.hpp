// SPDX-License-Identifier: Apache-2.0
// One publisher, two paths, one order. A publisher numbers its messages; what goes through Baton's memory carries an Ordinal,
// what goes through the underlying RMW carries that RMW's publication sequence number, which counts the messages written there.
// From both a subscription knows the order of all of them, and which one came twice.
//
// Thread rules: no locks; the subscription's mutex.
// Invariants: (1) a publisher hands a message to Baton before it writes it to the underlying RMW, and numbers under one lock;
// so a message that came from below and that Baton carried too has entered Baton's queue before; (2) every message of a
// publisher is delivered at most once; (3) in the publisher's order: messages from below that come later than kGraceNs (kSureNs)
// after a younger one are dropped.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "baton/memory/chunk_header.hpp"
#include "baton/transport/transport.hpp"

namespace baton::rmw {

/// What the subscriptions that have come to Baton since the publisher's last message get of the older ones from below.
enum class Older : std::uint8_t {
  kUnknown,   ///< some perhaps something; or no subscription has come
  kNothing,   ///< nothing: the underlying RMW has matched none of them
  kFollowed,  ///< perhaps something, and then this message, which surely goes to all of them on that path, too
};

/// What a message in Baton's memory says of its place; travels as its PublishInfo.
struct Ordinal {
  std::uint64_t number = 0;       ///< of the publisher, from 1, over both paths
  std::uint64_t below = 0;        ///< how many went to the underlying RMW so far, this one included
  bool also = false;              ///< this one goes to the underlying RMW too
  Older older = Older::kUnknown;  ///< for those whose first message this is

  transport::PublishInfo encode() const noexcept;
  /// Empty for a message of a publisher that is not of ROS 2.
  static std::optional<Ordinal> decode(const memory::ChunkHeader& header) noexcept;
};

/// What a subscription knows of one publisher.
class PathOrder {
 public:
  /// How long a message waits for older ones that may be on their way through the underlying RMW. Only where a publisher changes
  /// its path: when a subscription attaches, and after what Baton could not carry.
  static constexpr std::int64_t kGraceNs = 500'000'000;
  /// The same where something is on its way for certain and reliable. It ends sooner, by what comes, unless the publisher dies just
  /// then. On a busy machine a process may need seconds to discover another, or to take what waits in its history.
  static constexpr std::int64_t kSureNs = 10'000'000'000;

  enum class Verdict : std::uint8_t { kNow, kNotYet, kNever };
  struct Queued {
    Ordinal ordinal;
    std::uint64_t sequence;  ///< of Baton's writer: a gap says that messages gave way (KEEP_LAST)
    bool expires = false;    ///< has a lifespan, and so has what is older
  };

  /// A message from below was seen, which may be kept back: no older ones will come from there.
  void saw_below(std::uint64_t below) noexcept { seen_below_ = std::max(seen_below_, below); }
  /// What a subscription asks for.
  struct Asks {
    bool reliable = false;
    bool keeps_all = false;  ///< else what it did not take in time gave way, below, too
  };
  /// Of the oldest message in Baton's queue. `below_may_come`: the underlying subscription is matched with somebody. REQUIRES: no older message from below was seen and is not delivered yet.
  /// kNotYet: until waits_until(), unless a message from below changes it before.
  Verdict of_baton(const Queued& queued, bool below_may_come, Asks asks, std::int64_t now_ns) noexcept;
  /// Of a message from below, its publication sequence number. `oldest` is the oldest in Baton's queue, null if there is none.
  /// REQUIRES: `oldest` was looked for after the message from below was taken.
  Verdict of_below(std::uint64_t below, const Queued* oldest) const noexcept;

  /// Messages of Baton's writer between this one and the last are missing: they gave way, or were too old.
  bool skips(const Queued& queued) const noexcept {
    return last_sequence_ != 0 && queued.sequence != last_sequence_ + 1;
  }
  void delivered(const Queued& queued) noexcept;
  /// Returns the message's number over both paths.
  std::uint64_t delivered_below(std::uint64_t below) noexcept;

  std::int64_t waits_until() const noexcept { return waits_until_ns_; }
  bool known_to_baton() const noexcept { return last_sequence_ != 0; }
  std::uint64_t done_below() const noexcept { return done_below_; }
  /// How many of the messages below are older than this one of Baton's.
  static std::uint64_t older_below(const Ordinal& ordinal) noexcept { return ordinal.below - (ordinal.also ? 1 : 0); }

 private:
  std::uint64_t done_below_ = 0;     // messages of below that are delivered, doubled or given up
  std::uint64_t seen_below_ = 0;     // the youngest
  std::uint64_t last_sequence_ = 0;  // of Baton's writer; 0: nothing came from there
  std::uint64_t last_number_ = 0;
  std::int64_t waits_until_ns_ = 0;
};

/// What a subscription knows of its publishers. Whoever forgets one that still has a message on its way takes it for a new one:
/// doubles would be delivered.
class PathOrders {
 public:
  static constexpr std::size_t kMost = 1024;  ///< remembered, unless more are still there

  /// Made at the first use. Valid until forget().
  PathOrder& of(const transport::Gid& publisher) {
    Known& known = known_[publisher];
    known.used = ++uses_;
    return known.order;
  }
  std::size_t size() const noexcept { return known_.size(); }
  /// It is time to find out who has left.
  bool crowded() const noexcept { return known_.size() > limit_; }
  /// Forgets of those that are not `needed`, which need not be sorted, the ones that were not used for the longest time, until
  /// half of kMost are left. crowded() then asks again when twice as many are known as could not be forgotten, so that asking
  /// stays cheap however many are there.
  void forget(std::vector<transport::Gid> needed);

 private:
  struct Known {
    PathOrder order;
    std::uint64_t used = 0;  // uses_ of then
  };
  std::map<transport::Gid, Known> known_;
  std::uint64_t uses_ = 0;
  std::size_t limit_ = kMost;
};

}  // namespace baton::rmw
