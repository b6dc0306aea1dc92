// SPDX-License-Identifier: Apache-2.0
// actionlib's header of this name. The class is that of libactionlib, and only one of its functions knows a message: the library
// has it for ROS's message, and this header for the recompiled one.
#pragma once

#pragma GCC system_header  // no warnings of the stock code
#include_next <actionlib/client/connection_monitor.h>

namespace actionlib {

inline void ConnectionMonitor::processStatus(const actionlib_msgs::GoalStatusArrayConstPtr& status,
                                             const std::string& cur_status_caller_id) {
  const boost::recursive_mutex::scoped_lock lock(data_mutex_);
  if (status_received_ && status_caller_id_ != cur_status_caller_id) {
    ROS_WARN_NAMED("actionlib", "the status came from [%s], and comes from [%s] now: another action server",
                   status_caller_id_.c_str(), cur_status_caller_id.c_str());
  }
  status_received_ = true;
  status_caller_id_ = cur_status_caller_id;
  latest_status_time_ = status->header.stamp;
  check_connection_condition_.notify_all();
}

}  // namespace actionlib
