// SPDX-License-Identifier: Apache-2.0
#include "path_order.hpp"

#include <algorithm>
#include <utility>

namespace baton::rmw {
namespace {

constexpr std::array<char, 8> kMark = {'r', 'm', 'w', 'B', 'a', 't', 'o', 'n'};
// The last word: how many below, two bits of Older, also.
constexpr std::uint64_t kAlso = 1;
constexpr unsigned kOlderShift = 1, kBelowShift = 3;
constexpr std::uint64_t kOlderMask = 3;

}  // namespace

[[gnu::hot]] transport::PublishInfo Ordinal::encode() const noexcept {
  transport::PublishInfo info;
  std::memcpy(info.correlation_client.data(), kMark.data(), kMark.size());
  std::memcpy(info.correlation_client.data() + kMark.size(), &number, sizeof number);
  info.correlation_sequence =
      below << kBelowShift | static_cast<std::uint64_t>(older) << kOlderShift | (also ? kAlso : 0);
  return info;
}

[[gnu::hot]] std::optional<Ordinal> Ordinal::decode(const memory::ChunkHeader& header) noexcept {
  if (std::memcmp(header.correlation_client, kMark.data(), kMark.size()) != 0) return std::nullopt;
  Ordinal ordinal;
  std::memcpy(&ordinal.number, header.correlation_client + kMark.size(), sizeof ordinal.number);
  const std::uint64_t words = header.correlation_sequence;
  ordinal.below = words >> kBelowShift;
  ordinal.also = (words & kAlso) != 0;
  // 3 is nobody's: unknown.
  if (const std::uint64_t older = words >> kOlderShift & kOlderMask; older <= 2)
    ordinal.older = static_cast<Older>(older);
  return ordinal;
}

[[gnu::hot]] PathOrder::Verdict PathOrder::of_baton(const Queued& queued, bool below_may_come, Asks asks,
                                                    std::int64_t now_ns) noexcept {
  const Ordinal& ordinal = queued.ordinal;
  if (ordinal.also && ordinal.below <= done_below_) return Verdict::kNever;              // came from below before
  if (older_below(ordinal) <= std::max(done_below_, seen_below_)) return Verdict::kNow;  // nothing is missing
  const Older older = known_to_baton() ? Older::kUnknown : ordinal.older;
  if (older == Older::kNothing) return Verdict::kNow;
  // What Baton could not carry (no memory, a full KEEP_ALL queue) was written for all that are matched there, unless it expires.
  const bool spilled = known_to_baton() && below_may_come && asks.keeps_all && !queued.expires;
  const bool sure = asks.reliable && (older == Older::kFollowed || spilled);
  // Nobody sends it any more, or not yet; or what is missing was in Baton's queue too and gave way.
  if ((!below_may_come && !sure) || skips(queued)) return Verdict::kNow;
  if (waits_until_ns_ == 0) waits_until_ns_ = now_ns + (sure ? kSureNs : kGraceNs);
  return now_ns >= waits_until_ns_ ? Verdict::kNow : Verdict::kNotYet;
}

PathOrder::Verdict PathOrder::of_below(std::uint64_t below, const Queued* oldest) const noexcept {
  if (below <= done_below_) return Verdict::kNever;
  if (oldest == nullptr) return Verdict::kNow;  // Baton does not carry it (invariant 1)
  const Ordinal& next = oldest->ordinal;
  if (next.also && below == next.below) return Verdict::kNever;
  if (below > next.below) return Verdict::kNotYet;
  return skips(*oldest) ? Verdict::kNever : Verdict::kNow;
}

[[gnu::hot]] void PathOrder::delivered(const Queued& queued) noexcept {
  done_below_ = std::max(done_below_, queued.ordinal.below);
  last_sequence_ = std::max(last_sequence_, queued.sequence);
  last_number_ = std::max(last_number_, queued.ordinal.number);
  waits_until_ns_ = 0;
}

std::uint64_t PathOrder::delivered_below(std::uint64_t below) noexcept {
  last_number_ += below - std::min(below, done_below_);
  done_below_ = std::max(done_below_, below);
  return last_number_;
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
  limit_ = std::max(kMost, 2 * known_.size());
}

}  // namespace baton::rmw
