// SPDX-License-Identifier: Apache-2.0
// One direction of an emulated line: packets go in, and each comes out after the delay, unless it is lost. In place of
// the kernel's netem where there is none (main.cpp).
// Thread rules: one thread. No clock: the caller says the time, which never goes back.
// Invariants: (1) packets come out in the order in which they went in, but for those that overtake: such a packet comes
// out at once, before all that are inside; (2) no other comes out before its delay is over; (3) at most `packets` are
// inside, and a further one is refused; (4) the same packets with the same seed have the same fate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace baton::perf {

struct LineSettings {
  std::int64_t delay_ns = 0;
  double loss = 0;             ///< probability of each packet's loss, 0 to 1
  std::size_t packets = 1000;  ///< that fit, at least 1
  std::uint64_t seed = 1;
  double overtaking = 0;  ///< probability that a packet that is not lost overtakes those inside, 0 to 1
};

struct LineCounts {
  std::uint64_t entered = 0;  ///< all packets; each is lost, refused, still inside, or passed
  std::uint64_t lost = 0, refused = 0, passed = 0;
  std::uint64_t overtook = 0;  ///< packets that overtook others
  std::uint64_t passed_bytes = 0;
  std::int64_t least_held_ns = INT64_MAX, most_held_ns = 0;  ///< least and longest delay of packets that passed
};

class Line {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;  ///< result of next_ns() without a packet

  explicit Line(const LineSettings& settings);

  /// Copies the packet, or loses or refuses it.
  void push(const std::byte* data, std::size_t bytes, std::int64_t now_ns);

  struct Packet {
    std::vector<std::byte> data;
    std::int64_t entered_ns, due_ns;
  };
  /// The packet that comes out next if it is due, else null. It is valid until pop().
  const Packet* front(std::int64_t now_ns) const;
  /// Removes the packet that front() returned, which has passed at that time.
  void pop(std::int64_t now_ns);
  /// When the next packet comes out; kNever if none is inside.
  std::int64_t next_ns() const;

  const LineCounts& counts() const noexcept { return counts_; }

 private:
  const LineSettings settings_;
  std::mt19937_64 random_;
  std::bernoulli_distribution loses_, overtakes_;
  std::vector<Packet> ring_;  // grows up to the limit; the packets' memory is used again
  std::size_t first_ = 0, inside_ = 0;
  LineCounts counts_;
};

}  // namespace baton::perf
