// SPDX-License-Identifier: Apache-2.0
// The part of ROS 2's structs that the compiler can compare with those that Baton was written for. If an
// assertion fails, ROS 2 has changed a struct. Adapt ros2/rosidl and ros2/heap before Baton touches a message of that
// ROS 2.
#include "baton/rosidl/introspection.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "baton/rosidl/ros2_version.hpp"
#include "rcutils/error_handling.h"
#include "rosidl_runtime_c/primitives_sequence.h"
#include "rosidl_runtime_c/string.h"
#include "rosidl_runtime_c/u16string.h"
#include "rosidl_runtime_cpp/bounded_vector.hpp"
#include "rosidl_typesupport_introspection_c/field_types.h"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_c/message_introspection.h"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"

namespace baton::rosidl {
namespace {

namespace known {

struct RosidlMember {
  const char* name_;
  std::uint8_t type_id_;
  std::size_t string_upper_bound_;
  const void* members_;
  BATON_ROS2_SINCE_JAZZY(bool is_key_;)
  bool is_array_;
  std::size_t array_size_;
  bool is_upper_bound_;
  std::uint32_t offset_;
  const void* default_value_;
  void (*size_function)();
  void (*get_const_function)();
  void (*get_function)();
  void (*fetch_function)();
  void (*assign_function)();
  void (*resize_function)();
};

struct Members {
  const char* message_namespace_;
  const char* message_name_;
  std::uint32_t member_count_;
  std::size_t size_of_;
  BATON_ROS2_SINCE_JAZZY(bool has_any_key_member_;)
  const RosidlMember* members_;
  void (*init_function)();
  void (*fini_function)();
};

struct TypeSupportHandle {
  const char* typesupport_identifier;
  const void* data;
  void (*func)();
};

struct RosidlSequence {  // also both strings of C
  void* data;
  std::size_t size;
  std::size_t capacity;
};

}  // namespace known

#define SAME_FIELD(ours, theirs, field)                                                                           \
  static_assert(offsetof(ours, field) == offsetof(theirs, field) && sizeof(ours::field) == sizeof(theirs::field), \
                "ROS 2 has changed this struct: " #theirs "." #field)
#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), "ROS 2 has changed this struct: " #theirs)

#define SAME_MEMBER(theirs)                                                 \
  SAME_SIZE(known::RosidlMember, theirs);                                   \
  SAME_FIELD(known::RosidlMember, theirs, name_);                           \
  SAME_FIELD(known::RosidlMember, theirs, type_id_);                        \
  SAME_FIELD(known::RosidlMember, theirs, string_upper_bound_);             \
  SAME_FIELD(known::RosidlMember, theirs, members_);                        \
  BATON_ROS2_SINCE_JAZZY(SAME_FIELD(known::RosidlMember, theirs, is_key_);) \
  SAME_FIELD(known::RosidlMember, theirs, is_array_);                       \
  SAME_FIELD(known::RosidlMember, theirs, array_size_);                     \
  SAME_FIELD(known::RosidlMember, theirs, is_upper_bound_);                 \
  SAME_FIELD(known::RosidlMember, theirs, offset_);                         \
  SAME_FIELD(known::RosidlMember, theirs, default_value_);                  \
  SAME_FIELD(known::RosidlMember, theirs, size_function);                   \
  SAME_FIELD(known::RosidlMember, theirs, get_const_function);              \
  SAME_FIELD(known::RosidlMember, theirs, get_function);                    \
  SAME_FIELD(known::RosidlMember, theirs, fetch_function);                  \
  SAME_FIELD(known::RosidlMember, theirs, assign_function);                 \
  SAME_FIELD(known::RosidlMember, theirs, resize_function)
SAME_MEMBER(rosidl_typesupport_introspection_cpp::MessageMember);
SAME_MEMBER(rosidl_typesupport_introspection_c__MessageMember);

#define SAME_MEMBERS(theirs)                                                       \
  SAME_SIZE(known::Members, theirs);                                               \
  SAME_FIELD(known::Members, theirs, message_namespace_);                          \
  SAME_FIELD(known::Members, theirs, message_name_);                               \
  SAME_FIELD(known::Members, theirs, member_count_);                               \
  SAME_FIELD(known::Members, theirs, size_of_);                                    \
  BATON_ROS2_SINCE_JAZZY(SAME_FIELD(known::Members, theirs, has_any_key_member_);) \
  SAME_FIELD(known::Members, theirs, members_);                                    \
  SAME_FIELD(known::Members, theirs, init_function);                               \
  SAME_FIELD(known::Members, theirs, fini_function)
SAME_MEMBERS(rosidl_typesupport_introspection_cpp::MessageMembers);
SAME_MEMBERS(rosidl_typesupport_introspection_c__MessageMembers);

SAME_FIELD(known::TypeSupportHandle, rosidl_message_type_support_t, typesupport_identifier);
SAME_FIELD(known::TypeSupportHandle, rosidl_message_type_support_t, data);
SAME_FIELD(known::TypeSupportHandle, rosidl_message_type_support_t, func);

#define SAME_SEQUENCE(theirs)                      \
  SAME_SIZE(known::RosidlSequence, theirs);        \
  SAME_FIELD(known::RosidlSequence, theirs, data); \
  SAME_FIELD(known::RosidlSequence, theirs, size); \
  SAME_FIELD(known::RosidlSequence, theirs, capacity)
SAME_SEQUENCE(rosidl_runtime_c__float__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__double__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__boolean__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__char__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__octet__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__uint8__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__int8__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__uint16__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__int16__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__uint32__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__int32__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__uint64__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__int64__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__String__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__U16String__Sequence);
SAME_SEQUENCE(rosidl_runtime_c__String);
SAME_SEQUENCE(rosidl_runtime_c__U16String);

// containers.hpp of ros2/heap writes these three words. Strings of C++ are used through their own functions only.
static_assert(sizeof(std::vector<std::uint8_t>) == 3 * sizeof(void*), "another kind of std::vector");
static_assert(sizeof(std::vector<double>) == sizeof(std::vector<std::uint8_t>), "another kind of std::vector");
static_assert(sizeof(std::vector<std::string>) == sizeof(std::vector<std::uint8_t>), "another kind of std::vector");
static_assert(sizeof(rosidl_runtime_cpp::BoundedVector<std::uint8_t, 3>) == sizeof(std::vector<std::uint8_t>),
              "bounded sequences of C++ are no longer vectors");
static_assert(sizeof(rosidl_runtime_cpp::BoundedVector<bool, 3>) == sizeof(std::vector<bool>),
              "bounded sequences of C++ are no longer vectors");

}  // namespace

Result<Introspection> introspect(const rosidl_message_type_support_t* handle) {
  const auto* found = handle->func(handle, rosidl_typesupport_introspection_cpp::typesupport_identifier);
  if (found != nullptr) return Introspection{static_cast<const Members*>(found->data), false};
  rcutils_reset_error();  // clears the reason why there is no C++ introspection
  found = handle->func(handle, rosidl_typesupport_introspection_c__identifier);
  if (found != nullptr) return Introspection{static_cast<const Members*>(found->data), true};
  rcutils_reset_error();
  return Error{Errc::unsupported,
               "the message's type support has no introspection: build its package with "
               "rosidl_typesupport_introspection_cpp or _c"};
}

std::string type_name(const Members& members) {
  std::string package = members.message_namespace_;
  package = package.substr(0, package.find(package.find("::") != std::string::npos ? "::" : "__"));
  return package + "/" + members.message_name_;
}

bool is_placeholder(const Members& members) {
  return members.member_count_ == 1 &&
         std::strcmp(members.members_[0].name_, "structure_needs_at_least_one_member") == 0;
}

bool is_packed(const Member& member, bool c) {
  return !c && member.type_id_ == rosidl_typesupport_introspection_c__ROS_TYPE_BOOLEAN && member.is_array_ &&
         (member.array_size_ == 0 || member.is_upper_bound_);
}

}  // namespace baton::rosidl
