// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "peer.hpp"

namespace baton::perf {

/// performance_test's way: the plan's own publishers and subscribers as threads of this process (either number may be 0), and one
/// line of JSON on stdout per second. With one number 0 the time begins when the other process is there: with the first message that is
/// heard. Ends after plan.max_runtime or at SIGINT or SIGTERM. Throws what an end throws.
void run_live(const Plan& plan);

}  // namespace baton::perf
