// SPDX-License-Identifier: Apache-2.0
// From what an application asks for to the quality of service of an endpoint.
// Thread rules: pure functions, but for the graph that actual_qos() reads.
#pragma once

#include "baton/transport/transport.hpp"
#include "rmw/types.h"

namespace baton::rmw {

/// Fills in the system's defaults, and the best that the endpoints of `topic` allow now for policies of "best available". `publisher`: of the
/// new endpoint. Error: invalid_argument for a policy that is not known.
Result<QoS> actual_qos(rmw_qos_profile_t asked, const transport::Participant& participant, const char* topic,
                       bool publisher);
/// The same for both topics of a service or client, whose best available is the default of services.
Result<QoS> actual_service_qos(rmw_qos_profile_t asked);

}  // namespace baton::rmw
