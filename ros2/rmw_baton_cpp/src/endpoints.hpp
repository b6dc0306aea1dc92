// SPDX-License-Identifier: Apache-2.0
// Endpoints of the underlying RMW in Baton's terms: which of them Baton may serve, their quality of service, their
// names.
// Thread rules: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "baton/transport/qos.hpp"
#include "baton/transport/transport.hpp"
#include "qos_profile.hpp"
#include "rmw/types.h"
#include "underlying.hpp"

namespace baton::rmw {

/// False for names outside ROS's conventions, which only the underlying RMW carries.
bool may_be_served(const rmw_qos_profile_t& qos) noexcept;
/// Also false for parameter events: nearly every node of ROS 2 publishes them and subscribes to them, so n nodes would
/// have n * n connections. Subscriptions are served: they get the events of Baton's own nodes.
bool may_publish(const char* topic, const rmw_qos_profile_t& qos) noexcept;

/// For type_support_of(): logs that the underlying RMW alone carries the type. `end` ("publisher") and `topic` are for the log.
std::function<void(const Error&)> warn_of_type(const char* end, const char* topic);

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
