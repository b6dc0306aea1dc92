// SPDX-License-Identifier: Apache-2.0
// Which Baton domain the processes of one ROS master share.
#pragma once

#include <string>
#include <string_view>

namespace baton::ros1 {

/// The domain of the master at `uri`: 0 for the usual one (port 11311 of this machine, by any of its loopback names or
/// `own_host`), else one of 100 to 9999 by the URI's host and port. BATON_DOMAIN, if set, comes before it: the caller's
/// part.
int domain_of_master(std::string_view uri, std::string_view own_host);

}  // namespace baton::ros1
