// SPDX-License-Identifier: Apache-2.0
// Bounds the lines that a process writes because of what other processes do. There is no key: whatever the other
// processes choose (names, numbers, identities, kinds of faults), all lines of one budget are counted together.
// Thread rules: none of its own; one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "baton/os/allowance.hpp"

namespace baton::os {

class LineBudget {
 public:
  static constexpr unsigned kMost = 50;  ///< lines in each window
  static constexpr std::chrono::seconds kWindow{10};

  /// Whether the next line may be written. Then `text` is the line. The last line of a window also says that the next
  /// ones are dropped, and the first line of the next window says how many were.
  bool pass(std::chrono::steady_clock::time_point now, std::string* text) {
    const int left = lines_.use(now, kMost, kWindow);
    if (left < 0) {
      ++dropped_;
      return false;
    }
    if (dropped_ != 0) *text += " (before it, " + std::to_string(dropped_) + " lines were dropped)";
    dropped_ = 0;
    is_last_ = left == 0;
    if (is_last_)
      *text = "more than " + std::to_string(kMost) + " lines in " + std::to_string(kWindow.count()) +
              " s; the next ones are dropped (the last: " + *text + ")";
    return true;
  }
  /// After pass(): that line says that the next ones are dropped.
  bool is_last() const noexcept { return is_last_; }

 private:
  Allowance lines_;
  bool is_last_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace baton::os
