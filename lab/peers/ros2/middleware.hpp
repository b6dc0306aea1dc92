// SPDX-License-Identifier: Apache-2.0
// Which middleware ROS 2's libraries use in a process, and how to set it; for the peers in C++ and in Python.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "peer.hpp"

namespace baton::perf {

/// The settings that a variant of these peers names:
/// default     rmw_fastrtps_cpp as installed
/// tuned       rmw_fastrtps_cpp with a profile: shared memory only, a segment for all unread messages, nothing
/// fragmented large_data  rmw_fastrtps_cpp with FASTDDS_BUILTIN_TRANSPORTS=LARGE_DATA
/// baton       rmw_baton_cpp
/// heap        as baton, with libbaton_heap.so
struct Middleware {
  std::string setting;
  std::vector<std::string> environment{};  ///< NAME=VALUE, in addition to those of the setting
};

/// Sets the environment that the process's middleware reads when it is loaded. The loader's part of it (preloaded
/// libraries, search path) needs a new program: the process executes itself once more, and then this returns. Call it
/// before the first end is made; only the first call of a process counts. Throws std::system_error. Any thread.
void use_middleware(const RunPlan& plan, const Middleware& middleware);

/// Runs `end` when the process ends, after its results are written; the last `end` first. Fast DDS 3.2 sometimes spins
/// for ever when a participant ends at the same time as another (docs/guides/ros2.md). After two seconds of CPU the
/// process then ends, as if it had not spun.
void at_the_end(std::function<void()> end);

/// A domain of the run's own, in 1 to 99.
unsigned ros_domain(const RunPlan& plan);
/// A namespace of the run's own: "/run_...".
std::string ros_namespace(const RunPlan& plan);

}  // namespace baton::perf
