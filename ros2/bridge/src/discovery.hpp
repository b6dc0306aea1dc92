// SPDX-License-Identifier: Apache-2.0
// How far the other RMW's discovery reaches, and which hosts it asks, as rcl reads it from the environment: a flag in Humble, a range and
// hosts in later distributions. And the count of servers, which Humble's rmw.h does not have.
// Thread rules: immutable.
#pragma once

#include <string>
#include <vector>

#include "rmw/init_options.h"
#include "rmw_library.hpp"

namespace baton::bridge {

/// A variable of the environment; empty if it is not set.
std::string variable(const char* name);

struct Discovery {
  enum class Range { kSubnet, kSystemDefault, kLocalhost, kOff };

  /// Throws BridgeError for a value that rcl does not know.
  static Discovery of_environment();
  /// Throws BridgeError if there is no memory.
  void apply(rmw_init_options_t* options) const;

  Range range = Range::kSubnet;
  std::vector<std::string> static_peers;
};

/// How many servers of this service `node` knows. 0 if its RMW has no such function.
std::size_t count_servers(const RmwLibrary& library, const rmw_node_t* node, const char* service);

}  // namespace baton::bridge
