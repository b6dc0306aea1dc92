// SPDX-License-Identifier: Apache-2.0
// A C++ program over rcl whose type support describes std_msgs/String as no ROS 2 lays it out: it makes a publisher (layouts talk) or a
// subscription (layouts listen) of that type.
#include <cstdio>
#include <cstring>
#include <string>

#include "rcl.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"
#include "rosidl_typesupport_introspection_cpp/message_introspection.hpp"
#include "std_msgs/msg/string.hpp"

namespace {

namespace introspection = rosidl_typesupport_introspection_cpp;
using std_msgs::msg::String;

const rosidl_message_type_support_t* real() {
  return rosidl_typesupport_cpp::get_message_type_support_handle<String>();
}

introspection::MessageMember g_member;
introspection::MessageMembers g_members;
rosidl_message_type_support_t g_introspection, g_type;

const rosidl_message_type_support_t* altered(const rosidl_message_type_support_t*, const char* identifier) {
  if (std::strcmp(identifier, introspection::typesupport_identifier) == 0) return &g_introspection;
  if (std::strcmp(identifier, rosidl_typesupport_introspection_c__identifier) == 0) return nullptr;
  return real()->func(real(), identifier);
}

/// The real type support, but for its introspection: the string is said to lie 8 bytes further on.
const rosidl_message_type_support_t* type() {
  const auto* const found = real()->func(real(), introspection::typesupport_identifier);
  if (found == nullptr) fail("introspection");
  const auto& members = *static_cast<const introspection::MessageMembers*>(found->data);
  std::memcpy(static_cast<void*>(&g_member), members.members_, sizeof g_member);
  std::memcpy(static_cast<void*>(&g_members), &members, sizeof g_members);
  g_member.offset_ += 8;
  g_members.members_ = &g_member;
  g_introspection = *found;
  g_introspection.data = &g_members;
  g_type = *real();
  g_type.func = altered;
  return &g_type;
}

}  // namespace

int main(int argc, char** argv) {
  Ros ros("layouts");
  if (argc == 2 && std::string(argv[1]) == "talk") {
    const Publisher publisher(ros, type(), "refused");
  } else {
    const Subscription subscription(ros, type(), "refused");
  }
  std::printf("{}\n");
}
