// SPDX-License-Identifier: Apache-2.0
// The DDS writers that `baton link --ros2` has made for publishers of Baton's own programs. A subscription of this RMW gets the
// messages of such a publisher through Baton, so those of its DDS writer are duplicates (docs/format/ros2-two-paths.md, section 6).
// Any process can announce such a writer. Only the announcements of the process that has the link's role are believed:
// link.state names it, while link.lock is held.
//
// Thread rules: all functions from any thread.
#pragma once

#include <mutex>
#include <optional>
#include <set>

#include "baton/transport/transport.hpp"

namespace baton::rmw {

/// A publisher of this topic announces a DDS writer, whose gid it has; its node is the gid of Baton's publisher, in hexadecimal.
inline constexpr const char* kLinkWriterTopic = "/_baton/ros2_writer";

class LinkWriters {
 public:
  /// Whether a publisher of the underlying RMW is such a writer, and Baton's publisher is in the domain.
  bool repeats(transport::Participant& participant, const transport::Gid& publisher);

 private:
  /// The link may have announced before it wrote link.state, which it does every second.
  static constexpr std::int64_t kLookAgainNs = 1'000'000'000;

  void look(transport::Participant& participant, std::uint64_t version);  // with mutex_

  std::mutex mutex_;
  std::set<transport::Gid> writers_;
  bool all_believed_ = true;              // at the last look
  std::int64_t look_again_ns_ = 0;        // CLOCK_MONOTONIC, unless all_believed_
  std::optional<std::uint64_t> version_;  // of the graph then
};

}  // namespace baton::rmw
