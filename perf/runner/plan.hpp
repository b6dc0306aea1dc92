// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "peer.hpp"

namespace baton::perf {

/// The plan of a file that the command wrote. Throws std::runtime_error naming what is wrong.
Plan read_plan(const std::string& path);
/// What `--describe` prints.
nlohmann::json describe(const PeerInfo& info);

}  // namespace baton::perf
