// SPDX-License-Identifier: Apache-2.0
// Gone, or only disconnected: what a publisher makes of a subscription that Baton served and serves no more, while the underlying RMW still
// knows it. A subscription that is gone needs no message. One whose process was disconnected from this one (it was stopped for too long, ran out
// of descriptors, misbehaved) is alive and gets its messages below, until Baton serves it again.
// Thread rules: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "baton/transport/transport.hpp"

namespace baton::rmw {

/// Whose a subscription was when Baton served it.
struct Origin {
  std::int32_t pid = 0;  ///< 0: not visible in this pid namespace
  std::uint64_t connection = 0;
  bool known = false;  ///< false: it was matched, and not in Baton's graph
};

/// Of the subscription `gid` as Baton's graph has it now.
Origin origin_of(const std::vector<transport::EndpointInfo>& graph, const transport::Gid& gid);

/// True if there is a proof that the subscription has ended: its process withdrew it over a connection that is still up (other endpoints of that
/// connection are in the graph), or the process is dead by `process_ended`. Everything else is no proof: a process that has been disconnected has
/// no endpoints in the graph, and one that comes back announces them one by one over a new connection.
bool has_left(const std::vector<transport::EndpointInfo>& graph, const transport::Gid& gid, const Origin& origin,
              bool (*process_ended)(std::int32_t pid));

}  // namespace baton::rmw
