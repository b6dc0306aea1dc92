// SPDX-License-Identifier: Apache-2.0
// The pauses between the attempts to connect a pair that lacks descriptors, memory, slots or room in a budget: they double up to the longest, and
// begin anew when a connection has lasted.
// Pure: it knows no clock, no socket and no lock. Thread rules: externally synchronised.
#pragma once

#include <algorithm>
#include <chrono>
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
  };
  Next failed(const Gid& writer, const Gid& reader) {
    const auto [entry, first] = failures_.try_emplace({writer, reader}, 0U);
    return {std::min<std::chrono::milliseconds>(kFirstPause * (1 << std::min(entry->second++, 10U)), kLongestPause),
            first};
  }
  /// How many attempts of the pair have failed.
  unsigned failures(const Gid& writer, const Gid& reader) const noexcept {
    const auto found = failures_.find({writer, reader});
    return found == failures_.end() ? 0 : found->second;
  }
  /// The connection of the pair has lasted since `failures` attempts had failed. No effect if another one has failed since.
  void lasted(const Gid& writer, const Gid& reader, unsigned failures) noexcept {
    if (this->failures(writer, reader) == failures) forget(writer, reader);
  }
  void forget(const Gid& writer, const Gid& reader) noexcept { failures_.erase({writer, reader}); }
  void forget(const Gid& writer) noexcept {
    for (auto at = failures_.lower_bound({writer, Gid{}}); at != failures_.end() && at->first.first == writer;)
      at = failures_.erase(at);
  }

 private:
  std::map<std::pair<Gid, Gid>, unsigned> failures_;  // by writer and reader
};

}  // namespace baton::transport
