// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: service servers (service_path.hpp).
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <memory>

#include "endpoints.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_service_t* rmw_create_service(const rmw_node_t* node, const rosidl_service_type_support_t* type_support,
                                  const char* service_name, const rmw_qos_profile_t* qos_profile) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  rmw_service_t* made = rmw->rmw_create_service(inner(node), type_support, service_name, qos_profile);
  if (made == nullptr || ours(node) == nullptr) return made;
  std::unique_ptr<Service> service;  // ends after `made`, which uses its signal
  Undo undo([&] {
    if (service) service->path.reset();
    ignore(rmw->rmw_destroy_service(const_cast<rmw_node_t*>(inner(node)), made));
  });
  service = in_front_of<Service>(made);
  if (const auto& baton_context = baton_context_of(*ours(node))) {
    service->watched = true;
    service->signal.set_callback_thread(callback_thread_of(baton_context));
    if (rmw->rmw_service_set_on_new_request_callback(made, ReadySignal::on_ready, &service->signal) != RMW_RET_OK)
      rcutils_reset_error();
    if (type_support != nullptr && qos_profile != nullptr && may_be_served(*qos_profile))
      service->path =
          ServerPath::make(baton_context, full_name(*inner(node)), made->service_name, *type_support, service->signal);
  }
  undo.all_is_done();
  return &service.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_service(rmw_node_t* node, rmw_service_t* service) try {
  Service* own_service = ours(service);
  if (own_service != nullptr) own_service->path.reset();
  const rmw_ret_t result = forward(&Underlying::rmw_destroy_service, node, service);
  if (result != RMW_RET_INVALID_ARGUMENT && result != RMW_RET_INCORRECT_RMW_IMPLEMENTATION) delete own_service;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_request(const rmw_service_t* service, rmw_service_info_t* request_header, void* ros_request,
                           bool* taken) try {
  ServerPath* path = path_of(service);
  if (path != nullptr && request_header != nullptr && ros_request != nullptr && taken != nullptr) {
    const rmw_ret_t result = path->take(request_header, ros_request, taken);
    if (result != RMW_RET_OK || *taken) return result;
  }
  return forward(&Underlying::rmw_take_request, service, request_header, ros_request, taken);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_send_response(const rmw_service_t* service, rmw_request_id_t* request_header, void* ros_response) try {
  ServerPath* path = path_of(service);
  if (path != nullptr && request_header != nullptr && ros_response != nullptr && path->has_taken(*request_header))
    return path->respond(*request_header, ros_response);
  return forward(&Underlying::rmw_send_response, service, request_header, ros_response);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_service_request_subscription_get_actual_qos(const rmw_service_t* service, rmw_qos_profile_t* qos) {
  return forward(&Underlying::rmw_service_request_subscription_get_actual_qos, service, qos);
}

rmw_ret_t rmw_service_response_publisher_get_actual_qos(const rmw_service_t* service, rmw_qos_profile_t* qos) {
  return forward(&Underlying::rmw_service_response_publisher_get_actual_qos, service, qos);
}

rmw_ret_t rmw_service_set_on_new_request_callback(rmw_service_t* service, rmw_event_callback_t callback,
                                                  const void* user_data) try {
  Service* own_service = ours(service);
  if (own_service == nullptr || !own_service->watched)
    return forward(&Underlying::rmw_service_set_on_new_request_callback, service, callback, user_data);
  if (own_service->path)
    own_service->path->inbox()->set_callback(callback, user_data);
  else
    own_service->signal.set_callback(callback, user_data, SIZE_MAX);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
