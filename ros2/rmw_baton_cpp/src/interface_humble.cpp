// SPDX-License-Identifier: Apache-2.0
// Humble: its discovery is a flag, it has no hashes of types, and a service's type support names no other type support.
#include "interface.hpp"

#if BATON_ROS2_HUMBLE

namespace baton::rmw {

void clear_discovery(rmw_init_options_t* options) { options->localhost_only = RMW_LOCALHOST_ONLY_DEFAULT; }
rmw_ret_t init_discovery(rmw_init_options_t* options) {
  clear_discovery(options);
  return RMW_RET_OK;
}
rmw_ret_t copy_discovery(const rmw_init_options_t& from, rmw_init_options_t* to) {
  to->localhost_only = from.localhost_only;
  return RMW_RET_OK;
}
rmw_ret_t fini_discovery(rmw_init_options_t* options) {
  clear_discovery(options);
  return RMW_RET_OK;
}
/// ROS_LOCALHOST_ONLY asks for this host, which is all that Baton meets by itself.
bool meets_itself_alone(const rmw_init_options_t&) { return false; }

transport::RosTypeHash ros_hash_of(const rosidl_message_type_support_t&) { return {}; }
rmw_ret_t set_ros_hash(rmw_topic_endpoint_info_t*, const transport::RosTypeHash&) { return RMW_RET_OK; }

Result<rosidl::ServiceTypes> types_of(const rosidl_service_type_support_t& service) {
  return rosidl::types_of_introspection(service);
}

}  // namespace baton::rmw

#endif
