// SPDX-License-Identifier: Apache-2.0
// The underlying RMW: BATON_RMW names it, default rmw_fastrtps_cpp. Loaded at the first use and never unloaded.
//
// Thread rules: underlying() may be called from any thread. Immutable once loaded.
// Invariants: (1) loaded lazily, not by a constructor: a preloaded library runs its constructors before the search path
// of the wheels is set; (2) loaded with RTLD_DEEPBIND, so that its calls to its own functions stay in it, if the linker
// allows that. If not (it was linked into the program before, or AddressSanitizer refuses the flag), those calls reach
// this library with the underlying RMW's handles, and inner() in handles.hpp passes them through.
#pragma once

#include "rmw/dynamic_message_type_support.h"
#include "rmw/event.h"
#include "rmw/features.h"
#include "rmw/get_network_flow_endpoints.h"
#include "rmw/get_node_info_and_types.h"
#include "rmw/get_service_names_and_types.h"
#include "rmw/get_topic_endpoint_info.h"
#include "rmw/get_topic_names_and_types.h"
#include "rmw/init.h"
#include "rmw/qos_profiles.h"
#include "rmw/rmw.h"

namespace baton::rmw {

/// The underlying RMW's functions by name.
struct Underlying {
  const char* identifier = nullptr;
#define BATON_RMW_FUNCTION(name) decltype(&::name) name = nullptr;
#include "underlying_functions.def"
#undef BATON_RMW_FUNCTION
};

/// Null if it cannot be loaded: every call then sets the rcutils error with the reason.
const Underlying* underlying() noexcept;

}  // namespace baton::rmw
