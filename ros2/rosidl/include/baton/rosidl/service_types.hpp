// SPDX-License-Identifier: Apache-2.0
// The types of a service's request and response, from its introspection. Humble's type support of a service names them nowhere else.
// Thread rules: any thread.
#pragma once

#include "baton/os/result.hpp"
#include "rosidl_runtime_c/message_type_support_struct.h"
#include "rosidl_runtime_c/service_type_support_struct.h"

namespace baton::rosidl {

struct ServiceTypes {
  const rosidl_message_type_support_t* request;
  const rosidl_message_type_support_t* response;
};

/// Type supports that lead to the service's introspection for C++, else to that for C. They are never freed: two for each type of service
/// that a process uses. Error: unsupported if `service` has no introspection.
Result<ServiceTypes> types_of_introspection(const rosidl_service_type_support_t& service);

}  // namespace baton::rosidl
