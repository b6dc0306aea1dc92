// SPDX-License-Identifier: Apache-2.0
#include "notifications.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>

namespace baton::rmw {
namespace {

constexpr int kMostVain =
    3;  // fetches in a row that find nothing although Baton's queue is not empty: more samples wait than may be held

}  // namespace

void Notifications::start() {
  active_ = true;
  pending_ = std::min(pending_ + std::exchange(premature_, 0), merge_.size() + in_underlying_);
}

BATON_HOT void Notifications::taken(bool notified) {
  if (active_ && !notified) ++pending_;
  pending_ += std::exchange(premature_, 0);  // other messages may have waited for this one
}

bool Notifications::found_nothing(std::int64_t look_again_ns) {
  if (!active_ || premature_ >= merge_.notified()) return false;
  ++premature_;
  look_again_ns_ = look_again_ns;
  return true;
}

BATON_HOT bool Notifications::taken_from_underlying() noexcept {
  const bool notified = in_underlying_ != 0;
  if (notified) --in_underlying_;
  return notified;
}

std::size_t Notifications::count_direct(std::size_t count) {
  in_underlying_ = std::min(in_underlying_ + count, merge_.depth());
  return std::exchange(pending_, 0) + count;
}

std::size_t Notifications::fetch(Merge::Now now, bool* more_waits) {
  *more_waits = false;
  for (int vain = 0;;) {
    merge_.fetch_ahead();
    if (premature_ != 0) {  // a new message may end the wait, or be a duplicate
      std::int64_t look_again_ns = INT64_MAX;
      if (merge_.choose(now, &look_again_ns).source != Merge::Source::kNone) pending_ += std::exchange(premature_, 0);
    }
    pending_ += merge_.mark_notified();
    if (!merge_.baton_has_data()) break;
    if (merge_.may_fetch_baton() && (merge_.fetch_baton() || ++vain < kMostVain)) continue;
    *more_waits = true;
    break;
  }
  if (look_again_ns_ <= now.monotonic_ns) {
    look_again_ns_ = INT64_MAX;
    pending_ += std::exchange(premature_, 0);
  }
  return std::exchange(pending_, 0);
}

}  // namespace baton::rmw
