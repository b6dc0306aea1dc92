// SPDX-License-Identifier: Apache-2.0
// Two processes that have met keep what they know of each other while no socket joins them: then their link is parked. The rules without
// sockets, clocks or threads; the hub drives them, and parking_test.cpp explores their interleavings. Normative: docs/format/handshake.md,
// section 9.
//
//   Acquaintance   what one of the two processes knows of their link
//   neighbours()   the processes whose links are never parked, so that each death is seen
//
// Thread rules: values; one thread at a time.
//
// Invariants
// 1. A frame is sent on a link only in Phase::kOpen. What is to be sent meanwhile waits, and is sent when the phase is kOpen again.
// 2. A process parks only when the other has asked or agreed, and when all frames of both have arrived. So no frame is lost, whichever of them
//    asks: one, both at once, or one while the other sends.
// 3. A link goes on where it was only if both processes count the same frames. Otherwise both begin anew, as two that never met.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hub.hpp"

namespace baton::transport {

/// Frames on all links of two processes since they met, HELLO as the first. HELLO carries it; zero for a process that was not met.
struct FrameCounts {
  std::uint64_t sent = 0, received = 0;

  bool operator==(const FrameCounts& other) const noexcept { return sent == other.sent && received == other.received; }
};

class Acquaintance {
 public:
  enum class Phase : std::uint8_t {
    kOpen,   ///< a link, on which frames travel
    kAsked,  ///< a link; this process has sent PARK and waits for KEEP or BYE 8
    kParked  ///< no link
  };

  Phase phase() const noexcept { return phase_; }
  const FrameCounts& counts() const noexcept { return counts_; }

  void frame_sent() noexcept { ++counts_.sent; }
  void frame_received() noexcept { ++counts_.received; }

  /// Sends PARK with counts().received. REQUIRES: kOpen, and nothing waits to be sent.
  void ask() noexcept { phase_ = Phase::kAsked; }
  /// PARK came: true: answer BYE 8, and the link is parked; false: answer KEEP. `received`: what PARK says. `idle`: nothing waits to be sent
  /// and this process needs no link.
  bool agrees(std::uint64_t received, bool idle) noexcept {
    if (!idle || received != counts_.sent) return false;
    phase_ = Phase::kParked;
    return true;
  }
  /// KEEP came. False: this process did not ask.
  bool kept() noexcept {
    if (phase_ != Phase::kAsked) return false;
    phase_ = Phase::kOpen;
    return true;
  }
  /// BYE 8 came. False: this process did not ask.
  bool parked() noexcept {
    if (phase_ != Phase::kAsked) return false;
    phase_ = Phase::kParked;
    return true;
  }
  /// Whether the link goes on where it was; `theirs` is in the other process's HELLO.
  bool continues(const FrameCounts& theirs) const noexcept {
    return phase_ == Phase::kParked && theirs == FrameCounts{counts_.received, counts_.sent};
  }
  /// Both HELLOs have passed on a new link.
  void reopened() noexcept { phase_ = Phase::kOpen; }

 private:
  Phase phase_ = Phase::kOpen;
  FrameCounts counts_{1, 1};
};

/// Neighbours on each side.
inline constexpr std::size_t kNeighbours = 2;

/// Of `others`, ascending and without `self`: the `reach` after and the `reach` before `self` in the ring that all form.
inline std::vector<ProcessId> neighbours(const ProcessId& self, const std::vector<ProcessId>& others,
                                         std::size_t reach = kNeighbours) {
  if (others.size() <= 2 * reach) return others;
  std::vector<ProcessId> found;
  const auto after = static_cast<std::size_t>(std::lower_bound(others.begin(), others.end(), self) - others.begin());
  for (std::size_t i = 0; i < reach; ++i) {
    found.push_back(others[(after + i) % others.size()]);
    found.push_back(others[(after + others.size() - 1 - i) % others.size()]);
  }
  return found;
}

}  // namespace baton::transport
