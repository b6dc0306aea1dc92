// SPDX-License-Identifier: Apache-2.0
#include "baton/rosidl/service_types.hpp"

#include <map>

#include "baton/os/lock.hpp"
#include "rcutils/error_handling.h"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_c/service_introspection.h"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"
#include "rosidl_typesupport_introspection_cpp/service_introspection.hpp"

namespace baton::rosidl {
namespace {

/// One type support for each `members`. A library that is unloaded may leave its address to another type: its users compare what lies there.
const rosidl_message_type_support_t* support_of(const char* identifier, const void* members) {
  static os::Mutex mutex;
  // Leaked: publishers of static objects may outlive static destruction.
  static auto* const supports = new std::map<const void*, rosidl_message_type_support_t>;
  const os::Lock lock(mutex);
  const auto [at, is_new] = supports->try_emplace(members);
  rosidl_message_type_support_t& support = at->second;
  if (!is_new && support.typesupport_identifier == identifier) return &support;  // others read it without the mutex
  support.typesupport_identifier = identifier;
  support.data = members;
  support.func = get_message_typesupport_handle_function;
  return &support;
}

template <class ServiceMembers>
Result<ServiceTypes> types_of(const char* identifier, const void* data) {
  const auto* const members = static_cast<const ServiceMembers*>(data);
  if (members == nullptr || members->request_members_ == nullptr || members->response_members_ == nullptr)
    return Error{Errc::unsupported, "the service's introspection does not name the types of request and response"};
  return ServiceTypes{support_of(identifier, members->request_members_),
                      support_of(identifier, members->response_members_)};
}

}  // namespace

Result<ServiceTypes> types_of_introspection(const rosidl_service_type_support_t& service) {
  // The calls fill in the introspection of the service and of all types below it.
  const char* const cpp = rosidl_typesupport_introspection_cpp::typesupport_identifier;
  if (const auto* found = service.func(&service, cpp); found != nullptr)
    return types_of<rosidl_typesupport_introspection_cpp::ServiceMembers>(cpp, found->data);
  rcutils_reset_error();  // clears the reason why there is no C++ introspection
  const char* const c = rosidl_typesupport_introspection_c__identifier;
  if (const auto* found = service.func(&service, c); found != nullptr)
    return types_of<rosidl_typesupport_introspection_c__ServiceMembers>(c, found->data);
  rcutils_reset_error();
  return Error{Errc::unsupported, "the service's type support has no introspection"};
}

}  // namespace baton::rosidl
