// SPDX-License-Identifier: Apache-2.0
// Before ROS's header of this name, which every header of gencpp includes: says if that header stands before Baton's own of its name.
#if __has_include(<baton/ros1/recompiled/replaced.hpp>)
#include <baton/ros1/recompiled/replaced.hpp>
#endif
#ifndef BATON_ROS1_MESSAGE_OPERATIONS_H
#define BATON_ROS1_MESSAGE_OPERATIONS_H
#pragma GCC system_header
#include_next <ros/message_operations.h>
#endif
