// SPDX-License-Identifier: Apache-2.0
// actionlib's header of this name. It hands a message's list of statuses as a std::vector to a function that returns a pointer into
// it. A recompiled message would be converted to a temporary std::vector there; so the header's std::vector is the message's own
// class here. What the header includes stands before it.
#pragma once

#include <actionlib/action_definition.h>
#include <actionlib/client/comm_state.h>
#include <actionlib/client/terminal_state.h>
#include <actionlib/destruction_guard.h>
#include <actionlib/enclosure_deleter.h>
#include <actionlib/goal_id_generator.h>
#include <actionlib/managed_list.h>
#include <actionlib_msgs/GoalID.h>
#include <actionlib_msgs/GoalStatusArray.h>
#include <ros/console.h>
#include <ros/ros.h>

#include <boost/interprocess/sync/scoped_lock.hpp>
#include <boost/shared_ptr.hpp>
#include <boost/thread/recursive_mutex.hpp>
#include <boost/weak_ptr.hpp>
#include <vector>

namespace baton_actionlib_std {
using namespace std;  // NOLINT(google-build-using-namespace)
template <class T>
using vector = ::baton::sfm::Vector<T>;
}  // namespace baton_actionlib_std

#pragma GCC system_header  // no warnings of the stock code
#define std baton_actionlib_std
#include_next <actionlib/client/client_helpers.h>
#undef std
