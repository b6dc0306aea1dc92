// SPDX-License-Identifier: Apache-2.0
// Type supports by the names of types, from the libraries of the packages that define them, and messages in memory whose type is known at run time.
// Thread rules: any thread.
#pragma once

#include <memory>
#include <string>

#include "rosidl_runtime_c/message_type_support_struct.h"
#include "rosidl_runtime_c/service_type_support_struct.h"

namespace baton::bridge {

/// `type`: "std_msgs/msg/String". Throws BridgeError, naming the package to install, if this host has no such type.
const rosidl_message_type_support_t* message_type(const std::string& type);

/// A message of a service in memory, initialized. Null after a lack of memory.
using Native = std::shared_ptr<void>;

struct ServiceType {
  const rosidl_service_type_support_t* support = nullptr;
  Native make_request() const;
  Native make_response() const;

 private:
  friend ServiceType service_type(const std::string& type);
  const void* request_members_ = nullptr;
  const void* response_members_ = nullptr;
};

/// `type`: "std_srvs/srv/SetBool", "test_msgs/action/Fibonacci_SendGoal". Throws BridgeError, as above.
ServiceType service_type(const std::string& type);

}  // namespace baton::bridge
