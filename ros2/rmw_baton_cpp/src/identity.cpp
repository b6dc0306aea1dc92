// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: the name and the abilities of this RMW. And the checks of arguments (handles.hpp).
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "handles.hpp"
#include "peer_faults.hpp"
#include "rcutils/logging.h"
#include "rmw/features.h"

namespace baton::rmw {

rmw_ret_t refuse_null() noexcept { return invalid("an argument is null"); }

rmw_ret_t refuse_foreign() noexcept {
  RMW_SET_ERROR_MSG("a handle is of another RMW, or is not initialized");
  return RMW_RET_INCORRECT_RMW_IMPLEMENTATION;
}

rmw_ret_t failed(const Error& error) noexcept {
  RMW_SET_ERROR_MSG(error.message.c_str());
  switch (error.code) {
    case Errc::out_of_memory:
      return RMW_RET_BAD_ALLOC;
    case Errc::unsupported:
      return RMW_RET_UNSUPPORTED;
    case Errc::invalid_argument:
      return RMW_RET_INVALID_ARGUMENT;
    case Errc::timed_out:
    case Errc::queue_full:
      return RMW_RET_TIMEOUT;
    default:
      return RMW_RET_ERROR;
  }
}

}  // namespace baton::rmw

// What follows are rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
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
