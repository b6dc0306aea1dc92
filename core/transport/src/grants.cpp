// SPDX-License-Identifier: Apache-2.0
#include "grants.hpp"

#include <algorithm>

namespace baton::transport {
namespace {

constexpr std::uint64_t kLoans = 2;

constexpr std::uint64_t less(std::uint64_t from, std::uint64_t what) noexcept { return from > what ? from - what : 0; }

/// At least the basic number, as far as there are so many: small pools also serve subscriptions with the default QoS.
constexpr std::uint64_t at_least_basic(std::uint64_t share, std::uint64_t all) noexcept {
  return std::max(share, std::min<std::uint64_t>(all, kBasicHeld));
}

std::string way_out(std::uint64_t slots, std::uint64_t fixed_bytes) {
  if (fixed_bytes == 0) return "raise PublisherOptions::slot_count to at least " + std::to_string(slots);
  return "raise PublisherOptions::memory_limit_bytes to at least " + std::to_string(slots * fixed_bytes);
}

}  // namespace

Shares shares_of(std::uint64_t slots, std::uint32_t depth) noexcept {
  Shares shares;
  shares.slots = slots;
  if (slots < kFewestSlots) return shares;
  shares.loans = kLoans;
  shares.queues = std::max({std::uint64_t{1}, slots / 16, std::min<std::uint64_t>(depth, slots / 4)});
  shares.shared = slots - shares.loans - shares.queues;
  shares.one = at_least_basic(shares.shared / 2, shares.shared);
  shares.party = std::max<std::uint64_t>(1, shares.shared * 3 / 4);
  shares.newcomers = shares.shared / 16;
  return shares;
}

Shares shares_of_memory(std::uint64_t capacity, std::uint32_t depth) noexcept {
  constexpr std::uint64_t kFew = 16;
  Shares shares = shares_of(capacity, depth);
  if (capacity < kFew) {  // few large messages: one of four is the publisher's, and the one that is being built
    shares = {};
    shares.slots = capacity;
    shares.queues = std::max<std::uint64_t>(1, capacity / 4);
    shares.loans = capacity >= 4 ? 1 : 0;
    shares.shared = less(capacity, shares.queues + shares.loans);
    shares.one = shares.shared;
  }
  shares.party = at_least_basic(shares.shared * 3 / 4, shares.shared);
  return shares;
}

bool holds_too_much(const Shares& shares, const Granted& held) noexcept {
  if (held.party > std::max<std::uint64_t>(1, shares.party)) return true;
  if (held.total > less(shares.shared, shares.newcomers) && held.party > kBasicHeld) return true;
  return held.total > shares.shared && held.party > 1;
}

Grant grant_in_part(const Shares& shares, const Granted& granted, std::uint32_t wish) noexcept {
  constexpr std::uint64_t kParts = 128;
  Grant out = grant(shares, granted, wish);
  if (wish <= kBasicHeld) return out;
  const std::uint64_t part = std::max<std::uint64_t>(kBasicHeld, out.room / kParts);
  out.held = static_cast<std::uint32_t>(std::min<std::uint64_t>({wish, part, out.room}));
  out.reason = out.held == wish ? Grant::Reason::kFull : Grant::Reason::kPartyShare;
  return out;
}

Grant grant(const Shares& shares, const Granted& granted, std::uint32_t wish) noexcept {
  const std::uint64_t free = less(shares.shared, granted.total);
  const std::uint64_t of_party = less(shares.party, granted.party);
  const std::uint64_t for_all = less(free, shares.newcomers);
  const std::uint64_t for_newcomers = std::min(free, less(kBasicHeld, granted.party));
  Grant out;
  out.room = std::min({of_party, std::max(for_all, for_newcomers), shares.one});
  if (wish <= out.room) {
    out.held = wish;
    return out;
  }
  if (wish > kBasicHeld && wish > std::min(shares.one, shares.party)) {
    out.reason = Grant::Reason::kNeverFits;
  } else {
    out.reason = of_party <= out.room ? Grant::Reason::kPartyShare : Grant::Reason::kSlots;
  }
  if (wish <= kBasicHeld) out.held = static_cast<std::uint32_t>(out.room);
  return out;
}

std::uint64_t slots_for(const Granted& granted, std::uint32_t wish, std::uint32_t depth) noexcept {
  std::uint64_t low = kFewestSlots, high = 8 * (granted.total + wish + kBasicHeld);
  while (low < high) {  // more slots never make a grant smaller
    const std::uint64_t middle = low + (high - low) / 2;
    if (grant(shares_of(middle, depth), granted, wish).held == wish) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::string explain(const Shares& shares, const Granted& granted, std::uint32_t wish, std::uint32_t depth,
                    const Grant& grant, std::uint64_t fixed_bytes) {
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  std::string out = "a subscription asks to hold " + text(wish) + " samples (QoS held)";
  if (grant.reason == Grant::Reason::kNeverFits) {
    return out + "; one subscription gets at most " + text(std::min(shares.one, shares.party)) +
           " of the publisher's " + text(shares.slots) + " slots; " + way_out(slots_for({}, wish, depth), fixed_bytes) +
           ", or lower QoS held";
  }
  out += grant.held > 0 ? " and gets " + text(grant.held) : std::string(" and gets none now");
  out += ": of the publisher's " + text(shares.slots) + " slots, " + text(shares.shared) + " can be held and " +
         text(granted.total) + " are granted";
  if (grant.reason == Grant::Reason::kPartyShare) {
    out += ", " + text(granted.party) + " of them to its process (or user), which gets at most " + text(shares.party);
  }
  return out + "; " + way_out(slots_for(granted, wish, depth), fixed_bytes) +
         ", or lower QoS held of the subscriptions";
}

}  // namespace baton::transport
