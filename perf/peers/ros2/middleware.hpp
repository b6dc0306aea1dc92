// SPDX-License-Identifier: Apache-2.0
// What decides which middleware ROS 2's libraries use in a process, and how it is set; for the peers in C++ and in Python.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "peer.hpp"

namespace baton::perf {

/// The settings that a variant of these peers names:
/// default     rmw_fastrtps_cpp as installed
/// tuned       rmw_fastrtps_cpp with a profile: shared memory only, a segment for all unread messages, nothing fragmented
/// large_data  rmw_fastrtps_cpp with FASTDDS_BUILTIN_TRANSPORTS=LARGE_DATA
/// baton       rmw_baton_cpp above rmw_fastrtps_cpp as installed
/// heap        as baton, with libbaton_heap.so
struct Middleware {
  std::string setting;
  std::vector<std::string> environment{};  ///< NAME=VALUE, beside what the setting needs
};

/// Gives the process what its middleware reads when it is loaded. The loader's part of it (preloaded libraries, search path) needs a
/// new program: the process executes itself once more, and then this returns. To be called before the first end is made; the first
/// call of a process counts. Throws std::system_error. Any thread.
void use_middleware(const Plan& plan, const Middleware& middleware);

/// Runs `end` when the process ends, after its results are written; the last one first. Fast DDS 3.2 now and then spins for ever where a
/// participant ends as another one does (docs/results/ros2.md): two seconds of CPU later the process ends all the same, as if it had not.
void at_the_end(std::function<void()> end);

/// A domain of the run's own, in 1 to 99.
unsigned ros_domain(const Plan& plan);
/// A namespace of the run's own: "/run_...".
std::string ros_namespace(const Plan& plan);

}  // namespace baton::perf
