// SPDX-License-Identifier: Apache-2.0
// Included before everything else in each source file of a recompiled program (baton_ros1_messages adds -include).
#pragma once

#include <ros/message_forward.h>

#ifndef BATON_ROS1_RECOMPILED
#error \
    "the headers of ROS come before those of Baton, so nothing would be recompiled; write target_include_directories(<program> BEFORE PRIVATE $<TARGET_PROPERTY:<messages>,INTERFACE_INCLUDE_DIRECTORIES>)"
#endif

// Says in a library's table of names that the library was recompiled (`baton migrate check`). In each source, even if no message is in it.
extern "C" {
__attribute__((weak, used, visibility("default"))) char baton_ros1_recompiled = 1;
}
