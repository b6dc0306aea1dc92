// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "peer.hpp"

namespace baton::perf {

/// performance_test's way: the plan's publishers and subscribers as threads of this process (either number may be 0), and one
/// line of JSON on stdout per second. Ends after plan.max_runtime or at SIGINT or SIGTERM. Throws what an end throws.
void run_live(const Plan& plan);

}  // namespace baton::perf
