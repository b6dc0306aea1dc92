// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "peer.hpp"

namespace baton::perf {

/// Works as performance_test: the plan's own publishers and subscribers are threads of this process (either number may
/// be 0), with one line of JSON on stdout per second. If one number is 0, the time begins when the other process is
/// there: with the first received message. Ends after plan.max_runtime or at SIGINT or SIGTERM. Throws the exceptions
/// of an end.
void run_live(const RunPlan& plan);

}  // namespace baton::perf
