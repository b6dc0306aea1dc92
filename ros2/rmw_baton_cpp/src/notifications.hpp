// SPDX-License-Identifier: Apache-2.0
// The account of a new-message callback: how many messages the application was notified of, and how many notifications
// are due.
//
// An application with a callback takes once for each message that it was notified of. So each message must be counted
// exactly once, whichever thread fetches it from its source. A take that finds no message needs a new notification.
// Thread rules: no locks; one thread at a time, with the merge.
// Invariants:
// (1) With a callback, each message is counted once. A notification that a take used up without finding a message is
//     repeated.
// (2) A message keeps its mark (`notified`) when its copy from the other source takes its place.
#pragma once

#include "merge.hpp"

namespace baton::rmw {

class Notifications {
 public:
  /// `merge` outlives this.
  explicit Notifications(Merge& merge) : merge_(merge) {}

  /// The application has set a callback. Messages that it took without a callback are not counted.
  void start();
  void stop() noexcept { active_ = false; }

  /// True if, with a callback, some messages need a notification. These may all be duplicates.
  bool pending() const { return active_ && (pending_ != 0 || merge_.notified() != merge_.size()); }
  /// The application must be notified before it may take this message. REQUIRES: pending().
  bool is_first(const Merge::Next& next) const {
    return pending_ != 0 || (next.source != Merge::Source::kNone && !next.notified);
  }

  /// The application has taken a message. If it was not notified of this message, the notification belonged to another
  /// message, which still waits and needs a notification again.
  void taken(bool notified);
  /// A take found nothing to deliver. True if the application was notified of a message that must wait for older
  /// messages. Then the application is notified again by `look_again_ns`.
  bool found_nothing(std::int64_t look_again_ns);

  /// A message was taken from the underlying RMW, or the RMW was found empty. Returns whether the application was
  /// notified of the message.
  bool taken_from_underlying() noexcept;
  void underlying_is_empty() noexcept { in_underlying_ = 0; }

  /// Fetches from both sources. Returns the number of messages of which the caller must now notify the application.
  /// `more_waits`: Baton's queue has messages that may not be fetched yet.
  std::size_t fetch(Merge::Now now, bool* more_waits);
  /// A fetch() while messages are taken from the underlying RMW directly, where `count` have arrived.
  std::size_t count_direct(std::size_t count);
  /// The latest time for the next fetch(). INT64_MAX: never.
  std::int64_t look_again_ns() const noexcept { return look_again_ns_; }

 private:
  Merge& merge_;
  bool active_ = false;
  std::size_t pending_ = 0;        // notifications due, besides those for unmarked messages in the merge
  std::size_t premature_ = 0;      // takes that found nothing because messages had to wait
  std::size_t in_underlying_ = 0;  // messages that the application was notified of and that were not fetched yet
  std::int64_t look_again_ns_ = INT64_MAX;
};

}  // namespace baton::rmw
