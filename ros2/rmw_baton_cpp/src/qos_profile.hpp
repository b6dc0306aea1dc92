// SPDX-License-Identifier: Apache-2.0
// Quality of service and names, between rmw.h and Baton.
// Thread rules: pure functions.
#pragma once

#include <optional>
#include <string>

#include "baton/transport/qos.hpp"
#include "rmw/types.h"

namespace baton::rmw {

/// The same quality of service in Baton's terms, of an endpoint's actual profile. Empty if a policy is not known.
std::optional<QoS> qos_of(const rmw_qos_profile_t& profile) noexcept;
/// The way back.
rmw_qos_profile_t profile_of(const QoS& qos) noexcept;

/// As in ROS 2's graph: "/space/name".
std::string full_name(const std::string& space, const char* name);
std::string full_name(const rmw_node_t& node);

/// For a policy, zero means unspecified, which is infinite. For a timeout, zero is zero.
std::chrono::nanoseconds duration_of(const rmw_time_t& time) noexcept;

}  // namespace baton::rmw
