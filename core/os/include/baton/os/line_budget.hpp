// SPDX-License-Identifier: Apache-2.0
// Bounds the lines that a process writes because of what other processes do: so many in a window of time in all, and the first line of
// each kind in any case. So a flood of one kind does not hide that something else is wrong, too.
// Thread rules: any thread.
// Invariants: (1) no key is chosen by another process (a name, a number, an identity): a kind is an error code of this process; (2) what is
// left out is counted, and the next line says the count.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "baton/os/allowance.hpp"
#include "baton/os/result.hpp"

namespace baton::os {

class LineBudget {
 public:
  static constexpr unsigned kMost = 50;  ///< lines in each window, beside the first of each kind
  static constexpr std::chrono::seconds kWindow{10};

  /// A line that may be written.
  struct Line {
    std::uint64_t left_out = 0;  ///< lines before it
    bool last = false;           ///< the next ones are left out

    std::string of(std::string text) const {
      if (left_out != 0) text += " (before it, " + std::to_string(left_out) + " lines were left out)";
      if (last) text += " (most lines of the next " + std::to_string(kWindow.count()) + " s are left out)";
      return text;
    }
  };

  /// Nothing: the line is left out, and counted.
  std::optional<Line> admit(Allowance::Clock::time_point now, Errc kind) noexcept {
    const auto code = static_cast<std::size_t>(kind);
    const bool first = first_[code < kKinds ? code : 0].use(now, 1, kWindow) >= 0;
    const int left = lines_.use(now, kMost, kWindow);
    if (left < 0 && !first) {
      leave_out();
      return std::nullopt;
    }
    return Line{left_out_.exchange(0, std::memory_order_relaxed), left == 0};
  }
  /// Counts a line that another bound forbids.
  void leave_out() noexcept { left_out_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kKinds = 32;
#define BATON_ERROR_CODE(name, value, text) static_assert((value) > 0 && (value) < kKinds);
#include "baton/os/error_codes.def"
#undef BATON_ERROR_CODE

  Allowance lines_;
  std::array<Allowance, kKinds> first_;     // by error code; 0: all numbers that are none
  std::atomic<std::uint64_t> left_out_{0};  // relaxed: a count, which orders nothing
};

}  // namespace baton::os
