// SPDX-License-Identifier: Apache-2.0
// ROS 2's description of a native message struct, in C++ and in C code, and the check that Baton knows the layout of
// both.
//
// Baton reads and writes the members of native messages at the places that the introspection names: scalars,
// std::vector and the sequences of rosidl_runtime_c, std::string and rosidl_runtime_c__String. All of that is memory
// layout, which a later ROS 2 may change. So nothing is read or written in a message of a type before check_layout()
// has accepted the type.
// Thread rules: any thread; nothing is kept.
#pragma once

#include <string>

#include "baton/os/result.hpp"
#include "rosidl_runtime_c/message_type_support_struct.h"
#include "rosidl_typesupport_introspection_cpp/message_introspection.hpp"

namespace baton::rosidl {

// The structs of the two introspections are the same, except for the types of three function pointers
// (native_layout.cpp asserts it). For a C introspection (Introspection::c) these three are called only after a cast
// back.
using Member = rosidl_typesupport_introspection_cpp::MessageMember;
using Members = rosidl_typesupport_introspection_cpp::MessageMembers;

struct Introspection {
  const Members* members;
  bool c;
};

/// The introspection for C++, else the introspection for C. `handle` is any type support of a message. Error:
/// unsupported if it leads to neither.
Result<Introspection> introspect(const rosidl_message_type_support_t* handle);

/// "sensor_msgs/Image" of the namespaces "sensor_msgs::msg" (C++) and "sensor_msgs__msg" (C).
std::string type_name(const Members& members);

/// Whether this is a message without fields; rosidl puts a placeholder into its struct.
bool is_placeholder(const Members& members);

/// std::vector<bool> has no elements with addresses: its elements are read and assigned by functions.
bool is_packed(const Member& member, bool c);

/// Compares the type, and every type nested in it, with the expected layout: the introspection's own structs, the size
/// of the native struct, the offset of each member, the functions of its arrays, and the effect of these functions on a
/// trial message. Error: unsupported, with the type, the member and the difference; out_of_memory.
Result<void> check_layout(const Introspection& type);

}  // namespace baton::rosidl
