// SPDX-License-Identifier: Apache-2.0
// The number that a reader expects next of each writer whose connection has ended. A writer that was only disconnected comes back and replays
// messages: each is delivered once, and what is missing is counted once. A writer with the same id in another process is another writer.
// Pure: it knows no connection, no clock and no lock. Thread rules: externally synchronised.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "baton/transport/gid.hpp"

namespace baton::transport {

class ReadPositions {
 public:
  static constexpr std::size_t kMostInterrupted = 256;

  struct Position {
    Gid writer{};
    std::uint64_t process = 0;
    std::uint64_t next_sequence = 0;
    std::uint64_t counted = 0;  ///< of the messages from there on: as lost
  };
  struct Gap {
    std::uint64_t missing;  ///< messages between the last one of the earlier connection and the first one of this
    std::uint64_t counted;  ///< of them: they have been counted as lost
  };

  /// ended() needs no memory while there are no more connections than these. Throws std::bad_alloc.
  void make_room(std::size_t connections) {
    const std::size_t most = std::min(kMostInterrupted, positions_.size() + connections);
    if (most > positions_.capacity()) positions_.reserve(std::min(kMostInterrupted, 2 * most));
  }
  /// The connection ends, and its next message would be number `next_sequence`. If too many writers are known, the one that is known
  /// longest is forgotten.
  void ended(const Gid& writer, std::uint64_t process, std::uint64_t next_sequence) noexcept {
    if (Position* const before = find(writer, process)) {
      before->next_sequence = std::max(before->next_sequence, next_sequence);
      return;
    }
    if (positions_.size() == kMostInterrupted) positions_.erase(positions_.begin());
    positions_.push_back({writer, process, next_sequence, 0});
  }
  /// A connection begins, with message `first_sequence`. Nothing: none is known to have ended.
  std::optional<Gap> begins(const Gid& writer, std::uint64_t process, std::uint64_t first_sequence) noexcept {
    Position* const before = find(writer, process);
    if (before == nullptr) return std::nullopt;
    const std::uint64_t missing = first_sequence - std::min(first_sequence, before->next_sequence);
    return Gap{missing, std::exchange(before->counted, 0)};
  }
  /// True for a message that an earlier connection has delivered; else it counts as delivered. False if that connection was forgotten.
  bool seen(const Gid& writer, std::uint64_t process, std::uint64_t sequence) noexcept {
    Position* const before = find(writer, process);
    if (before == nullptr) return false;
    if (sequence < before->next_sequence) return true;
    before->next_sequence = sequence + 1;
    return false;
  }
  /// The next message of this writer, whatever its process, is lost: it was counted.
  void count_next(const Gid& writer) noexcept {
    for (Position& before : positions_)
      if (before.writer == writer) before.counted = 1;
  }
  /// The writer has ended: a later one with its id counts from 1.
  void forget(const Gid& writer, std::uint64_t process) noexcept {
    if (const Position* const before = find(writer, process))
      positions_.erase(positions_.begin() + (before - positions_.data()));
  }
  const std::vector<Position>& all() const noexcept { return positions_; }

 private:
  Position* find(const Gid& writer, std::uint64_t process) noexcept {
    const auto found = std::find_if(positions_.begin(), positions_.end(), [&](const Position& each) {
      return each.writer == writer && each.process == process;
    });
    return found == positions_.end() ? nullptr : &*found;
  }

  std::vector<Position> positions_;  // the one that is known longest first
};

}  // namespace baton::transport
