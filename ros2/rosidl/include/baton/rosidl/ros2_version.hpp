// SPDX-License-Identifier: Apache-2.0
// Which ROS 2 this is compiled for, as far as sources must know. It is seen from the headers, so that nobody has to say it.
// What the other distributions of ros2/distributions/ do not share is a matter of sizes, which the compiler knows.
#pragma once

#if !__has_include("rosidl_runtime_c/message_type_support_struct.h")
#error "the include directories of rosidl_runtime_c are missing"
#endif

// Of the distributions that Baton knows, Humble alone has no hashes of types.
#if __has_include("rosidl_runtime_c/type_hash.h")
#define BATON_ROS2_HUMBLE 0
#define BATON_ROS2_SINCE_JAZZY(...) __VA_ARGS__
#else
#define BATON_ROS2_HUMBLE 1
#define BATON_ROS2_SINCE_JAZZY(...)
#endif
