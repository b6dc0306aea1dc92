// SPDX-License-Identifier: Apache-2.0
// What rcl reads from the environment, for a program without rcl: how far discovery reaches, and which hosts it asks (a flag in Humble, a range
// and hosts in later distributions). And the count of servers, which Humble's rmw.h does not have.
// Thread rules: any thread, while nobody changes the environment.
#pragma once

#include <string>

#include "rmw/init_options.h"
#include "rmw_library.hpp"

namespace baton::bridge {

/// A variable of the environment; empty if it is not set.
std::string variable(const char* name);

/// Throws BridgeError for a value that rcl does not know, and if there is no memory.
void set_discovery(rmw_init_options_t* options);

/// How many servers of this service `node` knows. 0 if its RMW has no such function.
std::size_t count_servers(const RmwLibrary& library, const rmw_node_t* node, const char* service);

}  // namespace baton::bridge
