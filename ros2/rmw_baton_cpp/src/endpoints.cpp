// SPDX-License-Identifier: Apache-2.0
#include "endpoints.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "peer_faults.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/error_handling.h"
#include "rmw/topic_endpoint_info_array.h"

namespace baton::rmw {
namespace {

/// Calls act(info) for each endpoint of the topic. False after an error, whose text is dropped.
template <class Ask, class Act>
bool each_endpoint(Ask ask, const rmw_node_t* inner_node, const char* topic, Act&& act) {
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_topic_endpoint_info_array_t infos = rmw_get_zero_initialized_topic_endpoint_info_array();
  if (ask(inner_node, &allocator, topic, false, &infos) != RMW_RET_OK) {
    rcutils_reset_error();
    return false;
  }
  for (std::size_t i = 0; i < infos.size; ++i) act(infos.info_array[i]);
  if (rmw_topic_endpoint_info_array_fini(&infos, &allocator) != RMW_RET_OK) rcutils_reset_error();
  return true;
}

}  // namespace

bool may_be_served(const rmw_qos_profile_t& qos) noexcept { return !qos.avoid_ros_namespace_conventions; }

bool may_publish(const char* topic, const rmw_qos_profile_t& qos) noexcept {
  return may_be_served(qos) && std::string_view(topic) != "/parameter_events";
}

std::function<void(const Error&)> warn_of_type(const char* end, const char* topic) {
  return [end, topic](const Error& error) {
    RCUTILS_LOG_WARN_NAMED(kLogger, "%s of %s, and all others of its type, take the underlying RMW only: %s", end,
                           topic, error.message.c_str());
  };
}

std::vector<KnownSubscription> known_subscriptions(const rmw_node_t* inner_node, const char* topic) {
  std::vector<KnownSubscription> known;
  each_endpoint(underlying()->rmw_get_subscriptions_info_by_topic, inner_node, topic,
                [&](const rmw_topic_endpoint_info_t& info) {
                  KnownSubscription& added = known.emplace_back();
                  std::memcpy(added.gid.data(), info.endpoint_gid, added.gid.size());
                  added.qos = info.qos_profile;
                  added.node = full_name(info.node_namespace, info.node_name);
                });
  return known;
}

std::optional<std::vector<transport::Gid>> known_publishers(const rmw_node_t* inner_node, const char* topic) {
  std::vector<transport::Gid> known;
  const bool answered = each_endpoint(
      underlying()->rmw_get_publishers_info_by_topic, inner_node, topic, [&](const rmw_topic_endpoint_info_t& info) {
        std::memcpy(known.emplace_back().data(), info.endpoint_gid, sizeof(transport::Gid));
      });
  return answered ? std::optional(std::move(known)) : std::nullopt;
}

}  // namespace baton::rmw
