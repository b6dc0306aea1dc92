// SPDX-License-Identifier: Apache-2.0
// The order of one publisher's messages over both paths. A publisher numbers its messages. A message in Baton's memory
// carries an OrderHeader. A message of the underlying RMW carries that RMW's publication sequence number, which counts
// the messages written to that RMW. From both numbers a subscription knows the order of all messages, and which message
// came twice.
//
// Thread rules: no locks; one thread at a time.
// Invariants:
// (1) A publisher gives a message to Baton before it writes the message to the underlying RMW, and numbers under one
//     lock. So a message that both paths carry is in Baton's queue before it arrives from the underlying RMW.
// (2) Every message of a publisher is delivered at most once.
// (3) Messages are delivered in the publisher's order. A message from the underlying RMW that arrives after a younger
//     message has stopped waiting for it (after 0, kGraceNs or kSureNs) is dropped.
// (4) Order words are claims: any process of the domain can announce a publisher with the gid of an honest one. A claim
//     that a message of the underlying RMW contradicts is believed for kMarginNs at most, or for kSureNs more if its
//     message comes from the future. Afterwards this publisher's
//     messages from Baton count as those of another publisher, and (2) and (3) hold for each path alone.
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

/// Whether older messages of the underlying RMW may arrive at the subscriptions that Baton has matched since the
/// publisher's last message.
enum class OlderUnderlying : std::uint8_t {
  kUnknown,   ///< not known, or no subscription was matched since the last message
  kNone,      ///< no: the underlying RMW has matched none of these subscriptions
  kFollowed,  ///< perhaps; and the underlying RMW brings this message to all of them, after the older messages
};

/// The place of a message in its publisher's order. Sent with each message in Baton's memory, in its PublishInfo.
struct OrderHeader {
  std::uint64_t number = 0;            ///< of the message, from 1, over both paths
  std::uint64_t underlying_count = 0;  ///< messages written to the underlying RMW so far, this message included
  bool also_underlying = false;        ///< this message is written to the underlying RMW, too
  OlderUnderlying older = OlderUnderlying::kUnknown;  ///< for subscriptions whose first message this is

  transport::PublishInfo encode() const noexcept;
  /// Empty for a message of a publisher that is not of ROS 2.
  static std::optional<OrderHeader> decode(const memory::ChunkHeader& header) noexcept;

  /// How many messages of the underlying RMW are older than this message.
  std::uint64_t older_underlying() const noexcept { return underlying_count - (also_underlying ? 1 : 0); }
};

/// A subscription's knowledge of one publisher.
class PathOrder {
 public:
  /// How long a message waits for older messages that may still arrive through the underlying RMW. A message waits only
  /// when a publisher changes its path: when Baton matches a subscription, and after messages that Baton could not
  /// carry.
  static constexpr std::int64_t kGraceNs = 500'000'000;
  /// The wait if an older reliable message will surely arrive. Its arrival ends the wait; the wait lasts this long only
  /// if the publisher dies at that moment. On a busy machine a process may need seconds to discover another, or to take
  /// the messages of its history.
  static constexpr std::int64_t kSureNs = 10'000'000'000;

  /// A message of the underlying RMW contradicts an order word if it is younger than that word by more than this, and
  /// has a lower number. Clocks may be set back by less.
  static constexpr std::int64_t kMarginNs = 1'000'000'000;

  enum class Verdict : std::uint8_t { kNow, kNotYet, kNever };
  /// A message of Baton's queue.
  struct Position {
    OrderHeader header;
    std::uint64_t sequence;  ///< sequence of Baton's writer: a gap means that messages were evicted (KEEP_LAST)
    bool expires = false;    ///< has a lifespan, and so have all older messages
    // CLOCK_REALTIME, when it was sent and when it was taken from the queue.
    std::int64_t source_ns = INT64_MAX, taken_ns = INT64_MAX;
  };
  /// The subscription's quality of service.
  struct Policy {
    bool reliable = false;
    bool keeps_all = false;  ///< else the underlying RMW may have evicted messages that were not taken in time
  };

  /// A message from the underlying RMW has arrived. It may have to wait; older messages will not arrive from that RMW
  /// any more.
  /// `source_ns`, `received_ns`: CLOCK_REALTIME of the sender and of this host. False: it contradicts an order word, and
  /// from now on trusted() is false.
  bool arrived_underlying(std::uint64_t number, std::int64_t source_ns, std::int64_t received_ns) noexcept;
  /// False: this publisher's messages from Baton are those of another publisher (invariant 4).
  bool trusted() const noexcept { return trusted_; }
  /// Whether a message from the underlying RMW may wait for memory of this publisher's oldest message in Baton's queue,
  /// which never comes if the publisher is no honest one. Ends the trust after kSureNs.
  bool may_wait_for_memory(std::int64_t now_ns) noexcept;
  std::int64_t waits_for_memory_until() const noexcept { return awaits_since_ns_ + kSureNs; }
  void memory_arrived() noexcept { awaits_since_ns_ = 0; }
  /// Decides about the oldest message of this publisher in Baton's queue. `underlying_matched`: the underlying
  /// subscription has publishers. REQUIRES: no older message from the underlying RMW has arrived and waits. kNotYet:
  /// the message waits until waits_until(), unless a message from the underlying RMW changes that earlier.
  Verdict of_baton(const Position& position, bool underlying_matched, Policy policy, std::int64_t now_ns) noexcept;
  /// Decides about a message from the underlying RMW, by its publication sequence number. `oldest`: the publisher's
  /// oldest message in Baton's queue; null if there is none. REQUIRES: the queue was read after the message was taken
  /// from the underlying RMW.
  Verdict of_underlying(std::uint64_t number, const Position* oldest) const noexcept;

  /// True if messages of Baton's writer between the last delivered message and this one are missing: they were evicted,
  /// or too old.
  bool skips(const Position& position) const noexcept {
    return last_sequence_ != 0 && position.sequence != last_sequence_ + 1;
  }
  /// The message was delivered, or dropped: it and all older messages are settled.
  void settle(const Position& position) noexcept;
  /// The same for a message from the underlying RMW. Returns the message's number over both paths.
  std::uint64_t settle_underlying(std::uint64_t number) noexcept;

  std::int64_t waits_until() const noexcept { return waits_until_ns_; }
  bool known_to_baton() const noexcept { return last_sequence_ != 0; }
  std::uint64_t settled_underlying() const noexcept { return settled_underlying_; }

 private:
  std::uint64_t settled_underlying_ = 0;  // messages of the underlying RMW that were delivered or dropped
  std::uint64_t newest_underlying_ = 0;   // the youngest that has arrived
  std::uint64_t last_sequence_ = 0;       // of Baton's writer; 0: no message came over Baton yet
  std::uint64_t last_number_ = 0;
  std::int64_t waits_until_ns_ = 0;
  std::int64_t awaits_since_ns_ = 0;
  bool trusted_ = true;
  // The oldest order word that no message from the underlying RMW has confirmed; 0: none.
  std::uint64_t claimed_ = 0;
  std::int64_t claim_source_ns_ = 0, claim_taken_ns_ = 0;
  std::int64_t ahead_ns_ = 0;  // the sender's clock, of this host's
};

/// A subscription's knowledge of all its publishers. A publisher must not be forgotten while one of its messages is
/// still to arrive: the message would look like a new publisher's first one, and duplicates would be delivered.
class PathOrders {
 public:
  static constexpr std::size_t kMost = 1024;  ///< publishers remembered, unless more are needed

  /// Made at the first use. Valid until forget().
  PathOrder& of(const transport::Gid& publisher) {
    if (last_ == nullptr || last_->first != publisher) last_ = &find(publisher);  // most messages have the last one's
    last_->second.used = ++uses_;
    return last_->second.order;
  }
  std::size_t size() const noexcept { return known_.size(); }
  /// True if it is time for forget().
  bool crowded() const noexcept { return known_.size() > limit_; }
  /// Forgets the least recently used publishers that are not `needed` (in any order), until half of kMost are left.
  /// crowded() is true again when twice as many are known as are left now, so that finding the needed ones stays cheap.
  void forget(std::vector<transport::Gid> needed);

 private:
  struct Known {
    PathOrder order;
    std::uint64_t used = 0;  // uses_ at the last use
  };
  using AllKnown = std::map<transport::Gid, Known>;
  AllKnown::value_type& find(const transport::Gid& publisher);

  AllKnown::value_type* last_ = nullptr;  // of the last use
  std::uint64_t uses_ = 0;
  AllKnown known_;
  std::size_t limit_ = kMost;
};

}  // namespace baton::rmw
