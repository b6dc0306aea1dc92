// SPDX-License-Identifier: Apache-2.0
// What connections cost the processes at their ends, and how much one process may take of another in this way
// (docs/format/connection.md, section 5). For programs that connect on behalf of others, who are to share it.
// Thread rules: both functions are thread-safe.
#pragma once

#include <cstddef>

#include "baton/transport/qos.hpp"

namespace baton::transport {

struct ConnectionCost {
  std::size_t bytes = 0;
  std::size_t areas = 0;        ///< memory areas (vm.max_map_count)
  std::size_t descriptors = 0;  ///< (RLIMIT_NOFILE)
};

/// Of a connection to a subscription with this quality of service, for either process: the greater cost of both. It takes no descriptor: the
/// publisher's data segment takes one, in each of both processes, for all connections between them.
ConnectionCost connection_cost(const QoS& requested) noexcept;

struct ConnectionBudget {
  ConnectionCost of_process;  ///< all connections with one other process
  ConnectionCost of_user;     ///< with all other processes of one user
};

/// What this process grants the others now. Those of the same machine grant it the same.
ConnectionBudget connection_budget() noexcept;

}  // namespace baton::transport
