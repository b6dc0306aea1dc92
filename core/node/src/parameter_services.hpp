// SPDX-License-Identifier: Apache-2.0
// The parameters of a node for other processes: ROS 2's six services and the topic /parameter_events.
#pragma once

#include <memory>

#include "baton/node/node.hpp"
#include "parameter_store.hpp"

namespace baton::detail {

/// Serves `store` under the node's name. The services end with the returned object.
std::shared_ptr<void> serve_parameters(Node& node, const std::shared_ptr<ParameterStore>& store);

}  // namespace baton::detail
