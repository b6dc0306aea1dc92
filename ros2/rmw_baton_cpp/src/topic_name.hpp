// SPDX-License-Identifier: Apache-2.0
// Names of topics and services that an application gives.
// Thread rules: pure functions.
#pragma once

#include "handles.hpp"
#include "rmw/validate_full_topic_name.h"

namespace baton::rmw {

/// False, with the error text: it is no full name in ROS's conventions, which the profile does not avoid.
inline bool is_valid_topic(const char* name, const rmw_qos_profile_t& qos) {
  if (*name == '\0') return static_cast<void>(invalid("the name is empty")), false;
  if (qos.avoid_ros_namespace_conventions) return true;
  int validity = RMW_TOPIC_VALID;
  if (rmw_validate_full_topic_name(name, &validity, nullptr) != RMW_RET_OK) return false;
  if (validity == RMW_TOPIC_VALID) return true;
  RMW_SET_ERROR_MSG(rmw_full_topic_name_validation_result_string(validity));
  return false;
}

}  // namespace baton::rmw
