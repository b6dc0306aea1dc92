// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: service clients (service_path.hpp).
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <memory>

#include "endpoints.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_client_t* rmw_create_client(const rmw_node_t* node, const rosidl_service_type_support_t* type_support,
                                const char* service_name, const rmw_qos_profile_t* qos_policies) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  rmw_client_t* made = rmw->rmw_create_client(inner(node), type_support, service_name, qos_policies);
  if (made == nullptr || ours(node) == nullptr) return made;
  std::unique_ptr<Client> client;  // ends after `made`, which uses its signal
  Undo undo([&] {
    if (client) client->path.reset();
    ignore(rmw->rmw_destroy_client(const_cast<rmw_node_t*>(inner(node)), made));
  });
  client = in_front_of<Client>(made);
  if (const auto& baton_context = baton_context_of(*ours(node))) {
    client->watched = true;
    client->signal.set_callback_thread(callback_thread_of(baton_context));
    if (rmw->rmw_client_set_on_new_response_callback(made, ReadySignal::on_ready, &client->signal) != RMW_RET_OK)
      rcutils_reset_error();
    client->inner_node = inner(node);
    if (type_support != nullptr && qos_policies != nullptr && may_be_served(*qos_policies))
      client->path =
          ClientPath::make(baton_context, full_name(*inner(node)), made->service_name, *type_support, client->signal);
  }
  undo.all_is_done();
  return &client.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_client(rmw_node_t* node, rmw_client_t* client) try {
  Client* own_client = ours(client);
  if (own_client != nullptr) own_client->path.reset();
  const rmw_ret_t result = forward(&Underlying::rmw_destroy_client, node, client);
  if (result != RMW_RET_INVALID_ARGUMENT && result != RMW_RET_INCORRECT_RMW_IMPLEMENTATION) delete own_client;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_gid_for_client(const rmw_client_t* client, rmw_gid_t* gid) {
  const rmw_ret_t result = forward(&Underlying::rmw_get_gid_for_client, client, gid);
  if (result == RMW_RET_OK && ours(client) != nullptr) gid->implementation_identifier = kIdentifier;
  return result;
}

rmw_ret_t rmw_send_request(const rmw_client_t* client, const void* ros_request, int64_t* sequence_id) try {
  ClientPath* path = path_of(client);
  if (path != nullptr && ros_request != nullptr && sequence_id != nullptr && path->available()) {
    const Client& own_client = *ours(client);
    bool known = false;
    if (underlying()->rmw_service_server_is_available(own_client.inner_node, own_client.inner, &known) != RMW_RET_OK)
      rcutils_reset_error();
    if (!known) return path->send(ros_request, sequence_id);
  }
  return forward(&Underlying::rmw_send_request, client, ros_request, sequence_id);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_response(const rmw_client_t* client, rmw_service_info_t* request_header, void* ros_response,
                            bool* taken) try {
  ClientPath* path = path_of(client);
  if (path != nullptr && request_header != nullptr && ros_response != nullptr && taken != nullptr) {
    const rmw_ret_t result = path->take(request_header, ros_response, taken);
    if (result != RMW_RET_OK || *taken) return result;
  }
  return forward(&Underlying::rmw_take_response, client, request_header, ros_response, taken);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_service_server_is_available(const rmw_node_t* node, const rmw_client_t* client, bool* is_available) {
  const rmw_ret_t result = forward(&Underlying::rmw_service_server_is_available, node, client, is_available);
  const ClientPath* path = path_of(client);
  if (result == RMW_RET_OK && path != nullptr) *is_available = *is_available || path->available();
  return result;
}

rmw_ret_t rmw_client_request_publisher_get_actual_qos(const rmw_client_t* client, rmw_qos_profile_t* qos) {
  return forward(&Underlying::rmw_client_request_publisher_get_actual_qos, client, qos);
}

rmw_ret_t rmw_client_response_subscription_get_actual_qos(const rmw_client_t* client, rmw_qos_profile_t* qos) {
  return forward(&Underlying::rmw_client_response_subscription_get_actual_qos, client, qos);
}

rmw_ret_t rmw_client_set_on_new_response_callback(rmw_client_t* client, rmw_event_callback_t callback,
                                                  const void* user_data) try {
  Client* own_client = ours(client);
  if (own_client == nullptr || !own_client->watched)
    return forward(&Underlying::rmw_client_set_on_new_response_callback, client, callback, user_data);
  if (own_client->path)
    own_client->path->inbox()->set_callback(callback, user_data);
  else
    own_client->signal.set_callback(callback, user_data, SIZE_MAX);
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
