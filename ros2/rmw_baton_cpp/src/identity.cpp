// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: the name and the abilities of this RMW.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "handles.hpp"
#include "peer_faults.hpp"
#include "rcutils/logging.h"
#include "rmw/features.h"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

const char* rmw_get_implementation_identifier() { return kIdentifier; }

const char* rmw_get_serialization_format() { return "cdr"; }

bool rmw_feature_supported(rmw_feature_t feature) {
  return feature == RMW_FEATURE_MESSAGE_INFO_PUBLICATION_SEQUENCE_NUMBER;
}

rmw_ret_t rmw_set_log_severity(rmw_log_severity_t severity) {
  static_assert(RMW_LOG_SEVERITY_DEBUG == int{RCUTILS_LOG_SEVERITY_DEBUG} &&
                RMW_LOG_SEVERITY_FATAL == int{RCUTILS_LOG_SEVERITY_FATAL});
  return rcutils_logging_set_logger_level(kLogger, severity) == RCUTILS_RET_OK ? RMW_RET_OK : RMW_RET_ERROR;
}

rmw_ret_t rmw_compare_gids_equal(const rmw_gid_t* gid1, const rmw_gid_t* gid2, bool* result) {
  if (const rmw_ret_t bad = checked(gid1, gid2, result); bad != RMW_RET_OK) return bad;
  if (!is_ours(gid1->implementation_identifier) || !is_ours(gid2->implementation_identifier)) return refuse_foreign();
  *result = std::memcmp(gid1->data, gid2->data, sizeof gid1->data) == 0;
  return RMW_RET_OK;
}

}  // extern "C"
