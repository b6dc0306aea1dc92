// SPDX-License-Identifier: Apache-2.0
// Where a publisher's messages stand among those of others, if the times that it writes on them are wrong: by a lie, or by another clock.
//
// In the future: its stamps count as earlier by as much as the newest one was early. What was pushed before that is known, and everything if the
// difference keeps growing, comes first and is given up first: it may displace no message of others (KEEP_LAST).
// In the past: a message that was pushed after this process knew of a moment counts as no older than that moment.
//
// Pure: it knows no clock, no queue and no lock. Times are in ns of this process's CLOCK_MONOTONIC. Thread rules: externally synchronised.
#pragma once

#include <cstdint>

namespace baton::transport {

class PublisherStamps {
 public:
  /// A stamp of this publisher has been in the future.
  bool ahead() const noexcept { return ahead_ns_ != 0; }
  /// Whether the stamp is in the future although it is corrected: then found_ahead() is due. False if the stamps say nothing anyway.
  bool in_future(std::int64_t stamp_ns, std::int64_t now_ns) const noexcept {
    return !untimed_ && less_correction(stamp_ns) > now_ns;
  }
  /// The publisher's newest stamp is `ahead_ns` in the future; `head` is the position behind its newest message.
  void found_ahead(std::int64_t ahead_ns, std::uint64_t head) noexcept {
    constexpr std::int64_t kMostGrowthNs = 1'000'000'000;
    if (!ahead()) first_ahead_ns_ = ahead_ns;
    timed_from_ = head;
    ahead_ns_ = ahead_ns;
    untimed_ = ahead_ns - first_ahead_ns_ > kMostGrowthNs;
  }
  /// The place of the message at this position. INT64_MIN: before all others. REQUIRES: !in_future(stamp_ns, now).
  std::int64_t order_ns(std::int64_t stamp_ns, std::uint64_t position) const noexcept {
    return untimed_ || position < timed_from_ ? INT64_MIN : less_correction(stamp_ns);
  }
  /// When the message was published, as far as the stamp says so: its lifespan begins there.
  std::int64_t published_ns(std::int64_t stamp_ns) const noexcept {
    return untimed_ ? stamp_ns : less_correction(stamp_ns);
  }

  /// Whether a later moment than `floor_ns()` is needed for the message at this position: know() is due.
  bool unknown(std::uint64_t position) const noexcept { return position >= known_head_; }
  /// At `now_ns`, what lies from `head` on had not been pushed.
  void know(std::int64_t now_ns, std::uint64_t head) noexcept {
    floor_ns_ = known_ns_;
    known_ns_ = now_ns;
    known_head_ = head;
  }
  /// Messages before the known head count as no older than this.
  std::int64_t floor_ns() const noexcept { return floor_ns_; }

 private:
  std::int64_t less_correction(std::int64_t stamp_ns) const noexcept {
    return stamp_ns < INT64_MIN + ahead_ns_ ? INT64_MIN : stamp_ns - ahead_ns_;
  }

  std::int64_t ahead_ns_ = 0;  // how far the stamps run ahead of the clock, as far as has been seen; 0: not at all
  std::int64_t first_ahead_ns_ = 0;  // `ahead_ns_` at first
  std::uint64_t timed_from_ = 0;     // position of the first message that was pushed since `ahead_ns_` last grew
  bool untimed_ = false;             // `ahead_ns_` keeps growing: the stamps say nothing
  std::uint64_t known_head_ = 0;     // what lies at this position or behind was pushed after `known_ns_`
  std::int64_t known_ns_ = INT64_MIN;
  std::int64_t floor_ns_ = INT64_MIN;  // `known_ns_` before that: of messages before `known_head_`
};

}  // namespace baton::transport
