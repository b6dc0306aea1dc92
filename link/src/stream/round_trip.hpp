// SPDX-License-Identifier: Apache-2.0
// Measures the round-trip time of a frame (docs/format/link.md, "alive"): this host sends one question at a time, which the other host sends
// back. The kernel's own measurement is no substitute: on the side that sends little, it includes the other kernel's delayed acknowledgements.
// Thread rules: a value; externally synchronised.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace baton::link::stream {

class RoundTrip {
 public:
  /// The next question, at the time `now_ns` (CLOCK_MONOTONIC, above 0). 0: no question now, because the last one has no answer yet or was sent
  /// a short time ago.
  std::uint64_t ask(std::int64_t now_ns) noexcept {
    if (asked_ != 0 && now_ns - asked_ < (answered_ ? kPauseNs : kLostNs)) return 0;
    asked_ = now_ns;
    answered_ = false;
    return static_cast<std::uint64_t>(now_ns);
  }
  /// An answer has come. It may answer no question of this host.
  void answer(std::uint64_t question, std::int64_t now_ns) noexcept {
    if (answered_ || question == 0 || question != static_cast<std::uint64_t>(asked_)) return;
    answered_ = true;
    taken_ns_[count_++ % taken_ns_.size()] = std::max<std::int64_t>(now_ns - asked_, 1);
  }
  /// The least of the last eight; 0: none.
  std::int64_t least_ns() const noexcept {
    const std::size_t known = std::min(count_, taken_ns_.size());
    return known == 0 ? 0
                      : *std::min_element(taken_ns_.begin(), taken_ns_.begin() + static_cast<std::ptrdiff_t>(known));
  }

 private:
  static constexpr std::int64_t kPauseNs = 500'000'000, kLostNs = 3'000'000'000;
  std::int64_t asked_ = 0;
  bool answered_ = false;
  std::array<std::int64_t, 8> taken_ns_{};
  std::size_t count_ = 0;
};

}  // namespace baton::link::stream
