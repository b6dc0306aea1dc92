// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: publishers: life, quality of service, gid.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include <cstring>
#include <memory>

#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

rmw_publisher_t* rmw_create_publisher(const rmw_node_t* node, const rosidl_message_type_support_t* type_support,
                                      const char* topic_name, const rmw_qos_profile_t* qos_profile,
                                      const rmw_publisher_options_t* publisher_options) try {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return nullptr;
  rmw_publisher_t* made =
      rmw->rmw_create_publisher(inner(node), type_support, topic_name, qos_profile, publisher_options);
  if (made == nullptr || ours(node) == nullptr) return made;
  std::unique_ptr<Publisher> publisher;  // ends after `made`, which uses its signals
  Undo undo([&] {
    if (publisher) publisher->path.reset();
    ignore(rmw->rmw_destroy_publisher(const_cast<rmw_node_t*>(inner(node)), made));
  });
  publisher = in_front_of<Publisher>(made);
  if (const auto& baton_context = baton_context_of(*ours(node))) {
    publisher->watched = true;
    for (Event& event : publisher->events) event.signal.set_callback_thread(callback_thread_of(baton_context));
    rmw_gid_t gid{};
    if (rmw->rmw_get_gid_for_publisher(made, &gid) == RMW_RET_OK) {
      transport::Gid bytes{};
      std::memcpy(bytes.data(), gid.data, bytes.size());
      baton_context->announcement().announce(baton_context->participant(), bytes);
    } else {
      rcutils_reset_error();
    }
    publisher->path = PublisherPath::make(baton_context, inner(node), made, type_support, publisher->events);
    if (publisher->path)
      publisher->outer.can_loan_messages = publisher->path->lends();  // the underlying RMW's are not in Baton's memory
  }
  undo.all_is_done();
  return &publisher.release()->outer;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_destroy_publisher(rmw_node_t* node, rmw_publisher_t* publisher) try {
  Publisher* own_publisher = ours(publisher);
  if (own_publisher != nullptr) own_publisher->path.reset();
  const rmw_ret_t result = forward(&Underlying::rmw_destroy_publisher, node, publisher);
  if (result != RMW_RET_INVALID_ARGUMENT && result != RMW_RET_INCORRECT_RMW_IMPLEMENTATION) delete own_publisher;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_get_gid_for_publisher(const rmw_publisher_t* publisher, rmw_gid_t* gid) {
  const rmw_ret_t result = forward(&Underlying::rmw_get_gid_for_publisher, publisher, gid);
  if (result == RMW_RET_OK && ours(publisher) != nullptr) gid->implementation_identifier = kIdentifier;
  return result;
}

rmw_ret_t rmw_compare_gids_equal(const rmw_gid_t* gid1, const rmw_gid_t* gid2, bool* result) {
  const Underlying* rmw = underlying();
  if (rmw == nullptr) return RMW_RET_ERROR;
  rmw_gid_t gids[2] = {};
  const auto translated = [&](const rmw_gid_t* gid, rmw_gid_t& copy) -> const rmw_gid_t* {
    if (gid == nullptr) return nullptr;
    copy = *gid;
    if (is_ours(copy.implementation_identifier)) copy.implementation_identifier = rmw->identifier;
    return &copy;
  };
  return rmw->rmw_compare_gids_equal(translated(gid1, gids[0]), translated(gid2, gids[1]), result);
}

rmw_ret_t rmw_publisher_count_matched_subscriptions(const rmw_publisher_t* publisher, size_t* subscription_count) try {
  const rmw_ret_t result =
      forward(&Underlying::rmw_publisher_count_matched_subscriptions, publisher, subscription_count);
  PublisherPath* path = path_of(publisher);
  if (result == RMW_RET_OK && path != nullptr) *subscription_count += path->matched_only_in_baton(*subscription_count);
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_publisher_get_actual_qos(const rmw_publisher_t* publisher, rmw_qos_profile_t* qos) {
  return forward(&Underlying::rmw_publisher_get_actual_qos, publisher, qos);
}

rmw_ret_t rmw_publisher_assert_liveliness(const rmw_publisher_t* publisher) try {
  if (PublisherPath* path = path_of(publisher)) path->assert_liveliness();
  return forward(&Underlying::rmw_publisher_assert_liveliness, publisher);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_publisher_wait_for_all_acked(const rmw_publisher_t* publisher, rmw_time_t wait_timeout) {
  // A message on Baton's path is received once it is published: it lies in the subscriptions' queues, also when its
  // publisher is gone.
  return forward(&Underlying::rmw_publisher_wait_for_all_acked, publisher, wait_timeout);
}

rmw_ret_t rmw_publisher_get_network_flow_endpoints(const rmw_publisher_t* publisher, rcutils_allocator_t* allocator,
                                                   rmw_network_flow_endpoint_array_t* network_flow_endpoint_array) {
  return forward(&Underlying::rmw_publisher_get_network_flow_endpoints, publisher, allocator,
                 network_flow_endpoint_array);
}

rmw_ret_t rmw_qos_profile_check_compatible(const rmw_qos_profile_t publisher_profile,
                                           const rmw_qos_profile_t subscription_profile,
                                           rmw_qos_compatibility_type_t* compatibility, char* reason,
                                           size_t reason_size) {
  return forward(&Underlying::rmw_qos_profile_check_compatible, publisher_profile, subscription_profile, compatibility,
                 reason, reason_size);
}

}  // extern "C"
