// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "peer.hpp"

namespace baton::perf {

/// The plan in a file that the command wrote. Throws std::runtime_error naming the fault.
RunPlan read_plan(const std::string& path);
/// The output of `--describe`.
nlohmann::json describe(const PeerInfo& info);

}  // namespace baton::perf
