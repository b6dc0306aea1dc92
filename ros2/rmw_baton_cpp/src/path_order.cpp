// SPDX-License-Identifier: Apache-2.0
#include "path_order.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>
#include <utility>

namespace baton::rmw {
namespace {

constexpr std::array<char, 8> kMark = {'r', 'm', 'w', 'B', 'a', 't', 'o', 'n'};
constexpr std::size_t kNumberAt = 8, kWordAt = 16;  // in the attachment
// The last word, from its lowest bit: also_underlying, two bits of OlderUnderlying, underlying_count.
constexpr std::uint64_t kAlso = 1;
constexpr unsigned kOlderShift = 1, kCountShift = 3;
constexpr std::uint64_t kOlderMask = 3;

}  // namespace

BATON_HOT transport::PublishInfo OrderHeader::encode() const noexcept {
  transport::PublishInfo info;
  const std::uint64_t word = underlying_count << kCountShift | static_cast<std::uint64_t>(older) << kOlderShift |
                             (also_underlying ? kAlso : 0);
  std::memcpy(info.attachment.data(), kMark.data(), kMark.size());
  std::memcpy(info.attachment.data() + kNumberAt, &number, sizeof number);
  std::memcpy(info.attachment.data() + kWordAt, &word, sizeof word);
  return info;
}

BATON_HOT std::optional<OrderHeader> OrderHeader::decode(const memory::ChunkHeader& header) noexcept {
  if (std::memcmp(header.attachment, kMark.data(), kMark.size()) != 0) return std::nullopt;
  OrderHeader decoded;
  std::uint64_t word = 0;
  std::memcpy(&decoded.number, header.attachment + kNumberAt, sizeof decoded.number);
  std::memcpy(&word, header.attachment + kWordAt, sizeof word);
  decoded.underlying_count = word >> kCountShift;
  decoded.also_underlying = (word & kAlso) != 0;
  // No publisher writes 3; it counts as unknown.
  if (const std::uint64_t older = word >> kOlderShift & kOlderMask; older <= 2)
    decoded.older = static_cast<OlderUnderlying>(older);
  return decoded;
}

BATON_HOT PathOrder::Verdict PathOrder::of_baton(const Position& position, bool underlying_matched, Policy policy,
                                                 std::int64_t now_ns) noexcept {
  const OrderHeader& header = position.header;
  if (header.also_underlying && header.underlying_count <= settled_underlying_) return Verdict::kNever;  // a duplicate
  if (header.older_underlying() <= std::max(settled_underlying_, newest_underlying_)) return Verdict::kNow;
  const OlderUnderlying older = known_to_baton() ? OlderUnderlying::kUnknown : header.older;
  if (older == OlderUnderlying::kNone) return Verdict::kNow;
  // Messages that Baton could not carry (no memory, a full KEEP_ALL queue) were written for all matched subscriptions.
  // They will arrive unless they expire.
  const bool spilled = known_to_baton() && underlying_matched && policy.keeps_all && !position.expires;
  const bool sure = policy.reliable && (older == OlderUnderlying::kFollowed || spilled);
  // The missing messages will not be sent any more, or not yet; or they were in Baton's queue, too, and were evicted.
  if ((!underlying_matched && !sure) || skips(position)) return Verdict::kNow;
  if (waits_until_ns_ == 0) waits_until_ns_ = now_ns + (sure ? kSureNs : kGraceNs);
  return now_ns >= waits_until_ns_ ? Verdict::kNow : Verdict::kNotYet;
}

PathOrder::Verdict PathOrder::of_underlying(std::uint64_t number, const Position* oldest) const noexcept {
  if (number <= settled_underlying_) return Verdict::kNever;
  if (oldest == nullptr) return Verdict::kNow;  // Baton does not carry it (invariant 1)
  const OrderHeader& next = oldest->header;
  if (next.also_underlying && number == next.underlying_count) return Verdict::kNever;
  if (number > next.underlying_count) return Verdict::kNotYet;
  return skips(*oldest) ? Verdict::kNever : Verdict::kNow;
}

bool PathOrder::arrived_underlying(std::uint64_t number, std::int64_t source_ns, std::int64_t received_ns) noexcept {
  newest_underlying_ = std::max(newest_underlying_, number);
  const auto bounded = [](std::int64_t time_ns) { return std::clamp<std::int64_t>(time_ns, 0, INT64_MAX / 4); };
  source_ns = bounded(source_ns);
  ahead_ns_ = std::max(ahead_ns_, source_ns - bounded(received_ns));
  if (number >= claimed_) {
    claimed_ = 0;  // confirmed, or there is none
    return true;
  }
  // A publisher writes messages in the order of their numbers. The order word was written before it was taken, by this
  // host's clock. A later time is only believed as far as the sender's clock is ahead, which late messages hide.
  const std::int64_t claim_ns = std::min(bounded(claim_source_ns_), bounded(claim_taken_ns_) + ahead_ns_ + kSureNs);
  if (source_ns - claim_ns <= kMarginNs) return true;
  trusted_ = false;
  settled_underlying_ = number - 1;
  return false;
}

bool PathOrder::may_wait_for_memory(std::int64_t now_ns) noexcept {
  if (!trusted_) return false;
  if (awaits_since_ns_ == 0) awaits_since_ns_ = now_ns;
  trusted_ = now_ns < waits_for_memory_until();
  return trusted_;
}

BATON_HOT void PathOrder::settle(const Position& position) noexcept {
  if (position.header.underlying_count > settled_underlying_ && claimed_ == 0) {
    claimed_ = position.header.underlying_count;
    claim_source_ns_ = position.source_ns;
    claim_taken_ns_ = position.taken_ns;
  }
  settled_underlying_ = std::max(settled_underlying_, position.header.underlying_count);
  last_sequence_ = std::max(last_sequence_, position.sequence);
  last_number_ = std::max(last_number_, position.header.number);
  waits_until_ns_ = 0;
}

std::uint64_t PathOrder::settle_underlying(std::uint64_t number) noexcept {
  last_number_ += number - std::min(number, settled_underlying_);
  settled_underlying_ = std::max(settled_underlying_, number);
  return last_number_;
}

PathOrders::AllKnown::value_type& PathOrders::find(const transport::Gid& publisher) {
  return *known_.try_emplace(publisher).first;
}

void PathOrders::forget(std::vector<transport::Gid> needed) {
  std::sort(needed.begin(), needed.end());
  std::vector<std::pair<std::uint64_t, transport::Gid>> others;
  for (const auto& [gid, known] : known_) {
    if (!std::binary_search(needed.begin(), needed.end(), gid)) others.emplace_back(known.used, gid);
  }
  std::sort(others.begin(), others.end());
  for (const auto& [used, gid] : others) {
    if (known_.size() <= kMost / 2) break;
    known_.erase(gid);
  }
  last_ = nullptr;
  limit_ = std::max(kMost, 2 * known_.size());
}

}  // namespace baton::rmw
