// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: services and clients (service_end.hpp).
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <memory>

#include "handles.hpp"
#include "qos.hpp"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"
#include "topic_name.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

bool has_introspection(const rosidl_service_type_support_t& type) {
  for (const char* identifier :
       {rosidl_typesupport_introspection_cpp::typesupport_identifier, rosidl_typesupport_introspection_c__identifier}) {
    if (type.func(&type, identifier) != nullptr) return true;
    rcutils_reset_error();
  }
  return false;
}

/// Null, with the error text, after an error.
template <class Own>
auto create(bool server, const rmw_node_t* node, const rosidl_service_type_support_t* type_support, const char* name,
            const rmw_qos_profile_t* profile) -> decltype(&std::declval<Own&>().outer) {
  if (checked(node, type_support, name, profile) != RMW_RET_OK || !is_valid_topic(name, *profile)) return nullptr;
  if (!has_introspection(*type_support))
    return static_cast<void>(unsupported("the service's type support has no introspection")), nullptr;
  const Result<QoS> qos = actual_service_qos(*profile);
  if (!qos) return static_cast<void>(failed(qos.error())), nullptr;
  auto made = std::make_unique<Own>();
  begin_handle(*made);
  made->name = name;
  made->outer.service_name = made->name.c_str();
  Result<std::shared_ptr<ServiceEnd>> end =
      ServiceEnd::make(server, context_of(node), full_name(*node), made->name, *type_support, *qos);
  if (!end) return static_cast<void>(failed(end.error())), nullptr;
  made->path = std::move(*end);
  return &made.release()->outer;
}

template <class Handle>
rmw_ret_t destroy(const rmw_node_t* node, Handle* handle) {
  if (const rmw_ret_t bad = checked(node, handle); bad != RMW_RET_OK) return bad;
  own(handle)->path->stop();
  delete own(handle);
  return RMW_RET_OK;
}

template <class Handle>
rmw_ret_t get_qos(const Handle* handle, rmw_qos_profile_t* qos) {
  if (const rmw_ret_t bad = checked(handle, qos); bad != RMW_RET_OK) return bad;
  *qos = profile_of(own(handle)->path->qos());
  return RMW_RET_OK;
}

template <class Handle>
rmw_ret_t set_callback(const Handle* handle, rmw_event_callback_t callback, const void* user_data) {
  if (const rmw_ret_t bad = checked(handle); bad != RMW_RET_OK) return bad;
  own(handle)->path->set_callback(callback, user_data);
  return RMW_RET_OK;
}

template <class Handle>
rmw_ret_t take(const Handle* handle, rmw_service_info_t* info, void* message, bool* taken) {
  if (const rmw_ret_t bad = checked(handle, info, message, taken); bad != RMW_RET_OK) return bad;
  return own(handle)->path->take(info, message, taken);
}

}  // namespace

extern "C" {

rmw_service_t* rmw_create_service(const rmw_node_t* node, const rosidl_service_type_support_t* type_support,
                                  const char* service_name, const rmw_qos_profile_t* qos_profile) try {
  return create<Service>(true, node, type_support, service_name, qos_profile);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_client_t* rmw_create_client(const rmw_node_t* node, const rosidl_service_type_support_t* type_support,
                                const char* service_name, const rmw_qos_profile_t* qos_policies) try {
  return create<Client>(false, node, type_support, service_name, qos_policies);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_service(rmw_node_t* node, rmw_service_t* service) try {
  return destroy(node, service);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_client(rmw_node_t* node, rmw_client_t* client) try {
  return destroy(node, client);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_request(const rmw_service_t* service, rmw_service_info_t* request_header, void* ros_request,
                           bool* taken) try {
  return take(service, request_header, ros_request, taken);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_response(const rmw_client_t* client, rmw_service_info_t* request_header, void* ros_response,
                            bool* taken) try {
  return take(client, request_header, ros_response, taken);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_send_request(const rmw_client_t* client, const void* ros_request, int64_t* sequence_id) try {
  if (const rmw_ret_t bad = checked(client, ros_request, sequence_id); bad != RMW_RET_OK) return bad;
  return own(client)->path->request(ros_request, sequence_id);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_send_response(const rmw_service_t* service, rmw_request_id_t* request_header, void* ros_response) try {
  if (const rmw_ret_t bad = checked(service, request_header, ros_response); bad != RMW_RET_OK) return bad;
  return own(service)->path->respond(*request_header, ros_response);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_service_server_is_available(const rmw_node_t* node, const rmw_client_t* client, bool* is_available) try {
  if (const rmw_ret_t bad = checked(node, client, is_available); bad != RMW_RET_OK) return bad;
  *is_available = own(client)->path->available();
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

// Both topics of a service have one quality of service.
rmw_ret_t rmw_service_request_subscription_get_actual_qos(const rmw_service_t* service, rmw_qos_profile_t* qos) {
  return get_qos(service, qos);
}

rmw_ret_t rmw_service_response_publisher_get_actual_qos(const rmw_service_t* service, rmw_qos_profile_t* qos) {
  return get_qos(service, qos);
}

rmw_ret_t rmw_client_request_publisher_get_actual_qos(const rmw_client_t* client, rmw_qos_profile_t* qos) {
  return get_qos(client, qos);
}

rmw_ret_t rmw_client_response_subscription_get_actual_qos(const rmw_client_t* client, rmw_qos_profile_t* qos) {
  return get_qos(client, qos);
}

rmw_ret_t rmw_service_set_on_new_request_callback(rmw_service_t* service, rmw_event_callback_t callback,
                                                  const void* user_data) try {
  return set_callback(service, callback, user_data);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_client_set_on_new_response_callback(rmw_client_t* client, rmw_event_callback_t callback,
                                                  const void* user_data) try {
  return set_callback(client, callback, user_data);
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
