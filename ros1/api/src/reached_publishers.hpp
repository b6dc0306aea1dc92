// SPDX-License-Identifier: Apache-2.0
// The publishers from which a message came over Baton. What their processes send over roscpp's link is older, or a double.
//
// Thread rules: externally synchronised.
// Invariant: it has no publishers but those of the graph, and the last one that was noted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "peer.hpp"

namespace baton::ros1::detail {

class ReachedPublishers {
 public:
  /// A message of `publisher` came. `endpoints()`: those of the topic, in the graph of this version; asked only if something is new.
  template <class Endpoints>
  void note(const transport::Gid& publisher, std::uint64_t graph_version, const Endpoints& endpoints) {
    if (graph_version == seen_ && reached_.count(publisher) != 0) return;
    seen_ = graph_version;
    std::map<transport::Gid, Process> there;
    for (const transport::EndpointInfo& end : endpoints()) {
      if (end.is_writer && (end.gid == publisher || reached_.count(end.gid) != 0)) there[end.gid] = process_of(end);
    }
    there.emplace(publisher, Process());
    reached_ = std::move(there);
  }
  /// Some of them are in the peer's process.
  bool any_in(const RoscppPeer& peer) const {
    return std::any_of(reached_.begin(), reached_.end(), [&](const auto& each) { return peer.is(each.second); });
  }
  std::size_t size() const noexcept { return reached_.size(); }

 private:
  std::uint64_t seen_ = UINT64_MAX;
  std::map<transport::Gid, Process> reached_;
};

}  // namespace baton::ros1::detail
