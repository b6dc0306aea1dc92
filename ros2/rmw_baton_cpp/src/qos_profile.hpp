// SPDX-License-Identifier: Apache-2.0
// Quality of service, names and ids, between rmw.h and Baton.
// Thread rules: pure functions.
#pragma once

#include <cstring>
#include <optional>
#include <string>

#include "baton/os/hot_path.hpp"
#include "baton/transport/gid.hpp"
#include "baton/transport/qos.hpp"
#include "rmw/types.h"

namespace baton::rmw {

inline constexpr const char* kIdentifier = "rmw_baton_cpp";

/// Where rmw.h has more room than a gid of Baton needs, the rest is 0: gids are compared as a whole.
BATON_HOT inline rmw_gid_t gid_of(const transport::Gid& gid) noexcept {
  rmw_gid_t made{};
  static_assert(sizeof made.data >= sizeof(transport::Gid));
  made.implementation_identifier = kIdentifier;
  std::memcpy(made.data, gid.data(), gid.size());
  return made;
}

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
