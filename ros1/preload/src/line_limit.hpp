// SPDX-License-Identifier: Apache-2.0
// How many lines this library writes to stderr. A peer can cause some of them again and again, and the log of a process is not
// a peer's to fill (docs/format/bounds.md).
//
// Thread rules: externally synchronised.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

namespace baton::ros1 {

class LineLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// In each span of time, whatever the lines say.
  static constexpr std::uint32_t kMostLines = 20;
  static constexpr std::chrono::seconds kSpan{10};

  /// Whether a line may be written at `now`.
  bool admits(Time now) {
    if (lines_ == 0 || now - since_ >= kSpan) {
      since_ = now;
      lines_ = 0;
    }
    if (lines_ < kMostLines) {
      ++lines_;
      return true;
    }
    ++left_out_;
    return false;
  }
  /// The lines that were not admitted since the last call.
  std::uint64_t take_left_out() { return std::exchange(left_out_, 0); }

 private:
  Time since_;
  std::uint32_t lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace baton::ros1
