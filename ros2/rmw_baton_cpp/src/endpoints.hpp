// SPDX-License-Identifier: Apache-2.0
// Endpoints of the underlying RMW in Baton's terms: which of them Baton may serve, their quality of service, their
// names.
// Thread rules: pure functions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "baton/transport/qos.hpp"
#include "baton/transport/transport.hpp"
#include "rmw/types.h"
#include "underlying.hpp"

namespace baton::rmw {

/// False for names outside ROS's conventions, which only the underlying RMW carries.
bool may_be_served(const rmw_qos_profile_t& qos) noexcept;
/// Also false for parameter events: nearly every node of ROS 2 publishes them and subscribes to them, so n nodes would
/// have n * n connections. Subscriptions are served: they get the events of Baton's own nodes.
bool may_publish(const char* topic, const rmw_qos_profile_t& qos) noexcept;

/// The same quality of service in Baton's terms, of an endpoint's actual profile. Empty if a policy is not known.
std::optional<QoS> qos_of(const rmw_qos_profile_t& profile) noexcept;

/// As in ROS 2's graph: "/space/name".
std::string full_name(const rmw_node_t& node);

/// For a policy, zero means unspecified, which is infinite. For a timeout, zero is zero.
std::chrono::nanoseconds duration_of(const rmw_time_t& time) noexcept;

struct KnownSubscription {
  transport::Gid gid;
  rmw_qos_profile_t qos;
  std::string node;  ///< its full name
};
/// Every subscription of the topic that the underlying RMW knows. Empty after an error, whose text is dropped.
std::vector<KnownSubscription> known_subscriptions(const rmw_node_t* inner_node, const char* topic);
/// The gids of every publisher of the topic that the underlying RMW knows. Empty after an error, whose text is dropped.
std::optional<std::vector<transport::Gid>> known_publishers(const rmw_node_t* inner_node, const char* topic);

}  // namespace baton::rmw
