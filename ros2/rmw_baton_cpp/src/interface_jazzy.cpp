// SPDX-License-Identifier: Apache-2.0
// Jazzy and the distributions that follow it. The functions of rmw.h that Humble does not have are here or in the files of their families,
// where they are marked.
#include "interface.hpp"

#if !BATON_ROS2_HUMBLE

#include <algorithm>

#include "handles.hpp"
#include "rmw/dynamic_message_type_support.h"

namespace baton::rmw {
namespace {

constexpr std::uint8_t kRihs01 = 1;  // rosidl's type_hash.h

}  // namespace

void clear_discovery(rmw_init_options_t* options) {
  options->discovery_options = rmw_get_zero_initialized_discovery_options();
}
rmw_ret_t init_discovery(rmw_init_options_t* options) {
  return rmw_discovery_options_init(&options->discovery_options, 0, &options->allocator);
}
rmw_ret_t copy_discovery(const rmw_init_options_t& from, rmw_init_options_t* to) {
  rcutils_allocator_t allocator = from.allocator;
  return rmw_discovery_options_copy(&from.discovery_options, &allocator, &to->discovery_options);
}
rmw_ret_t fini_discovery(rmw_init_options_t* options) {
  return rmw_discovery_options_fini(&options->discovery_options);
}
bool meets_itself_alone(const rmw_init_options_t& options) {
  return options.discovery_options.automatic_discovery_range == RMW_AUTOMATIC_DISCOVERY_RANGE_OFF;
}

transport::RosTypeHash ros_hash_of(const rosidl_message_type_support_t& type) {
  transport::RosTypeHash found{};
  const rosidl_type_hash_t* const hash = type.get_type_hash_func == nullptr ? nullptr : type.get_type_hash_func(&type);
  if (hash == nullptr || hash->version != kRihs01) return found;
  found.version = hash->version;
  std::copy_n(hash->value, found.value.size(), found.value.begin());
  return found;
}
rmw_ret_t set_ros_hash(rmw_topic_endpoint_info_t* info, const transport::RosTypeHash& hash) {
  // A version of 0 is ROS 2's word for none: a type of Baton without ROS 2's definition.
  rosidl_type_hash_t written = rosidl_get_zero_initialized_type_hash();
  written.version = hash.version;
  std::copy(hash.value.begin(), hash.value.end(), written.value);
  return rmw_topic_endpoint_info_set_topic_type_hash(info, &written);
}

Result<rosidl::ServiceTypes> types_of(const rosidl_service_type_support_t& service) {
  if (service.request_typesupport == nullptr || service.response_typesupport == nullptr)
    return Error{Errc::unsupported, "the service's type support does not name the types of request and response"};
  return rosidl::ServiceTypes{service.request_typesupport, service.response_typesupport};
}

}  // namespace baton::rmw

// What follows are rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_ret_t rmw_get_gid_for_client(const rmw_client_t* client, rmw_gid_t* gid) {
  if (const rmw_ret_t bad = checked(client, gid); bad != RMW_RET_OK) return bad;
  *gid = gid_of(own(client)->path->gid());
  return RMW_RET_OK;
}

bool rmw_event_type_is_supported(rmw_event_type_t rmw_event_type) {
  return EndpointEvents::exists(true, rmw_event_type) || EndpointEvents::exists(false, rmw_event_type);
}

rmw_ret_t rmw_serialization_support_init(const char*, rcutils_allocator_t*,
                                         rosidl_dynamic_typesupport_serialization_support_t*) {
  return unsupported("rmw_baton_cpp has no dynamic messages");
}

rmw_ret_t rmw_take_dynamic_message(const rmw_subscription_t*, rosidl_dynamic_typesupport_dynamic_data_t*, bool*,
                                   rmw_subscription_allocation_t*) {
  return unsupported("rmw_baton_cpp has no dynamic messages");
}

rmw_ret_t rmw_take_dynamic_message_with_info(const rmw_subscription_t*, rosidl_dynamic_typesupport_dynamic_data_t*,
                                             bool*, rmw_message_info_t*, rmw_subscription_allocation_t*) {
  return unsupported("rmw_baton_cpp has no dynamic messages");
}

}  // extern "C"

#endif
