// SPDX-License-Identifier: Apache-2.0
// The pauses between the attempts to connect a pair that lacks descriptors, memory, slots or room in a budget: they double up to the longest, and
// begin anew when a connection has lasted.
// Pure: it knows no clock, no socket and no lock. Thread rules: externally synchronised.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include "baton/transport/transport.hpp"

namespace baton::transport {

class AttachAttempts {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{100};
  static constexpr std::chrono::milliseconds kLongestPause{5000};

  struct Next {
    std::chrono::milliseconds pause;  ///< before the next attempt
    bool first;                       ///< no attempt of the pair had failed
    std::uint64_t number;             ///< of the next attempt
  };
  /// REQUIRES: !is_planned().
  Next failed(const Gid& writer, const Gid& reader) {
    const auto [entry, first] = pairs_.try_emplace({writer, reader});
    const unsigned doubled = std::min(entry->second.failures++, 10U);
    return {std::min<std::chrono::milliseconds>(kFirstPause * (1 << doubled), kLongestPause), first, ++last_number_};
  }
  /// The attempt with this number is planned. A pair has one planned attempt at a time: is_due() says which.
  void planned(const Gid& writer, const Gid& reader, std::uint64_t number) noexcept {
    if (const auto found = pairs_.find({writer, reader}); found != pairs_.end()) found->second.planned = number;
  }
  bool is_planned(const Gid& writer, const Gid& reader) const noexcept {
    const auto found = pairs_.find({writer, reader});
    return found != pairs_.end() && found->second.planned != 0;
  }
  /// The pause before this attempt is over. False: the pair was forgotten meanwhile, and the attempt must not be made.
  bool is_due(const Gid& writer, const Gid& reader, std::uint64_t number) noexcept {
    const auto found = pairs_.find({writer, reader});
    if (found == pairs_.end() || found->second.planned != number) return false;
    found->second.planned = 0;
    return true;
  }
  /// How many attempts of the pair have failed.
  unsigned failures(const Gid& writer, const Gid& reader) const noexcept {
    const auto found = pairs_.find({writer, reader});
    return found == pairs_.end() ? 0 : found->second.failures;
  }
  /// The connection of the pair has lasted since `failures` attempts had failed. No effect if another one has failed since.
  void lasted(const Gid& writer, const Gid& reader, unsigned failures) noexcept {
    if (this->failures(writer, reader) == failures) forget(writer, reader);
  }
  void forget(const Gid& writer, const Gid& reader) noexcept { pairs_.erase({writer, reader}); }
  void forget(const Gid& writer) noexcept {
    for (auto at = pairs_.lower_bound({writer, Gid{}}); at != pairs_.end() && at->first.first == writer;)
      at = pairs_.erase(at);
  }

 private:
  struct Pair {
    unsigned failures = 0;
    std::uint64_t planned = 0;  // the number of the attempt; 0: none
  };
  std::map<std::pair<Gid, Gid>, Pair> pairs_;  // by writer and reader
  std::uint64_t last_number_ = 0;
};

}  // namespace baton::transport
