// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "peer.hpp"

namespace baton::perf {

/// RouDi for this run, with memory for chunks of the plan's size. There can be one RouDi on a machine, so runs wait for
/// each other. Call it before any other function of iceoryx. Throws std::runtime_error, for example when another user's
/// RouDi runs.
void join_roudi(const RunPlan& plan);

}  // namespace baton::perf
