// SPDX-License-Identifier: Apache-2.0
#include "baton/transport/connection_budget.hpp"

#include "writer.hpp"

namespace baton::transport {

ConnectionCost connection_cost(const QoS& requested) noexcept {
  // The writer's end costs what the reader's does, and its private copies.
  return {Writer::Impl::connection_bytes(requested), kAreasOfConnection, 0};
}

ConnectionBudget connection_budget() noexcept {
  const BudgetLimits limits;
  return {{limits.of_process(Keep::kConnections), limits.of_process(Keep::kAreas), limits.of_process(Keep::kSegments)},
          {limits.of_user(Keep::kConnections), limits.of_user(Keep::kAreas), limits.of_user(Keep::kSegments)}};
}

}  // namespace baton::transport
