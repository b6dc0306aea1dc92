// SPDX-License-Identifier: Apache-2.0
#include "departure.hpp"

#include <algorithm>

namespace baton::rmw {

Origin origin_of(const std::vector<transport::EndpointInfo>& graph, const transport::Gid& gid) {
  for (const transport::EndpointInfo& endpoint : graph)
    if (endpoint.gid == gid) return {endpoint.local_pid, endpoint.connection, true};
  return {};
}

bool has_left(const std::vector<transport::EndpointInfo>& graph, const transport::Gid& gid, const Origin& origin,
              bool (*process_ended)(std::int32_t pid)) {
  if (!origin.known) return false;
  bool connected = false;
  for (const transport::EndpointInfo& endpoint : graph) {
    if (endpoint.gid == gid) return false;  // announced: it may be served again
    connected = connected || endpoint.connection == origin.connection;
  }
  return connected || process_ended(origin.pid);
}

}  // namespace baton::rmw
