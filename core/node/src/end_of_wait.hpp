// SPDX-License-Identifier: Apache-2.0
// The end of a wait in a call of the program. Thread rules: an EndOfWait belongs to one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "baton/node/shutdown.hpp"

namespace baton::detail {

/// Ends a wait when the process is asked to end meanwhile. A wait that begins later lasts a second at most: a program
/// may still call a service while it ends, and a request that came just before the wait began does not let it hang. A
/// signal handler cannot wake a wait set or the graph, so the wait looks every 100 ms.
class EndOfWait {
 public:
  using Clock = std::chrono::steady_clock;
  explicit EndOfWait(Clock::time_point deadline)
      : deadline_(was_ok_ ? deadline : std::min(deadline, Clock::now() + std::chrono::seconds(1))) {}
  /// The time until the next look. None: the wait is over.
  std::optional<std::chrono::nanoseconds> next() const {
    const std::chrono::nanoseconds left = deadline_ - Clock::now();
    if (left <= std::chrono::nanoseconds::zero() || (was_ok_ && !ok())) return std::nullopt;
    return std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds(100));
  }

 private:
  const bool was_ok_ = ok();
  const Clock::time_point deadline_;
};

}  // namespace baton::detail
