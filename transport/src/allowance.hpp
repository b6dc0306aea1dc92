// SPDX-License-Identifier: Apache-2.0
// Limits how often an action may happen: at most a given number of times per window of time.
// Thread rules: a value.
#pragma once

#include <chrono>

namespace baton::transport {

class Allowance {
 public:
  using Clock = std::chrono::steady_clock;

  /// Uses one of `most` in `window`. Returns how many are left afterwards, or -1 if none was left.
  int use(Clock::time_point now, unsigned most, Clock::duration window) noexcept {
    if (used_ == 0 || now - since_ > window) {
      since_ = now;
      used_ = 0;
    }
    if (used_ >= most) return -1;
    ++used_;
    return static_cast<int>(most - used_);
  }

 private:
  Clock::time_point since_{};
  unsigned used_ = 0;
};

}  // namespace baton::transport
