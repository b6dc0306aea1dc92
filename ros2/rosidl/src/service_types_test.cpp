// SPDX-License-Identifier: Apache-2.0
// The types of request and response that Humble's services do not name, beside those that later ones do.
#include "baton/rosidl/service_types.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "baton/rosidl/native_plan.hpp"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_c/service_introspection.h"
#include "rosidl_typesupport_introspection_cpp/service_type_support_decl.hpp"
#include "test_msgs/srv/arrays.hpp"
#include "test_msgs/srv/basic_types.hpp"
#include "test_msgs/srv/empty.hpp"

#define C_SERVICE(name) rosidl_typesupport_introspection_c__get_service_type_support_handle__test_msgs__srv__##name
#define DECLARE_C_SERVICE(name) extern "C" const rosidl_service_type_support_t* C_SERVICE(name)();
DECLARE_C_SERVICE(Arrays)
DECLARE_C_SERVICE(BasicTypes)
DECLARE_C_SERVICE(Empty)

namespace baton::rosidl {
namespace {

template <class Service>
const rosidl_service_type_support_t* service_of() {
  return rosidl_typesupport_introspection_cpp::get_service_type_support_handle<Service>();
}

message::TypeHash type_hash(const rosidl_message_type_support_t* type) {
  return NativePlan::compile(type).or_throw()->type().hash;
}

const rosidl_service_type_support_t* const kServices[] = {service_of<test_msgs::srv::Arrays>(),
                                                          service_of<test_msgs::srv::BasicTypes>(),
                                                          service_of<test_msgs::srv::Empty>(),
                                                          C_SERVICE(Arrays)(),
                                                          C_SERVICE(BasicTypes)(),
                                                          C_SERVICE(Empty)()};

TEST(ServiceTypes, the_introspection_leads_to_the_types_that_a_service_of_jazzy_names) {
  for (const rosidl_service_type_support_t* service : kServices) {
    const ServiceTypes found = types_of_introspection(*service).or_throw();
    EXPECT_EQ(type_hash(found.request), type_hash(service->request_typesupport));
    EXPECT_EQ(type_hash(found.response), type_hash(service->response_typesupport));
    const NativePlan& plan = *NativePlan::compile(found.response).or_throw();
    EXPECT_EQ(plan.native_bytes(), NativePlan::compile(service->response_typesupport).or_throw()->native_bytes());
  }
}

TEST(ServiceTypes, a_service_gets_the_same_supports_again) {
  const ServiceTypes first = types_of_introspection(*kServices[0]).or_throw();
  const ServiceTypes again = types_of_introspection(*kServices[0]).or_throw();
  EXPECT_EQ(first.request, again.request);
  EXPECT_EQ(first.response, again.response);
  EXPECT_NE(first.request, types_of_introspection(*kServices[3]).or_throw().request) << "C++ and C have two structs";
}

TEST(ServiceTypes, a_service_without_introspection_or_without_types_is_refused) {
  rosidl_service_type_support_t service = *kServices[0];
  service.func = [](const rosidl_service_type_support_t*, const char*) -> const rosidl_service_type_support_t* {
    return nullptr;
  };
  Result<ServiceTypes> refused = types_of_introspection(service);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_EQ(refused.error().message, "the service's type support has no introspection");

  rosidl_typesupport_introspection_c__ServiceMembers members{};  // nobody has filled it in
  service.data = &members;
  service.func = [](const rosidl_service_type_support_t* own, const char* identifier) {
    return std::strcmp(identifier, rosidl_typesupport_introspection_c__identifier) == 0 ? own : nullptr;
  };
  refused = types_of_introspection(service);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_NE(refused.error().message.find("does not name the types of request and response"), std::string::npos);
}

}  // namespace
}  // namespace baton::rosidl
