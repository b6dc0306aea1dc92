// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: the name and the abilities of this RMW.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

const char* rmw_get_implementation_identifier() { return kIdentifier; }

const char* rmw_get_serialization_format() { return forward(&Underlying::rmw_get_serialization_format); }

bool rmw_feature_supported(rmw_feature_t feature) { return forward(&Underlying::rmw_feature_supported, feature); }

rmw_ret_t rmw_set_log_severity(rmw_log_severity_t severity) {
  return forward(&Underlying::rmw_set_log_severity, severity);
}

bool rmw_event_type_is_supported(rmw_event_type_t rmw_event_type) {
  return forward(&Underlying::rmw_event_type_is_supported, rmw_event_type);
}

}  // extern "C"
