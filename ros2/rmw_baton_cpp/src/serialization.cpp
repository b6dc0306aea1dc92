// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: serialization, and the preallocation objects.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_ret_t rmw_serialize(const void* ros_message, const rosidl_message_type_support_t* type_support,
                        rmw_serialized_message_t* serialized_message) {
  return forward(&Underlying::rmw_serialize, ros_message, type_support, serialized_message);
}

rmw_ret_t rmw_deserialize(const rmw_serialized_message_t* serialized_message,
                          const rosidl_message_type_support_t* type_support, void* ros_message) {
  return forward(&Underlying::rmw_deserialize, serialized_message, type_support, ros_message);
}

rmw_ret_t rmw_get_serialized_message_size(const rosidl_message_type_support_t* type_support,
                                          const rosidl_runtime_c__Sequence__bound* message_bounds, size_t* size) {
  return forward(&Underlying::rmw_get_serialized_message_size, type_support, message_bounds, size);
}

rmw_ret_t rmw_serialization_support_init(const char* serialization_lib_name, rcutils_allocator_t* allocator,
                                         rosidl_dynamic_typesupport_serialization_support_t* serialization_support) {
  return forward(&Underlying::rmw_serialization_support_init, serialization_lib_name, allocator, serialization_support);
}

rmw_ret_t rmw_init_publisher_allocation(const rosidl_message_type_support_t* type_support,
                                        const rosidl_runtime_c__Sequence__bound* message_bounds,
                                        rmw_publisher_allocation_t* allocation) {
  return forward(&Underlying::rmw_init_publisher_allocation, type_support, message_bounds, allocation);
}

rmw_ret_t rmw_fini_publisher_allocation(rmw_publisher_allocation_t* allocation) {
  return forward(&Underlying::rmw_fini_publisher_allocation, allocation);
}

rmw_ret_t rmw_init_subscription_allocation(const rosidl_message_type_support_t* type_support,
                                           const rosidl_runtime_c__Sequence__bound* message_bounds,
                                           rmw_subscription_allocation_t* allocation) {
  return forward(&Underlying::rmw_init_subscription_allocation, type_support, message_bounds, allocation);
}

rmw_ret_t rmw_fini_subscription_allocation(rmw_subscription_allocation_t* allocation) {
  return forward(&Underlying::rmw_fini_subscription_allocation, allocation);
}

}  // extern "C"
